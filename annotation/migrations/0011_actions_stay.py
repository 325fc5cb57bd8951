"""The log of what people did is append-only: the database refuses the rest.

SQLite loses a table's triggers when a later migration rebuilds it: such a migration makes them anew.
"""

from django.db import migrations

REFUSED = "the audit log is append-only"
SQLITE = [
    f"CREATE TRIGGER annotation_auditentry_never_{done} BEFORE {event} ON annotation_auditentry BEGIN"
    f" SELECT RAISE(ABORT, '{REFUSED}'); END"
    for done, event in (("changed", "UPDATE"), ("deleted", "DELETE"))
]
POSTGRESQL = [
    "CREATE FUNCTION annotation_auditentry_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    f" RAISE EXCEPTION '{REFUSED}'; END $$",
    "CREATE TRIGGER annotation_auditentry_stays BEFORE UPDATE OR DELETE ON annotation_auditentry"
    " FOR EACH STATEMENT EXECUTE FUNCTION annotation_auditentry_stays()",
]
STATEMENTS = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def create_triggers(apps, schema_editor):
    for statement in STATEMENTS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0010_dashboard")]
    operations = [migrations.RunPython(create_triggers, migrations.RunPython.noop)]
