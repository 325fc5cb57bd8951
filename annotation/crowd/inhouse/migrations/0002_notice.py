import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inhouse', '0001_record'),
    ]

    operations = [
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(max_length=64, unique=True)),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('sent_at', models.DateTimeField()),
                ('member', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='notices', to='inhouse.member')),
            ],
            options={
                'indexes': [models.Index(fields=['member', '-sent_at'], name='notices_of_a_member')],
            },
        ),
    ]
