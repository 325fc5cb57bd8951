"""Long tables have the indexes and foreign keys that something asks for, and no others."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0005_saved_views'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='hititem',
            name='a_triplet_once_per_hit',
        ),
        migrations.AlterField(
            model_name='assignment',
            name='crowd_id',
            field=models.CharField(max_length=64),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='hit',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.hit'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='campaign',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='hits', to='annotation.campaign'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='crowd_id',
            field=models.CharField(blank=True, max_length=64, null=True),
        ),
        migrations.AlterField(
            model_name='hit',
            name='key',
            field=models.CharField(max_length=64),
        ),
        migrations.AlterField(
            model_name='hititem',
            name='control',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='annotation.control'),
        ),
        migrations.AlterField(
            model_name='hititem',
            name='hit',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='annotation.hit'),
        ),
        migrations.AlterField(
            model_name='hititem',
            name='key',
            field=models.CharField(max_length=32),
        ),
        migrations.AlterField(
            model_name='hititem',
            name='triplet',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='annotation.triplet'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='item',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='annotation.hititem'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='triplet',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='annotation.triplet'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='worker',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='annotation.worker'),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='token',
            field=models.CharField(max_length=64),
        ),
        migrations.AlterField(
            model_name='triplet',
            name='campaign',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='triplets', to='annotation.campaign'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(fields=('crowd_id',), name='one_assignment_per_crowd_id'),
        ),
        migrations.AddConstraint(
            model_name='hit',
            constraint=models.UniqueConstraint(fields=('key',), name='one_hit_per_key'),
        ),
        migrations.AddConstraint(
            model_name='hit',
            constraint=models.UniqueConstraint(fields=('crowd_id',), name='one_hit_per_crowd_id'),
        ),
        migrations.AddConstraint(
            model_name='hititem',
            constraint=models.UniqueConstraint(fields=('triplet', 'hit'), name='a_triplet_once_per_hit'),
        ),
        migrations.AddConstraint(
            model_name='hititem',
            constraint=models.UniqueConstraint(fields=('key',), name='one_item_per_key'),
        ),
        migrations.AddIndex(
            model_name='hit',
            index=models.Index(condition=models.Q(('crowd_id', None), ('repack', False)), fields=['campaign', 'number'], name='hits_to_publish'),
        ),
        migrations.AddConstraint(
            model_name='outboxmessage',
            constraint=models.UniqueConstraint(fields=('token',), name='one_message_per_effect'),
        ),
    ]
