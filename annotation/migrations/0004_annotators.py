
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0003_append_only'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='practice_id',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name='instructions',
            name='author',
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name='instructions',
            name='created_at',
            field=models.DateTimeField(null=True),  # when older versions were written is not known
        ),
        migrations.AlterField(
            model_name='instructions',
            name='created_at',
            field=models.DateTimeField(auto_now_add=True, null=True),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='kind',
            field=models.CharField(choices=[('create', 'Create'), ('extend', 'Extend'), ('approve', 'Approve'), ('reject', 'Reject'), ('exclude', 'Exclude'), ('readmit', 'Readmit'), ('know', 'Know'), ('train', 'Train'), ('lifetime', 'Lifetime'), ('bonus', 'Bonus')], max_length=8),
        ),
        migrations.CreateModel(
            name='Observation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('active_ms', models.PositiveIntegerField(null=True)),
                ('item_ms', models.JSONField(default=dict)),
                ('changes', models.PositiveIntegerField(default=0)),
                ('straight', models.BooleanField(default=False)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='observation', to='annotation.assignment')),
            ],
        ),
        migrations.CreateModel(
            name='ExpertLabel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('expert', models.CharField(max_length=150)),
                ('label', models.SmallIntegerField()),
                ('source', models.CharField(choices=[('import', 'Import'), ('adjudication', 'Adjudication'), ('sample', 'Sample')], max_length=12)),
                ('note', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('triplet', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='expert_labels', to='annotation.triplet')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('triplet', 'expert'), name='one_label_per_expert'), models.CheckConstraint(condition=models.Q(('label__in', [0, 1])), name='an_expert_says_0_or_1')],
            },
        ),
        migrations.CreateModel(
            name='ItemReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(choices=[('unclear', 'It cannot be understood'), ('offensive', 'It is offensive'), ('personal', 'It holds personal data'), ('language', 'It is in another language'), ('other', 'Something else')], max_length=9)),
                ('text', models.CharField(blank=True, max_length=500)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='annotation.assignment')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='annotation.hititem')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('assignment', 'item'), name='one_report_per_item')],
            },
        ),
        migrations.CreateModel(
            name='PracticeItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('query', models.TextField()),
                ('question', models.TextField()),
                ('answer', models.TextField(blank=True)),
                ('expected', models.SmallIntegerField()),
                ('why', models.TextField()),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='practice_items', to='annotation.campaign')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('campaign', 'position'), name='one_practice_item_per_position'), models.CheckConstraint(condition=models.Q(('expected__in', [0, 1])), name='practice_expects_0_or_1')],
            },
        ),
        migrations.CreateModel(
            name='PracticeResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answers', models.JSONField()),
                ('correct', models.PositiveSmallIntegerField()),
                ('items', models.PositiveSmallIntegerField()),
                ('passed', models.BooleanField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='practice_results', to='annotation.campaign')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='practice_results', to='annotation.worker')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('correct__lte', models.F('items'))), name='correct_among_the_practice_items')],
            },
        ),
    ]
