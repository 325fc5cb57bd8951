"""Who works on a campaign, how, and what an hour of it earns: read-only figures for the owner.

Times are what browsers told: evidence, never proof. Wages are what workers get, without the
crowd's fees:

    hourly wage = (reward x approved HITs + bonuses paid for decided HITs) / active time

over the decided HITs whose active time is known. Rejected HITs took time too, and earned nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from django.db.models import Count, Q, Sum

from annotation.models import (
    Assignment,
    Behaviour,
    Campaign,
    Exclusion,
    ItemReport,
    OutboxMessage,
)

FAST = 3  # whose median is under the campaign's divided by this is worth a look
STRAIGHT = 5  # and who gives one answer throughout in more than one HIT of so many
HOUR_MS = 3_600_000
ROWS = 10_000
BARS = 20
USUAL_SHARE = 0.95  # of the times fit before the last bar, which takes all longer ones
STEPS_S = (1, 2, 3, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 21_600)


@dataclass(frozen=True)
class Person:
    """A worker's part in a campaign. What hangs on times counts the HITs that have one."""

    pk: int
    worker: str  # as the crowd names them
    submitted: int
    reviewed: int
    failed: int
    excluded: bool
    with_behaviour: int  # HITs that were looked at for one answer throughout
    straight: int  # and have it
    changes: int
    reports: int
    cannot_judge: int  # of these, instead of an answer
    earned_cents: int | None  # None: the campaign pays nothing by the piece
    paid_ms: int  # of the HITs that this was earned, or not earned, with
    times_ms: Sequence[int]
    usual_ms: float | None  # the campaign's median

    @cached_property
    def median_ms(self) -> float | None:
        return median_of(self.times_ms)

    @property
    def hourly_cents(self) -> int | None:
        return hourly(self.earned_cents, self.paid_ms)

    @property
    def straight_share(self) -> float | None:
        return self.straight / self.with_behaviour if self.with_behaviour else None

    @property
    def changes_per_hit(self) -> float | None:
        return self.changes / len(self.times_ms) if self.times_ms else None

    @property
    def is_fast(self) -> bool:
        if self.median_ms is None or self.usual_ms is None:
            return False
        return self.median_ms * FAST < self.usual_ms

    @property
    def is_straight(self) -> bool:
        return self.straight * STRAIGHT > self.with_behaviour


@dataclass(frozen=True)
class Effort:
    """What the work takes and earns, campaign-wide."""

    timed: int  # HITs whose active time is known
    median_ms: float | None
    hourly_cents_median: int | None  # of the worker in the middle
    hourly_cents_pooled: int | None  # all that was earned by all the time it took


@dataclass(frozen=True)
class Histogram:
    """How many times fall in each of BARS equal steps from 0 on; the last one is open."""

    step_s: int
    counts: Sequence[int]


def people_of(campaign: Campaign) -> list[Person]:
    """In the order of the workers' names."""
    times = _times(campaign)
    excluded = set(Exclusion.in_force(campaign).values_list("worker", flat=True))
    usual = median_of([ms for mine in times.values() for ms in mine])
    reports, bonuses = _reports(campaign), _bonuses(campaign)
    reward = campaign.policy.reward_cents
    return [
        Person(
            pk=row["worker_id"],
            worker=row["worker__worker_id"],
            submitted=row["submitted"],
            reviewed=row["reviewed"],
            failed=row["failed"],
            excluded=row["worker_id"] in excluded,
            with_behaviour=row["with_behaviour"],
            straight=row["straight"],
            changes=row["changes"],
            **reports.get(row["worker_id"], NO_REPORTS),
            earned_cents=reward * row["approved"] + bonuses.get(row["worker_id"], 0)
            if reward
            else None,
            paid_ms=row["paid_ms"],
            times_ms=times.get(row["worker_id"], ()),
            usual_ms=usual,
        )
        for row in _counts(campaign)
    ]


def effort_of(people: Iterable[Person]) -> Effort:
    people = list(people)
    times = [ms for person in people for ms in person.times_ms]
    wages = [person.hourly_cents for person in people if person.hourly_cents is not None]
    middle = median_of(wages)
    earned = [person.earned_cents for person in people if person.earned_cents is not None]
    return Effort(
        timed=len(times),
        median_ms=median_of(times),
        hourly_cents_median=None if middle is None else round(middle),
        hourly_cents_pooled=hourly(sum(earned), sum(person.paid_ms for person in people))
        if earned
        else None,
    )


def hourly(cents: int | None, ms: int) -> int | None:
    return round(cents * HOUR_MS / ms) if cents is not None and ms else None


def median_of(values: Sequence[int]) -> float | None:
    return median(values) if values else None


def histogram(times_ms: Iterable[int]) -> Histogram:
    in_order = sorted(times_ms)
    usual = in_order[int(USUAL_SHARE * (len(in_order) - 1))] if in_order else 0
    step = next((s for s in STEPS_S if s * 1000 * (BARS - 1) > usual), STEPS_S[-1])
    counts = [0] * BARS
    for ms in in_order:
        counts[min(ms // (step * 1000), BARS - 1)] += 1
    return Histogram(step, counts)


def _counts(campaign: Campaign) -> Iterable[Mapping[str, Any]]:
    """Of each worker who has submitted."""
    decided = ~Q(status=Assignment.Status.SUBMITTED)
    timed = Q(behaviour__active_ms__isnull=False)
    approved = Q(status=Assignment.Status.APPROVED)
    assignments = Assignment.objects.filter(hit__campaign=campaign)
    rows = assignments.order_by("worker__worker_id").values("worker_id", "worker__worker_id")
    return rows.annotate(
        submitted=Count("pk"),
        reviewed=Count("pk", filter=Q(passed__isnull=False)),
        failed=Count("pk", filter=Q(passed=False)),
        with_behaviour=Count("behaviour"),
        straight=Count("pk", filter=Q(behaviour__straight=True)),
        changes=Sum("behaviour__changes", filter=timed, default=0),
        approved=Count("pk", filter=timed & approved),
        paid_ms=Sum("behaviour__active_ms", filter=decided, default=0),
    )


def _times(campaign: Campaign) -> dict[int, list[int]]:
    """Worker -> the active time of each of their HITs that has one."""
    measured = Behaviour.objects.filter(assignment__hit__campaign=campaign)
    times: dict[int, list[int]] = defaultdict(list)
    rows = measured.values_list("assignment__worker_id", "active_ms")
    for worker, ms in rows.iterator(chunk_size=ROWS):
        if ms is not None:
            times[worker].append(ms)
    return times


def _bonuses(campaign: Campaign) -> dict[int, int]:
    """Worker -> cents paid for decided HITs whose time is known."""
    paid = campaign.outbox.filter(
        kind=OutboxMessage.Kind.BONUS,
        state=OutboxMessage.State.DONE,
        assignment__behaviour__active_ms__isnull=False,
    ).exclude(assignment__status=Assignment.Status.SUBMITTED)
    return dict(paid.order_by().values_list("worker_id").annotate(cents=Sum("cents")))


NO_REPORTS = {"reports": 0, "cannot_judge": 0}


def _reports(campaign: Campaign) -> dict[int, dict[str, int]]:
    reports = ItemReport.objects.filter(assignment__hit__campaign=campaign).order_by()
    rows = reports.values("assignment__worker_id").annotate(
        reports=Count("pk"), cannot=Count("pk", filter=Q(cannot_judge=True))
    )
    return {
        row["assignment__worker_id"]: {"reports": row["reports"], "cannot_judge": row["cannot"]}
        for row in rows
    }
