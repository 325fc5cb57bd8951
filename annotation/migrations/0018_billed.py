"""What a crowd's own bill differs by has a place of its own in the books."""

from importlib import import_module

from django.db import migrations, models
from django.db.models import F, Q

BOOKS = import_module("annotation.migrations.0002_append_only")
MOVED = {**BOOKS.MOVED, "billed_cents": ("target = 'billed'", "source = 'billed'")}
PLACES = ("funds", "available", "reserved", "paid", "discarded", "billed")


def drop_trigger(apps, schema_editor):
    """SQLite rebuilds the account's table, and refuses a trigger that names it meanwhile."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER annotation_entry_adds_up")


def make_trigger(apps, schema_editor):
    on_sqlite = schema_editor.connection.vendor == "sqlite"
    schema_editor.execute((BOOKS.on_sqlite if on_sqlite else BOOKS.on_postgresql)(MOVED))


def _side():
    return models.CharField(choices=[(place, place.title()) for place in PLACES], max_length=9)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0017_running_counts")]
    operations = [
        migrations.RunPython(drop_trigger, migrations.RunPython.noop),
        migrations.AddField("account", "billed_cents", models.BigIntegerField(default=0)),
        migrations.RemoveConstraint("account", "never_over_budget"),
        migrations.AddConstraint(
            "account",
            models.CheckConstraint(
                condition=Q(
                    budget_cents__gte=F("reserved_cents")
                    + F("paid_cents")
                    + F("discarded_cents")
                    + F("billed_cents")
                ),
                name="never_over_budget",
            ),
        ),
        migrations.AlterField("entry", "source", _side()),
        migrations.AlterField("entry", "target", _side()),
        migrations.RunPython(make_trigger, migrations.RunPython.noop),
    ]
