
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0005_sign_in_attempts'),
    ]

    operations = [
        migrations.AddField(
            model_name='exclusion',
            name='reason',
            field=models.TextField(blank=True, default=''),
            preserve_default=False,
        ),
    ]
