"""A campaign's drafted controls among its HITs' own negatives, of which there may be very many."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0007_changed_hits'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='control',
            index=models.Index(condition=models.Q(('drafted', True)), fields=['campaign'], name='drafted_controls'),
        ),
    ]
