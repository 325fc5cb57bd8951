"""Drafts that somebody gave."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0003_cannot_judge"),
    ]

    operations = [
        migrations.AlterField(
            model_name="controldraft",
            name="origin",
            field=models.CharField(
                choices=[
                    ("copy", "a pair with the query's own answer"),
                    ("rewording", "the query in other words"),
                    ("rank", "a pair far below the candidates"),
                    ("given", "in words that somebody gave"),
                ],
                max_length=9,
            ),
        ),
    ]
