"""Tallies of the answers to controls, made when figures are next taken: all judged HITs are marked."""

import django.db.models.deletion
from django.db import migrations, models


def mark_judged(apps, schema_editor):
    Hit, UntalliedHit = (apps.get_model("annotation", name) for name in ("Hit", "UntalliedHit"))
    hits = Hit.objects.exclude(assignments=None).distinct().values_list("pk", flat=True)
    marks = (UntalliedHit(hit_id=hit) for hit in hits.iterator())
    UntalliedHit.objects.bulk_create(marks, batch_size=5000, ignore_conflicts=True)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0011_requesters_webhooks'),
    ]

    operations = [
        migrations.CreateModel(
            name='ControlTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answered', models.PositiveIntegerField()),
                ('yes', models.PositiveIntegerField()),
                ('workers', models.PositiveIntegerField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.campaign')),
                ('control', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.control')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('control', 'campaign'), name='one_tally_per_control')],
            },
        ),
        migrations.RunPython(mark_judged, migrations.RunPython.noop),
    ]
