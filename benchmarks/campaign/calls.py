"""The crowd's HTTP calls of a campaign, beside those of a bare boto3 loop with as many threads.

Both make the same calls with the same parameters, on HITs of their own, in turns.
"""

import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from django.utils import timezone

from annotation.crowd.emulator.ids import new_id
from annotation.crowd.emulator.question.answers import answers_xml
from annotation.crowd.factory import open_crowd
from annotation.models import OutboxMessage
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.outbox.claims import UNSENT
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.setup.create import get_campaign
from benchmarks.campaign.bare_loop import PAGE, THREADS, BareLoop, Turns
from benchmarks.campaign.inputs import NAME
from benchmarks.campaign.record import WORKERS, Work, first_round

TURNS = 5
LATER = timedelta(hours=1)
STATUS = (1, 100, 5000)  # whom the policy's defaults admit

Some = TypeVar("Some")


def main() -> None:
    (state,) = sys.argv[1:]
    both = Both(Path(state))
    created = both.create()
    collected = both.collect()
    review(both.campaign)
    print(json.dumps({"create": created, "collect": collected, "decide": both.decide()}))


class Both:
    """A published campaign, and as many HITs of the bare loop's own at the same emulator."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.campaign = get_campaign(NAME)
        self.crowd = open_crowd("mturk", live=False)
        self.bare = BareLoop(self.crowd.site.endpoint)
        self.bare_hits: dict[str, str] = {}  # our key -> the HIT that the bare loop made of it
        self.bare_works: list[str] = []

    def create(self) -> dict[str, object]:
        turns = Turns()
        for part in self._waiting(OutboxMessage.Kind.CREATE):
            keys = [message.hit.key for message in part if message.hit]
            turns.take(self._deliver, partial(self._create_bare, keys), calls=len(part))
        return turns.result()

    def collect(self) -> dict[str, object]:
        """A part of the HITs is submitted before each turn."""
        turns = Turns()
        names = {hit.pk: (hit.key, hit.crowd_id) for hit in self.campaign.hits.all()}
        works = [list(some) for _, some in groupby(first_round(self.campaign), lambda w: w.hit)]
        pages = 2 * len(names) // PAGE + 1
        for part in _parts(works):
            flat = [work for some in part for work in some]
            self._submit([(str(names[work.hit][1]), work) for work in flat])
            theirs = [(self.bare_hits[names[work.hit][0]], work) for work in flat]
            self._submit(theirs)
            bare = partial(self._collect_bare, {hit for hit, _ in theirs})
            turns.take(self._collect, bare, calls=pages + len(part))
        return turns.result()

    def decide(self) -> dict[str, object]:
        turns = Turns()
        left = iter(self.bare_works)
        for part in self._waiting(OutboxMessage.Kind.APPROVE, OutboxMessage.Kind.REJECT):
            rejected = sum(message.kind == OutboxMessage.Kind.REJECT for message in part)
            works = [next(left) for _ in part]
            bare = partial(self.bare.decide, works, rejected=rejected)
            turns.take(self._deliver, bare, calls=len(part))
        return turns.result()

    def _waiting(self, *kinds: str) -> Iterator[Sequence[OutboxMessage]]:
        """A part of these messages at a time; all others wait for a later hour."""
        unsent = self.campaign.outbox.filter(state__in=UNSENT)
        unsent.update(retry_at=timezone.now() + LATER)
        mine = unsent.filter(kind__in=kinds).select_related("hit").order_by("pk")
        for part in _parts(list(mine)):
            unsent.filter(pk__in=[message.pk for message in part]).update(retry_at=None)
            yield part

    def _deliver(self) -> None:
        done = deliver(self.campaign, self.crowd, threads=THREADS)
        assert (done.failed, done.stopped_by) == (0, None)

    def _collect(self) -> None:
        assert fetch_submissions(self.campaign, self.crowd, threads=THREADS).new

    def _create_bare(self, keys: Sequence[str]) -> None:
        self.bare_hits |= zip(keys, self.bare.create(self.campaign, keys), strict=True)

    def _collect_bare(self, hits: set[str]) -> None:
        self.bare_works += self.bare.collect(hits)

    def _submit(self, works: Sequence[tuple[str, Work]]) -> None:
        """Straight into the emulator's state, as if people had worked there."""
        now = timezone.now().timestamp()
        delay = self.campaign.policy.auto_approval_days * 86400
        with closing(sqlite3.connect(self.state, timeout=30)) as state, state:
            (last,) = state.execute(
                "SELECT COALESCE(MAX(submit_number), 0) FROM assignments"
            ).fetchone()
            state.executemany(
                "INSERT OR IGNORE INTO workers VALUES (?, ?, ?, ?, ?)",
                [(f"A{number:05d}", *STATUS, now) for number in range(WORKERS)],
            )
            state.executemany(
                "INSERT INTO assignments (assignment_id, hit_id, worker_id, status, accepted_at,"
                " deadline, submitted_at, submit_number, auto_approval_at, answer)"
                " VALUES (?, ?, ?, 'Submitted', ?, ?, ?, ?, ?, ?)",
                [
                    (
                        new_id(),
                        hit,
                        f"A{work.worker:05d}",
                        now - 180,
                        now + 1800,
                        now,
                        number,
                        now + delay,
                        answers_xml(list(work.answers.items())),
                    )
                    for number, (hit, work) in enumerate(works, last + 1)
                ],
            )
            state.executemany(
                "UPDATE hits SET open_assignments = 0 WHERE hit_id = ?",
                {(hit,) for hit, _ in works},
            )


def _parts(all_of_them: Sequence[Some]) -> Iterator[Sequence[Some]]:
    size = -(-len(all_of_them) // TURNS)
    return (all_of_them[start : start + size] for start in range(0, len(all_of_them), size))
