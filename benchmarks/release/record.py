"""A finished record for `benchmarks.release.size`: everything judged, ties broken, work booked.

Two workers judge each HIT, work that fails a control is rejected and done again, and what is tied
then goes into new HITs, five triplets each, for a third vote: about a million valid votes.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, count, groupby, islice
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max

from annotation.models import (
    Assignment,
    Campaign,
    Control,
    Entry,
    ExpertLabel,
    Hit,
    HitItem,
    Judgment,
    Worker,
)
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.ledger.reservations import account_of, book
from annotation.pipeline.publishing import pack
from benchmarks.campaign.inputs import SEED, copy
from benchmarks.campaign.record import CARELESS, CARELESS_SLIP, MISTAKE, POSITIVES, SLIP, WORKERS

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SAMPLED = 500  # triplets with an expert's label
WORKS_PER_COPY = 3_000
TIED_PER_HIT = 5
WORK_COLUMNS = (
    "id",
    "hit_id",
    "worker_id",
    "crowd_id",
    "status",
    "accepted_at",
    "submitted_at",
    "answers",
    "passed",
    "failure",
    "account",
)
VOTE_COLUMNS = ("assignment_id", "item_id", "triplet_id", "worker_id", "value")
HIT_COLUMNS = ("id", *pack.HIT_COLUMNS)
ITEM_COLUMNS = ("id", "hit_id", "position", "key", "triplet_id", "control_id")
NULL = "\\N"


class Item(NamedTuple):
    hit: int
    pk: int
    triplet: int | None
    kind: str | None  # of control


class Work(NamedTuple):
    hit: int
    worker: int  # from 0
    passed: bool
    votes: list[tuple[Item, int]]


@dataclass(frozen=True)
class Tied:
    triplet: int
    workers: tuple[int, ...]
    truth: int


class Crowd:
    """Its workers, a twentieth of them careless; remembers what they left tied."""

    def __init__(self, workers: int) -> None:
        self.tied: list[Tied] = []
        self._rng = random.Random(SEED)
        self._workers = range(workers)
        self._careless = set(self._rng.sample(self._workers, round(workers * CARELESS)))

    def judge(self, items: Sequence[Item]) -> Iterator[Work]:
        """A HIT of the first round, until two have passed its controls."""
        truth = {item.triplet: int(self._rng.random() < POSITIVES) for item in items}
        taking = iter(self._rng.sample(self._workers, 20))
        works: list[Work] = []
        while sum(work.passed for work in works) < 2:
            works.append(self._work(items, truth, next(taking)))
            yield works[-1]
        good = [work for work in works if work.passed]
        yes = Counter(item.triplet for work in good for item, value in work.votes if value)
        workers = tuple(work.worker for work in works)
        self.tied += [
            Tied(item.triplet, workers, truth[item.triplet])
            for item in items
            if item.triplet is not None and yes[item.triplet] == 1
        ]

    def break_ties(self, items: Sequence[Item], tied: Sequence[Tied]) -> Work:
        earlier = {worker for one in tied for worker in one.workers}
        able = (self._rng.choice(self._workers) for _ in range(1000))
        worker = next(one for one in able if one not in earlier | self._careless)
        truth: dict[int | None, int] = {one.triplet: one.truth for one in tied}
        return self._work(items, truth, worker)._replace(passed=True)

    def _work(self, items: Sequence[Item], truth: dict[int | None, int], worker: int) -> Work:
        slips = self._rng.random() < (CARELESS_SLIP if worker in self._careless else SLIP)
        votes = []
        for item in items:
            if item.kind is None:
                value = truth[item.triplet] ^ (self._rng.random() < MISTAKE)
            else:
                value = int(item.kind == "positive") ^ (slips and item.kind == "positive")
            votes.append((item, value))
        return Work(items[0].hit, worker, not slips, votes)


@transaction.atomic
def load_finished_record(campaign: Campaign, *, people: int = WORKERS) -> int:
    """How many judgments there are then, those of other campaigns included."""
    workers = workers_named(people)
    crowd = Crowd(people)
    first = chain.from_iterable(crowd.judge(items) for items in _hits(campaign))
    before = Assignment.objects.aggregate(last=Max("pk"))["last"] or 0
    done = _store(first, workers, start=before + 1)
    groups = list(_groups(crowd.tied))
    items = _create_hits(campaign, groups)
    third = (crowd.break_ties(*each) for each in zip(items, groups, strict=True))
    _store(third, workers, start=done + 1)
    _pay(campaign)
    write_labels(campaign)
    _sample(campaign)
    return Judgment.objects.count()


def workers_named(count: int) -> list[int]:
    """Their primary keys: the same people in every campaign."""
    names = [f"A{number:05d}" for number in range(count)]
    people = [Worker(crowd="mturk", worker_id=name) for name in names]
    Worker.objects.bulk_create(people, ignore_conflicts=True)
    known = Worker.objects.filter(crowd="mturk", worker_id__in=names).order_by("worker_id")
    return list(known.values_list("pk", flat=True))


def _hits(campaign: Campaign) -> Iterator[list[Item]]:
    rows = HitItem.objects.filter(hit__campaign=campaign).order_by("hit_id", "position")
    found = rows.values_list("hit_id", "pk", "triplet_id", "control__kind")
    items = map(Item._make, found.iterator(chunk_size=10_000))
    for _, hit in groupby(items, key=lambda item: item.hit):
        yield list(hit)


def _store(works: Iterator[Work], workers: Sequence[int], *, start: int) -> int:
    """The number of the last one."""
    number = start - 1
    while some := list(islice(works, WORKS_PER_COPY)):
        numbered = list(enumerate(some, number + 1))
        rows = [_work_row(each, work, workers[work.worker]) for each, work in numbered]
        copy(Assignment._meta.db_table, WORK_COLUMNS, rows)
        votes = (
            (each, item.pk, NULL if item.triplet is None else item.triplet, worker, value)
            for each, work in numbered
            for worker in [workers[work.worker]]
            for item, value in work.votes
        )
        copy(Judgment._meta.db_table, VOTE_COLUMNS, votes)
        number += len(some)
    return number


def _work_row(number: int, work: Work, worker: int) -> tuple[object, ...]:
    submitted = (BEGAN + timedelta(seconds=number)).isoformat()
    status, account = ("approved", "paid") if work.passed else ("rejected", "released")
    name = f"W{number:029d}"
    return (
        *(number, work.hit, worker, name, status, submitted, submitted),
        *("{}", work.passed, "" if work.passed else "missed", account),
    )


def _groups(tied: Sequence[Tied]) -> Iterator[list[Tied]]:
    """Those that no HIT holds together stay so: neighbours are of one HIT."""
    hits = -(-len(tied) // TIED_PER_HIT)
    for start in range(hits):
        yield list(tied[start::hits])


def _create_hits(campaign: Campaign, groups: Sequence[Sequence[Tied]]) -> Iterator[list[Item]]:
    """One for each group, with a control of each kind."""
    last = Hit.objects.aggregate(pk=Max("pk"), number=Max("number"))
    top = last["pk"]
    like = campaign.hits.values_list("instructions_id", "price_cents")[0]
    rows = (
        (
            *(top + n, campaign.pk, f"R-{top + n:06d}", last["number"] + n, n, like[0]),
            *(1, like[1], 0, True, "[]", False, ""),
        )
        for n in range(1, len(groups) + 1)
    )
    copy(Hit._meta.db_table, HIT_COLUMNS, rows)
    controls = {kind: Control.objects.filter(kind=kind)[0].pk for kind in Control.Kind.values}
    made = list(_items(groups, top + 1))
    item_rows = (
        (
            *(item.pk, item.hit, place, f"R{item.pk}", item.triplet or NULL),
            controls[item.kind] if item.kind else NULL,
        )
        for items in made
        for place, item in enumerate(items)
    )
    copy(HitItem._meta.db_table, ITEM_COLUMNS, item_rows)
    return iter(made)


def _items(groups: Sequence[Sequence[Tied]], hit: int) -> Iterator[list[Item]]:
    """Of HITs from this number on."""
    free = count(HitItem.objects.aggregate(last=Max("pk"))["last"] + 1)
    for number, group in enumerate(groups, hit):
        real = [Item(number, next(free), one.triplet, None) for one in group]
        yield real + [Item(number, next(free), None, kind) for kind in Control.Kind.values]


def _pay(campaign: Campaign) -> None:
    """All of it in two entries: a million of them are another benchmark's."""
    price = campaign.hits.values_list("price_cents", flat=True)[0]
    works = Assignment.objects.filter(hit__campaign=campaign)
    cents = price * works.filter(account=Assignment.Booked.PAID).count()
    account, place = account_of(campaign), Entry.Place
    book(
        Entry(
            account=account,
            key=f"{campaign.pk}-{target}",
            source=source,
            target=target,
            cents=cents,
        )
        for source, target in ((place.AVAILABLE, place.RESERVED), (place.RESERVED, place.PAID))
    )


def _sample(campaign: Campaign) -> None:
    labelled = campaign.triplets.filter(status="labelled").order_by("pk")
    ExpertLabel.objects.bulk_create(
        ExpertLabel(triplet_id=pk, expert="ada", label=label, source=ExpertLabel.Source.SAMPLE)
        for pk, label in labelled.values_list("pk", "label")[:SAMPLED]
        if label is not None
    )
