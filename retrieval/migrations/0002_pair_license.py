"""Licences by source, which a campaign states before it is published."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('retrieval', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='qapair',
            index=models.Index(fields=['source', 'license'], name='pair_license'),
        ),
    ]
