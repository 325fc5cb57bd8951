"""PostgreSQL's index of the words of questions. SQLite has none: there a search reads what is near."""

from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations

# As Django compares `icontains`: in capitals.
INDEX = (
    "CREATE INDEX question_words ON retrieval_qapair USING gin (UPPER(question) gin_trgm_ops)"
)


def create_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(INDEX)


def drop_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX question_words")


class Migration(migrations.Migration):

    dependencies = [
        ('retrieval', '0002_pair_license'),
    ]

    operations = [
        TrigramExtension(),
        migrations.RunPython(create_index, drop_index),
    ]
