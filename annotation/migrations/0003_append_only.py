"""The triggers that keep the ledger, and accounts for the campaigns of before.

SQLite loses a table's triggers when a later migration rebuilds it: such a migration makes them anew.
"""

from django.db import migrations
from django.db.models import OuterRef, Q, Subquery

from annotation.protocol.estimates.cost import assignment_cents
from annotation.protocol.policy.policy import Policy

MOVED = {
    "budget_cents": ("source = 'funds'", "target = 'funds'"),
    "reserved_cents": ("target = 'reserved'", "source = 'reserved'"),
    "paid_cents": ("target = 'paid'", "source = 'paid'"),
    "discarded_cents": ("target = 'discarded'", "source = 'discarded'"),
}

SQLITE = [
    "CREATE TRIGGER annotation_entry_adds_up AFTER INSERT ON annotation_entry BEGIN"
    " UPDATE annotation_account SET "
    + ", ".join(
        f"{column} = {column} + NEW.cents * ((NEW.{more}) - (NEW.{less}))"
        for column, (more, less) in MOVED.items()
    )
    + " WHERE id = NEW.account_id; END",
    "CREATE TRIGGER annotation_entry_never_changed BEFORE UPDATE ON annotation_entry BEGIN"
    " SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER annotation_entry_never_deleted BEFORE DELETE ON annotation_entry BEGIN"
    " SELECT RAISE(ABORT, 'the ledger is append-only'); END",
]
POSTGRESQL = [
    # Once a statement, not once a row: a row updated thousands of times in one transaction is slow.
    "CREATE FUNCTION annotation_entry_adds_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " UPDATE annotation_account a SET "
    + ", ".join(f"{column} = a.{column} + moved.{column}" for column in MOVED)
    + " FROM (SELECT account_id, "
    + ", ".join(
        f"SUM(cents * (({more})::int - ({less})::int)) AS {column}"
        for column, (more, less) in MOVED.items()
    )
    + " FROM fresh GROUP BY account_id) moved WHERE a.id = moved.account_id;"
    " RETURN NULL; END $$",
    "CREATE TRIGGER annotation_entry_adds_up AFTER INSERT ON annotation_entry"
    " REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT"
    " EXECUTE FUNCTION annotation_entry_adds_up()",
    "CREATE FUNCTION annotation_entry_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " RAISE EXCEPTION 'the ledger is append-only'; END $$",
    "CREATE TRIGGER annotation_entry_stays BEFORE UPDATE OR DELETE ON annotation_entry"
    " FOR EACH STATEMENT EXECUTE FUNCTION annotation_entry_stays()",
]
STATEMENTS = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def create_triggers(apps, schema_editor):
    for statement in STATEMENTS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def carry_over(apps, schema_editor):
    """Campaigns of before get an account whose budget is what they had asked for already."""
    Judgment = apps.get_model("annotation", "Judgment")
    item = apps.get_model("annotation", "HitItem").objects.filter(pk=OuterRef("item_id"))
    Judgment.objects.update(triplet_id=Subquery(item.values("triplet_id")[:1]))
    for campaign in apps.get_model("annotation", "Campaign").objects.all():
        price = assignment_cents(Policy.from_dict(campaign.policy_data))
        campaign.hits.update(price_cents=price)
        account = apps.get_model("annotation", "Account").objects.create(campaign=campaign)
        entries = list(_entries(apps, campaign, price))
        for entry in entries:
            entry.account = account
        apps.get_model("annotation", "Entry").objects.bulk_create(entries, batch_size=1000)


def _entries(apps, campaign, price):
    Entry = apps.get_model("annotation", "Entry")
    Assignment = apps.get_model("annotation", "Assignment")
    asked = campaign.hits.filter(Q(crowd_id__isnull=False) | Q(outbox__kind="create")).distinct()
    if budget := price * sum(hit.places for hit in asked):
        key = f"budget:{campaign.uid.hex}:0"
        yield Entry(key=key, source="funds", target="available", cents=budget)
    for hit in asked:
        yield Entry(
            key=f"carried:{hit.key}",
            source="available",
            target="reserved",
            cents=price * hit.places,
            hit=hit,
        )
    out = campaign.exclusions.values("worker")
    decided = Assignment.objects.filter(hit__campaign=campaign, passed__isnull=False)
    decided = decided.exclude(status="submitted").order_by("pk")
    decided.filter(status="rejected").update(account="released")
    decided.filter(status="approved").update(account="paid")
    decided.filter(Q(worker__in=out) | Q(passed=False), account="paid").update(account="discarded")
    for work in decided:
        yield Entry(
            key=f"settle:{work.crowd_id}",
            source="reserved",
            target={"released": "available"}.get(work.account, work.account),
            cents=price,
            hit_id=work.hit_id,
            assignment=work,
        )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_ledger")]
    operations = [
        migrations.RunPython(create_triggers, migrations.RunPython.noop),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
