"""The triggers that keep a release as it was made.

SQLite loses a table's triggers when a later migration rebuilds it: such a migration makes them again.
"""

from django.db import migrations

TABLES = ("exports_release", "exports_releasefile")
REASON = "a release never changes"
SQLITE = [
    f"CREATE TRIGGER {table}_never_{done} BEFORE {verb} ON {table} BEGIN"
    f" SELECT RAISE(ABORT, '{REASON}'); END"
    for table in TABLES
    for verb, done in (("UPDATE", "changed"), ("DELETE", "deleted"))
]
POSTGRESQL = [
    "CREATE FUNCTION exports_release_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" RAISE EXCEPTION '{REASON}'; END $$",
    *(
        f"CREATE TRIGGER {table}_{name} BEFORE {events} ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION exports_release_stays()"
        for table in TABLES
        # TRUNCATE deletes no row. SQLite knows none.
        for name, events in (("stays", "UPDATE OR DELETE"), ("never_emptied", "TRUNCATE"))
    ),
]
STATEMENTS = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def create_triggers(apps, schema_editor):
    for statement in STATEMENTS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("exports", "0001_initial")]
    operations = [migrations.RunPython(create_triggers, migrations.RunPython.noop)]
