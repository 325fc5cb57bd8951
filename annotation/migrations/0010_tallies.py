"""Tallies of the votes, made when figures are next taken of a campaign: all its judged HITs are marked."""

import django.db.models.deletion
from django.db import migrations, models


def mark_judged(apps, schema_editor):
    Hit, UntalliedHit = (apps.get_model("annotation", name) for name in ("Hit", "UntalliedHit"))
    hits = Hit.objects.exclude(assignments=None).distinct().values_list("pk", flat=True)
    marks = (UntalliedHit(hit_id=hit) for hit in hits.iterator())
    UntalliedHit.objects.bulk_create(marks, batch_size=5000)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0009_past_records'),
        ('retrieval', '0003_question_words'),
    ]

    operations = [
        *(
            # Django would make SQLite's table again, which triggers of other tables name.
            migrations.RunSQL(
                f"ALTER TABLE annotation_changedhit ADD COLUMN {name} bool NOT NULL DEFAULT FALSE",
                f"ALTER TABLE annotation_changedhit DROP COLUMN {name}",
                state_operations=[
                    migrations.AddField(
                        model_name="changedhit",
                        name=name,
                        field=models.BooleanField(db_default=False, default=False),
                    )
                ],
            )
            for name in ("waits", "tallied")
        ),
        migrations.CreateModel(
            name='UntalliedHit',
            fields=[
                ('hit', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='annotation.hit')),
            ],
        ),
        migrations.CreateModel(
            name='AssignmentTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('compared', models.PositiveSmallIntegerField()),
                ('agreeing', models.PositiveSmallIntegerField()),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.assignment')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.campaign')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='TripletTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pair', models.PositiveSmallIntegerField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.campaign')),
                ('query', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='retrieval.query')),
                ('triplet', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.triplet')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PairTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shared', models.PositiveSmallIntegerField()),
                ('yes', models.PositiveSmallIntegerField()),
                ('other_yes', models.PositiveSmallIntegerField()),
                ('both_yes', models.PositiveSmallIntegerField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.campaign')),
                ('first', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.worker')),
                ('hit', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.hit')),
                ('second', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.worker')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('hit', 'first', 'second'), name='one_tally_per_pair')],
            },
        ),
        migrations.RunPython(mark_judged, migrations.RunPython.noop),
    ]
