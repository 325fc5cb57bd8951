"""The ledger and the audit log stay on PostgreSQL at TRUNCATE, too, which deletes no row.

SQLite knows no TRUNCATE.
"""

from django.db import migrations

KEPT = {"annotation_entry": "annotation_entry_stays", "annotation_auditentry": "annotation_auditentry_stays"}


def create_triggers(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table, refuse in KEPT.items():
        schema_editor.execute(
            f"CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {refuse}()"
        )


def drop_triggers(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table in KEPT:
        schema_editor.execute(f"DROP TRIGGER {table}_never_emptied ON {table}")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0012_long_lists")]
    operations = [migrations.RunPython(create_triggers, drop_triggers)]
