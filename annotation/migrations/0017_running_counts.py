"""Counts kept by triggers: of each HIT's assignments, of triplets and of assignments that are alike.

SQLite loses a table's triggers when a later migration rebuilds it: such a migration makes them again.
"""

from typing import NamedTuple

import django.db.models.deletion
from django.db import migrations, models


class Kept(NamedTuple):
    table: str
    counts: str
    own: tuple[str, ...]  # columns by which rows are alike
    other: str  # the table to which the row's `key` leads, with
    key: str
    theirs: tuple[str, ...]

    @property
    def columns(self):
        return ", ".join((*self.theirs, *self.own))

    def rows(self, row, change, source=""):
        """Each of the `source`, or the one row that is changed."""
        values = (*(f"o.{name}" for name in self.theirs), *(f"{row}.{name}" for name in self.own))
        return (
            f"SELECT {', '.join(values)}, {change} AS more FROM {self.other} o{source}"
            f" WHERE o.id = {row}.{self.key}"
        )

    def insert(self, *changes):
        """Those that are alike at once: a statement may change very many."""
        return (
            f"INSERT INTO {self.counts} ({self.columns}, more)"
            f" SELECT {self.columns}, SUM(more) FROM ({' UNION ALL '.join(changes)}) changes"
            f" GROUP BY {self.columns} HAVING SUM(more) <> 0"
        )


KEPT = [
    Kept(
        table="annotation_triplet",
        counts="annotation_tripletcount",
        own=("campaign_id", "status", "label", "votes", "cannot_judge"),
        other="retrieval_candidate",
        key="candidate_id",
        theirs=("rank",),
    ),
    Kept(
        table="annotation_assignment",
        counts="annotation_assignmentcount",
        own=("worker_id", "status", "passed", "failure", "account"),
        other="annotation_hit",
        key="hit_id",
        theirs=("campaign_id", "price_cents"),
    ),
]


def sqlite(kept):
    old, new = kept.rows("OLD", -1), kept.rows("NEW", 1)
    for event, changes in (
        ("INSERT", [new]),
        (f"UPDATE OF {', '.join(kept.own)}", [old, new]),
    ):
        name = f"{kept.table}_is_counted_at_{event.split()[0].lower()}"
        yield (
            f"CREATE TRIGGER {name} AFTER {event} ON {kept.table}"
            f" BEGIN {kept.insert(*changes)}; END"
        )


def postgresql(kept):
    old, new = kept.rows("was", -1, ", was"), kept.rows("fresh", 1, ", fresh")
    tables = {"was": "OLD TABLE AS was", "fresh": "NEW TABLE AS fresh"}
    for event, changes, given in (
        ("INSERT", [new], ["fresh"]),
        ("UPDATE", [old, new], ["was", "fresh"]),
    ):
        name = f"{kept.table}_is_counted_at_{event.lower()}"
        yield (
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN {kept.insert(*changes)}; RETURN NULL; END $$"
        )
        yield (
            f"CREATE TRIGGER {name} AFTER {event} ON {kept.table}"
            f" REFERENCING {' '.join(tables[one] for one in given)}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )


# By hand: on SQLite, Django would rebuild the table without its triggers.
TYPES = {"sqlite": "smallint unsigned", "postgresql": "smallint"}
COLUMN = "submitted {type} DEFAULT 0 NOT NULL CHECK (submitted >= 0)"
COUNT = "SELECT COUNT(*) FROM annotation_assignment a WHERE a.hit_id = annotation_hit.id"
SUBMITTED = {
    "sqlite": [
        "CREATE TRIGGER annotation_hit_is_submitted AFTER INSERT ON annotation_assignment BEGIN"
        " UPDATE annotation_hit SET submitted = submitted + 1 WHERE id = NEW.hit_id; END"
    ],
    "postgresql": [
        "CREATE FUNCTION annotation_hit_is_submitted() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN UPDATE annotation_hit h SET submitted = h.submitted + f.more FROM"
        " (SELECT hit_id, COUNT(*) AS more FROM fresh GROUP BY hit_id) f WHERE h.id = f.hit_id;"
        " RETURN NULL; END $$",
        "CREATE TRIGGER annotation_hit_is_submitted AFTER INSERT ON annotation_assignment"
        " REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT"
        " EXECUTE FUNCTION annotation_hit_is_submitted()",
    ],
}


def count_and_keep(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    column = COLUMN.format(type=TYPES[vendor])
    schema_editor.execute(f"ALTER TABLE annotation_hit ADD COLUMN {column}")
    schema_editor.execute(f"UPDATE annotation_hit SET submitted = ({COUNT})")
    for kept in KEPT:
        schema_editor.execute(kept.insert(kept.rows("t", 1, f", {kept.table} t")))
    triggers = {"sqlite": sqlite, "postgresql": postgresql}[vendor]
    for statement in [*SUBMITTED[vendor], *(each for kept in KEPT for each in triggers(kept))]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0016_aggregation"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddField(
                    model_name="hit",
                    name="submitted",
                    field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
                ),
            ]
        ),
        migrations.CreateModel(
            name="AssignmentCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("more", models.IntegerField()),
                ("status", models.CharField(max_length=9)),
                ("passed", models.BooleanField(null=True)),
                ("failure", models.CharField(max_length=10)),
                ("account", models.CharField(max_length=9)),
                ("price_cents", models.PositiveIntegerField()),
                (
                    "campaign",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.worker",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="TripletCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("more", models.IntegerField()),
                ("rank", models.PositiveSmallIntegerField()),
                ("status", models.CharField(max_length=10)),
                ("label", models.SmallIntegerField(null=True)),
                ("votes", models.PositiveSmallIntegerField()),
                ("cannot_judge", models.PositiveSmallIntegerField()),
                (
                    "campaign",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.campaign",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.RunPython(count_and_keep, migrations.RunPython.noop),
    ]
