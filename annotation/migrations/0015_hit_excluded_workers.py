from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0014_items_of_a_control'),
    ]

    operations = [
        migrations.RenameField('Hit', 'barred', 'excluded_workers'),
    ]
