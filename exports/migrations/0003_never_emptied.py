"""A release stays on PostgreSQL at TRUNCATE, too, which deletes no row; SQLite knows none."""

from django.db import migrations

TABLES = ("exports_release", "exports_releasefile")


def create_triggers(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table in TABLES:
        schema_editor.execute(
            f"CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION exports_release_stays()"
        )


def drop_triggers(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table in TABLES:
        schema_editor.execute(f"DROP TRIGGER {table}_never_emptied ON {table}")


class Migration(migrations.Migration):
    dependencies = [("exports", "0002_immutable")]
    operations = [migrations.RunPython(create_triggers, drop_triggers)]
