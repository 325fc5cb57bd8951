"""Lists, filters and the plan of long tables are answered by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0011_actions_stay")]

    operations = [
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["verb", "-at"], name="audit_entries_by_verb"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["actor", "-at"], name="audit_entries_by_actor"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["via", "-at"], name="audit_entries_by_way"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(fields=["status", "id"], name="assignments_by_status"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(fields=["passed", "id"], name="assignments_by_controls"),
        ),
        migrations.AddIndex(
            model_name="hit",
            index=models.Index(fields=["campaign", "repack", "number"], name="hits_by_round"),
        ),
    ]
