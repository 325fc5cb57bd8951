"""Everything that follows from the record, in one transaction: nothing of it can be half done."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotation.models import Campaign, Triplet
from annotation.pipeline.changes import Changes, in_parts, mark_hits_of
from annotation.pipeline.collecting.review import exclude_careless, review
from annotation.pipeline.labelling.label import Outcome, counts, fit_again, news, relabel
from annotation.pipeline.labelling.tallies import count_all_again
from annotation.pipeline.ledger.reservations import account_of, locked
from annotation.pipeline.outbox.claims import Clock
from annotation.pipeline.publishing.lifecycle import end_unneeded, wind_up
from annotation.pipeline.publishing.top_up import request_missing_votes


@dataclass(frozen=True)
class Recomputed:
    passed: int
    failed: int
    excluded: int
    labelled: int
    open: int
    unresolved: int
    assignments_requested: int


def recompute(
    campaign: Campaign, *, until: datetime | None = None, clock: Clock = timezone.now
) -> Recomputed:
    """Review, exclude, label, and ask for what is missing; each may have been done before.

    Looks at the HITs that have changed since the last time. `until`: the time up to which no
    submission is missing from the record.
    """
    with transaction.atomic():
        reviewed = review(campaign, until=until)
        campaign = locked(campaign)
        requested = _follow(campaign, Changes(campaign), clock())
        states = counts(campaign)
    return Recomputed(
        passed=reviewed.passed,
        failed=reviewed.failed,
        excluded=reviewed.excluded,
        **states,
        assignments_requested=requested,
    )


def _follow(campaign: Campaign, changes: Changes, now: datetime) -> int:
    """The places asked for."""
    hits = relabel(campaign, changes.hits)
    if campaign.state == Campaign.State.CANCELLED:
        wind_up(campaign, now)
    unpublished = end_unneeded(campaign, hits, now)
    requested = request_missing_votes(campaign, hits)
    waiting = requested.waiting
    changes.take_off(but_for=None if waiting is None else {*waiting, *unpublished})
    return requested.places


def fit_to_all(campaign: Campaign) -> None:
    """Labels by all that is known now, where an aggregator makes them: what a release states."""
    if campaign.policy.aggregation == "majority":
        return
    with transaction.atomic():
        campaign = locked(campaign)
        if fit_again(campaign):  # the next pass asks for what is no longer sure
            mark_hits_of(campaign.triplets.filter(status=Triplet.Status.OPEN))


def _outcomes(triplets: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
    for some in in_parts(triplets):
        rows = Triplet.objects.filter(pk__in=some).values_list("pk", *Outcome._fields)
        yield from ((pk, Outcome._make(stored)) for pk, *stored in rows)


@dataclass(frozen=True)
class Differences:
    """What stood otherwise than it follows from the whole record."""

    labels: int
    exclusions: int
    places: int  # that were to be asked for
    cents: int  # reserved, that nobody needs
    tallies: int  # that figures are summed from

    def __bool__(self) -> bool:
        return any(astuple(self))


def audit(
    campaign: Campaign, *, until: datetime | None = None, clock: Clock = timezone.now
) -> Differences:
    """Recompute all, whatever has changed, and mend what differs: passes should leave nothing.

    Where nothing differs, all stays as it was: what has changed since the last pass waits for the
    next one.
    """
    with transaction.atomic():
        recompute(campaign, until=until, clock=clock)
        campaign = locked(campaign)
        reserved = account_of(campaign).reserved_cents
        before = {pk: stored for pk, stored, _ in news(campaign)}
        exclusions = exclude_careless(campaign)
        places = _follow(campaign, Changes(campaign, everything=True), clock())
        labels = sum(before[pk] != stored for pk, stored in _outcomes(sorted(before)))
        freed = 0 if places else max(0, reserved - account_of(campaign).reserved_cents)
        tallies = count_all_again(campaign)
        differences = Differences(labels, exclusions, places, freed, tallies)
        if not differences:
            transaction.set_rollback(True)
    return differences
