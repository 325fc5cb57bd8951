"""A control's page finds the HITs that hold it, in their order, by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_never_emptied")]

    operations = [
        migrations.AddIndex(
            model_name="hititem",
            index=models.Index(
                fields=["control", "id"],
                condition=models.Q(control__isnull=False),
                name="items_of_a_control",
            ),
        ),
    ]
