"""Who works on a campaign, how, and what an hour of it earns: read-only figures for the owner.

Times are what browsers told: evidence, never proof. Wages are what workers get, without the
crowd's fees:

    hourly wage = (reward x approved HITs + bonuses paid for decided HITs) / active time

over the decided HITs whose active time is known. Rejected HITs took time too, and earned nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from django.db.models import Aggregate, Count, F, Sum, TextField

from annotation.models import AssignmentTally, Campaign, EffortTally, Exclusion
from annotation.pipeline.labelling.tallies import tallies_of
from annotation.protocol.screening.peer_agreement import Agreement

FAST = 3  # whose median is under the campaign's divided by this is worth a look
STRAIGHT = 5  # and who gives one answer throughout in more than one HIT of so many
HOUR_MS = 3_600_000
BARS = 20
USUAL_SHARE = 0.95  # of the times fit before the last bar, which takes all longer ones
SUMMED = (
    "reviewed",
    "failed",
    "with_behaviour",
    "straight",
    "changes",
    "reports",
    "cannot_judge",
    "approved",
    "bonus_cents",
    "paid_ms",
)
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
    agreement: Agreement  # with the others
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
    rows = tallies_of(campaign, EffortTally).order_by("worker__worker_id")
    people: Iterable[Mapping[str, Any]] = rows.values(
        "worker_id", name=F("worker__worker_id")
    ).annotate(*map(Sum, SUMMED), submitted=Count("pk"), times=Joined("active_ms"))
    times = {one["worker_id"]: _numbers(one["times"]) for one in people}
    excluded = set(Exclusion.in_force(campaign).values_list("worker", flat=True))
    agreements = _agreements(campaign)
    usual = median_of([ms for mine in times.values() for ms in mine])
    reward = campaign.policy.reward_cents
    return [
        Person(
            pk=one["worker_id"],
            worker=one["name"],
            submitted=one["submitted"],
            reviewed=one["reviewed__sum"],
            failed=one["failed__sum"],
            excluded=one["worker_id"] in excluded,
            agreement=agreements.get(one["worker_id"], Agreement(0, 0)),
            with_behaviour=one["with_behaviour__sum"],
            straight=one["straight__sum"],
            changes=one["changes__sum"],
            reports=one["reports__sum"],
            cannot_judge=one["cannot_judge__sum"],
            earned_cents=reward * one["approved__sum"] + one["bonus_cents__sum"]
            if reward
            else None,
            paid_ms=one["paid_ms__sum"],
            times_ms=times[one["worker_id"]],
            usual_ms=usual,
        )
        for one in people
    ]


class Joined(Aggregate):
    """All numbers of a column, as one text: a row of each costs far more."""

    function = "STRING_AGG"
    template = "%(function)s(CAST(%(expressions)s AS TEXT), ',')"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, **context, function="GROUP_CONCAT")


def _numbers(joined: str | None) -> list[int]:
    return [int(number) for number in joined.split(",")] if joined else []


def _agreements(campaign: Campaign) -> dict[int, Agreement]:
    """Worker -> agreement with the others."""
    rows = tallies_of(campaign, AssignmentTally).order_by().values_list("worker_id")
    sums = rows.annotate(Sum("agreeing"), Sum("compared"))
    return {worker: Agreement(agreeing, compared) for worker, agreeing, compared in sums}


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
