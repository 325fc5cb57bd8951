import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('retrieval', '0003_question_words'),
    ]

    operations = [
        migrations.AddField(
            model_name='queryset',
            name='part_of',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='parts', to='retrieval.queryset'),
        ),
    ]
