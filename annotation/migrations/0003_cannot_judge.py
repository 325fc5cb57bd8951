"""Answers that are no votes, and campaigns of before, whose page marked different words."""

from django.db import migrations, models


def say_that_words_were_marked(apps, schema_editor):
    for campaign in apps.get_model("annotation", "Campaign").objects.only("policy_data"):
        campaign.policy_data.setdefault("mark_differences", True)
        campaign.save(update_fields=["policy_data"])


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0002_append_only'),
    ]

    operations = [
        migrations.AddField(
            model_name='itemreport',
            name='cannot_judge',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='triplet',
            name='cannot_judge',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='workerfigures',
            name='cannot_judge',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name='itemreport',
            name='reason',
            field=models.CharField(choices=[('unclear', 'It cannot be understood'), ('knowledge', 'It needs knowledge that I do not have'), ('offensive', 'It is offensive'), ('personal', 'It holds personal data'), ('language', 'It is in another language'), ('other', 'Something else')], max_length=9),
        ),
        migrations.AddIndex(
            model_name='itemreport',
            index=models.Index(condition=models.Q(('cannot_judge', True)), fields=['item'], name='cannot_be_judged'),
        ),
        migrations.RunPython(say_that_words_were_marked, migrations.RunPython.noop),
    ]
