"""Tallies of what assignments took and of who met which control, made when figures are next taken.

They count work that no pass has reviewed yet, and what becomes of it: triggers mark that too, once a
change, so that a count takes off no mark that it has not seen.
"""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

create_triggers = import_module("annotation.migrations.0007_changed_hits").create_triggers

MARK = "INSERT INTO annotation_untalliedhit (hit_id)"
OF_THE_WORK = f"{MARK} SELECT hit_id FROM annotation_assignment WHERE id = NEW.assignment_id"
SENT = "NEW.state = 'done' AND NEW.kind IN ('bonus', 'reject')"
TRIGGERS = [
    (
        "annotation_assignment_comes",
        "INSERT ON annotation_assignment",
        "NEW.passed IS NULL",
        f"{MARK} VALUES (NEW.hit_id)",
    ),
    (
        "annotation_assignment_is_decided",
        "UPDATE OF status ON annotation_assignment",
        "NEW.status <> OLD.status",
        f"{MARK} VALUES (NEW.hit_id)",
    ),
    ("annotation_message_comes_sent", "INSERT ON annotation_outboxmessage", SENT, OF_THE_WORK),
    ("annotation_message_is_sent", "UPDATE OF state ON annotation_outboxmessage", SENT, OF_THE_WORK),
]


def mark_with_triggers(apps, schema_editor):
    create_triggers(apps, schema_editor, TRIGGERS)


def mark_judged(apps, schema_editor):
    Hit, UntalliedHit = (apps.get_model("annotation", name) for name in ("Hit", "UntalliedHit"))
    hits = Hit.objects.exclude(assignments=None).distinct().values_list("pk", flat=True)
    marks = (UntalliedHit(hit_id=hit) for hit in hits.iterator())
    UntalliedHit.objects.bulk_create(marks, batch_size=5000)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0014_tasks_of_controls")]
    operations = [
        migrations.DeleteModel(name="UntalliedHit"),
        migrations.DeleteModel(name="AssignmentTally"),
        migrations.CreateModel(
            name="UntalliedHit",
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
                        related_name="+",
                        to="annotation.hit",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AssignmentTally",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("compared", models.PositiveSmallIntegerField()),
                ("agreeing", models.PositiveSmallIntegerField()),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.worker",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="EffortTally",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reviewed", models.PositiveSmallIntegerField()),
                ("failed", models.PositiveSmallIntegerField()),
                ("with_behaviour", models.PositiveSmallIntegerField()),
                ("straight", models.PositiveSmallIntegerField()),
                ("reports", models.PositiveSmallIntegerField()),
                ("cannot_judge", models.PositiveSmallIntegerField()),
                ("active_ms", models.PositiveIntegerField(null=True)),
                ("changes", models.PositiveIntegerField()),
                ("approved", models.PositiveSmallIntegerField()),
                ("paid_ms", models.PositiveIntegerField()),
                ("bonus_cents", models.PositiveIntegerField()),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.worker",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="MeetingTally",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("revealed", models.PositiveSmallIntegerField()),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "control",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.control",
                    ),
                ),
                (
                    "hit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.hit",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.worker",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.RunPython(mark_with_triggers, migrations.RunPython.noop),
        migrations.RunPython(mark_judged, migrations.RunPython.noop),
    ]
