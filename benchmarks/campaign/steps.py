"""The steps of `benchmarks.campaign.size`, each run in a process of its own."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction

from annotation.crowd.factory import open_crowd
from annotation.models import Assignment, Control, Hit, HitItem, Judgment, OutboxMessage, Triplet
from annotation.pipeline.collecting.review import review
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.ledger.settlements import settle
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.publishing.top_up import request_missing_votes
from annotation.pipeline.recompute import audit, recompute
from annotation.pipeline.setup.create import get_campaign
from benchmarks.campaign.inputs import NAME, make_campaign
from benchmarks.campaign.record import load_record, load_third_votes

NEW = 100


@dataclass
class Taken:
    """What a step did, and the seconds of its parts without the start of Python."""

    rows: int = 0
    unit: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 6)


def inputs(taken: Taken, share: float) -> None:
    with taken.part("inputs"):
        taken.rows, taken.unit = make_campaign(Path(settings.DATA_DIR), share), "triplets"


def pack(taken: Taken, share: float) -> None:
    with taken.part("pack"):
        taken.rows, taken.unit = pack_hits(get_campaign(NAME)).triplets, "triplets"


def bare_pack(taken: Taken, share: float) -> None:
    """The floor of `pack`: the same rows by one statement a table, its constraints included."""
    taken.unit = "rows"
    with taken.part("bare pack"):
        for model in (Control, Triplet, Hit, HitItem):
            taken.rows += _copy_inside(model._meta.db_table)


def _copy_inside(table: str) -> int:
    """The table's rows into another one with the same indexes and foreign keys, then undone."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE floor (LIKE {table} INCLUDING ALL EXCLUDING IDENTITY)")
        cursor.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f'"
            " AND conrelid = %s::regclass",
            [table],
        )
        for (definition,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE floor ADD {definition}")
        cursor.execute(f"INSERT INTO floor SELECT * FROM {table}")
        rows: int = cursor.rowcount
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        transaction.set_rollback(True)
    return rows


def ask(taken: Taken, share: float) -> None:
    """Messages and reservations of the first round."""
    with taken.part("publish"):
        campaign = get_campaign(NAME)
        published = publish(campaign, open_crowd(campaign.policy.crowd, live=False))
    assert not published.left_out
    taken.rows, taken.unit = published.new, "HITs"


def record(taken: Taken, share: float) -> None:
    with taken.part("load the record"):
        taken.rows, taken.unit = load_record(get_campaign(NAME), share), "assignments"


def check(taken: Taken, share: float) -> None:
    with taken.part("review"):
        found = review(get_campaign(NAME))
    assert found.passed
    assert found.failed
    assert found.excluded
    taken.rows, taken.unit = Judgment.objects.count(), "judgments"


def derive(taken: Taken, share: float) -> None:
    """As in `recompute`, part by part."""
    with transaction.atomic():
        campaign = locked(get_campaign(NAME))
        with taken.part("labels"):
            taken.rows, taken.unit = write_labels(campaign), "triplets"
        with taken.part("open assignments"):
            assert request_missing_votes(campaign)


def bare_derive(taken: Taken, share: float) -> None:
    """The floor of counting: one GROUP BY over all judgments, its result left there."""
    with taken.part("bare GROUP BY"), connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM (SELECT triplet_id, COUNT(*), SUM(value)"
            f" FROM {Judgment._meta.db_table} GROUP BY triplet_id) counted"
        )
        taken.rows, taken.unit = cursor.fetchone()[0], "triplets"


def decide(taken: Taken, share: float) -> None:
    """The crowd has carried out all reviews; the ledger books them."""
    campaign = get_campaign(NAME)
    for kind, status in (("approve", "approved"), ("reject", "rejected")):
        messages = campaign.outbox.filter(kind=kind)
        Assignment.objects.filter(outbox__in=messages).update(status=status)
        messages.update(state=OutboxMessage.State.DONE)
    with taken.part("settle"), transaction.atomic():
        taken.rows, taken.unit = settle(locked(campaign)), "assignments"


def idle(taken: Taken, share: float) -> None:
    """A pass over a campaign of which nothing is new."""
    campaign = get_campaign(NAME)
    recompute(campaign)
    with taken.part("idle pass"):
        found = recompute(campaign)
    assert not found.assignments_requested
    taken.rows, taken.unit = found.labelled + found.open + found.unresolved, "triplets"


def news(taken: Taken, share: float) -> None:
    """A pass after a few more were submitted, and a look at everything that finds no difference."""
    campaign = get_campaign(NAME)
    taken.rows, taken.unit = load_third_votes(campaign, NEW), "assignments"
    with taken.part(f"{NEW} new"):
        found = recompute(campaign)
    assert found.passed + found.failed == taken.rows
    with taken.part("audit"):
        assert not audit(campaign)


STEPS: dict[str, Callable[[Taken, float], None]] = {
    "inputs": inputs,
    "pack": pack,
    "bare pack": bare_pack,
    "publish": ask,
    "record": record,
    "review": check,
    "label": derive,
    "bare label": bare_derive,
    "settle": decide,
    "idle": idle,
    "news": news,
}


def main() -> None:
    name, share = sys.argv[1:]
    taken = Taken()
    STEPS[name](taken, float(share))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the server does by itself a minute after such a change
    print(json.dumps(asdict(taken)))
