from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0007_blind_label'),
    ]

    operations = [
        migrations.RenameModel('SignInAttempt', 'Attempt'),
        migrations.RenameIndex('attempt', new_name='attempts', old_name='sign_in_attempts'),
    ]
