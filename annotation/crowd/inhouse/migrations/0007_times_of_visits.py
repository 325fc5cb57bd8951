from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inhouse", "0006_booked_surplus")]
    operations = [
        migrations.AddField(
            "panellink",
            "median_seconds",
            models.PositiveIntegerField(blank=True, null=True),
        ),
    ]
