from django.db import migrations, models


def times_to_links(apps, schema_editor):
    links = apps.get_model("inhouse", "PanelLink").objects
    for study in apps.get_model("prolific", "Study").objects.exclude(median_seconds=None):
        links.filter(pk=study.link_id).update(median_seconds=study.median_seconds)


class Migration(migrations.Migration):
    dependencies = [("prolific", "0007_paid_unseen"), ("inhouse", "0007_times_of_visits")]
    operations = [
        migrations.AddField(
            "study",
            "billed",
            models.DecimalField(blank=True, decimal_places=4, max_digits=14, null=True),
        ),
        migrations.RunPython(times_to_links, migrations.RunPython.noop),
        migrations.RemoveField("study", "median_seconds"),
    ]
