import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inhouse', '0002_notice'),
    ]

    operations = [
        migrations.RenameModel('Offer', 'PostedHit'),
        migrations.RenameModel('Work', 'Assignment'),
        migrations.RenameModel('Barred', 'ExcludedWorker'),
        migrations.AlterModelOptions(
            name='excludedworker',
            options={},
        ),
        migrations.RemoveConstraint(
            model_name='assignment',
            name='one_place_of_a_hit_per_member',
        ),
        migrations.RemoveConstraint(
            model_name='assignment',
            name='handed_in_work_has_its_time',
        ),
        migrations.RemoveConstraint(
            model_name='excludedworker',
            name='barred_once',
        ),
        migrations.RemoveIndex(
            model_name='assignment',
            name='works_of_a_member',
        ),
        migrations.RemoveIndex(
            model_name='assignment',
            name='works_of_an_offer',
        ),
        migrations.RenameField('Assignment', 'offer', 'posted_hit'),
        migrations.RenameField('Extension', 'offer', 'posted_hit'),
        migrations.RenameField('Bonus', 'work', 'assignment'),
        migrations.RenameIndex(
            model_name='assignment',
            new_name='assignments_given_back',
            old_name='works_given_back',
        ),
        migrations.RenameIndex(
            model_name='assignment',
            new_name='assignments_in_hand',
            old_name='works_in_hand',
        ),
        migrations.RenameIndex(
            model_name='postedhit',
            new_name='hits_begun',
            old_name='offers_begun',
        ),
        migrations.RenameIndex(
            model_name='postedhit',
            new_name='hits_fresh',
            old_name='offers_fresh',
        ),
        migrations.RenameIndex(
            model_name='postedhit',
            new_name='hits_to_expire',
            old_name='offers_to_expire',
        ),
        migrations.AlterField(
            model_name='assignment',
            name='member',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='inhouse.member'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='posted_hit',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='inhouse.postedhit'),
        ),
        migrations.AlterField(
            model_name='excludedworker',
            name='hit_type',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='excluded_workers', to='inhouse.hittype'),
        ),
        migrations.AlterField(
            model_name='postedhit',
            name='hit_type',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='posted_hits', to='inhouse.hittype'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['member', 'posted_hit'], name='assignments_of_a_member'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(fields=['posted_hit', 'status'], name='assignments_of_a_hit'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ['returned', 'lapsed']), _negated=True), fields=('posted_hit', 'member'), name='one_place_of_a_hit_per_member'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['accepted', 'returned', 'lapsed']), ('submitted_at', None)), models.Q(('status__in', ['submitted', 'approved', 'rejected']), ('submitted_at__isnull', False)), _connector='OR'), name='submitted_work_has_its_time'),
        ),
        migrations.AddConstraint(
            model_name='excludedworker',
            constraint=models.UniqueConstraint(fields=('hit_type', 'number'), name='excluded_worker_once'),
        ),
    ]
