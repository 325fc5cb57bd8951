"""Marks of HITs that changed, in place of one for the whole campaign, and the triggers that make them.

SQLite loses a table's triggers when a later migration rebuilds it: such a migration makes them again.
"""

import django.db.models.deletion
from django.db import migrations, models

# What labels, missing votes, exclusions and reserves follow from. `differs` is the database's word.
REVIEWED = (
    "NEW.passed {differs} OLD.passed"
    " OR NEW.passed AND (NEW.status = 'rejected') <> (OLD.status = 'rejected')"
)
RESIZED = (
    "NEW.max_assignments <> OLD.max_assignments OR NEW.gone <> OLD.gone"
    " OR NEW.closed_at {differs} OLD.closed_at"
    " OR NEW.gone AND NEW.expires_at {differs} OLD.expires_at"
)
MARK = "INSERT INTO annotation_changedhit (hit_id)"
OF_THE_WORKER = (
    f"{MARK} SELECT a.hit_id FROM annotation_assignment a JOIN annotation_hit h ON h.id = a.hit_id"
    " WHERE a.worker_id = NEW.worker_id AND h.campaign_id = NEW.campaign_id"
)
# Name, event, condition, statement.
TRIGGERS = [
    (
        "annotation_assignment_comes_reviewed",
        "INSERT ON annotation_assignment",
        "NEW.passed IS NOT NULL",
        f"{MARK} VALUES (NEW.hit_id)",
    ),
    (
        "annotation_assignment_is_reviewed",
        "UPDATE OF passed, status ON annotation_assignment",
        REVIEWED,
        f"{MARK} VALUES (NEW.hit_id)",
    ),
    (
        "annotation_hit_is_resized",
        "UPDATE OF max_assignments, gone, closed_at, expires_at ON annotation_hit",
        RESIZED,
        f"{MARK} VALUES (NEW.id)",
    ),
    ("annotation_exclusion_is_made", "INSERT ON annotation_exclusion", "TRUE", OF_THE_WORKER),
    ("annotation_exclusion_is_changed", "UPDATE ON annotation_exclusion", "TRUE", OF_THE_WORKER),
]


def create_triggers(apps, schema_editor, triggers=TRIGGERS):
    for name, event, condition, statement in triggers:
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(
                f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN {statement}; RETURN NULL; END $$"
            )
            condition = condition.format(differs="IS DISTINCT FROM")
            action = f"EXECUTE FUNCTION {name}()"
        else:
            condition = condition.format(differs="IS NOT")
            action = f"BEGIN {statement}; END"
        schema_editor.execute(
            f"CREATE TRIGGER {name} AFTER {event} FOR EACH ROW WHEN ({condition}) {action}"
        )


def mark_all(apps, schema_editor):
    """What was to be done for the whole campaign is done for each of its HITs."""
    Hit, ChangedHit = (apps.get_model("annotation", name) for name in ("Hit", "ChangedHit"))
    hits = Hit.objects.exclude(crowd_id=None).values_list("pk", flat=True)
    marks = (ChangedHit(hit_id=hit) for hit in hits.iterator())
    ChangedHit.objects.bulk_create(marks, batch_size=5000)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_fewer_indexes")]
    operations = [
        migrations.CreateModel(
            name="ChangedHit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "hit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="annotation.hit",
                    ),
                ),
            ],
        ),
        migrations.RemoveField(model_name="campaign", name="labels_stale"),
        migrations.RunPython(create_triggers, migrations.RunPython.noop),
        migrations.RunPython(mark_all, migrations.RunPython.noop),
    ]
