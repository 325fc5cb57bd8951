"""The triggers that keep the books: the ledger, the audit log and the events are append-only.

SQLite loses a table's triggers when a later migration rebuilds it: such a migration makes them again.
"""

from django.db import migrations

MOVED = {
    "budget_cents": ("source = 'funds'", "target = 'funds'"),
    "reserved_cents": ("target = 'reserved'", "source = 'reserved'"),
    "paid_cents": ("target = 'paid'", "source = 'paid'"),
    "discarded_cents": ("target = 'discarded'", "source = 'discarded'"),
}
KEPT = {
    "annotation_entry": "the ledger is append-only",
    "annotation_auditentry": "the audit log is append-only",
    "annotation_event": "events are append-only",
}



def on_sqlite(moved):
    return (
        "CREATE TRIGGER annotation_entry_adds_up AFTER INSERT ON annotation_entry BEGIN"
        " UPDATE annotation_account SET "
        + ", ".join(
            f"{column} = {column} + NEW.cents * ((NEW.{more}) - (NEW.{less}))"
            for column, (more, less) in moved.items()
        )
        + " WHERE id = NEW.account_id; END"
    )


def on_postgresql(moved):
    """Once a statement, not once a row: a row updated thousands of times in one transaction is slow."""
    return (
        "CREATE OR REPLACE FUNCTION annotation_entry_adds_up() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN UPDATE annotation_account a SET "
        + ", ".join(f"{column} = a.{column} + moved.{column}" for column in moved)
        + " FROM (SELECT account_id, "
        + ", ".join(
            f"SUM(cents * (({more})::int - ({less})::int)) AS {column}"
            for column, (more, less) in moved.items()
        )
        + " FROM fresh GROUP BY account_id) moved WHERE a.id = moved.account_id;"
        " RETURN NULL; END $$"
    )


SQLITE = [
    on_sqlite(MOVED),
    *(
        f"CREATE TRIGGER {table}_never_{done} BEFORE {event} ON {table} BEGIN"
        f" SELECT RAISE(ABORT, '{reason}'); END"
        for table, reason in KEPT.items()
        for event, done in (("UPDATE", "changed"), ("DELETE", "deleted"))
    ),
]
POSTGRESQL = [
    on_postgresql(MOVED),
    "CREATE TRIGGER annotation_entry_adds_up AFTER INSERT ON annotation_entry"
    " REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT"
    " EXECUTE FUNCTION annotation_entry_adds_up()",
    *(
        statement
        for table, reason in KEPT.items()
        for statement in (
            f"CREATE FUNCTION {table}_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" RAISE EXCEPTION '{reason}'; END $$",
            f"CREATE TRIGGER {table}_stays BEFORE UPDATE OR DELETE ON {table}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {table}_stays()",
            # TRUNCATE deletes no row. SQLite knows none.
            f"CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {table}_stays()",
        )
    ),
]
STATEMENTS = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def create_triggers(apps, schema_editor):
    for statement in STATEMENTS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunPython(create_triggers, migrations.RunPython.noop)]
