"""Tallies, which a campaign's figures are summed from: no judgment or assignment is walked again.

They are brought up to date when figures are taken, in the HITs that have changed and wherever
triplets of theirs stand.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from itertools import chain
from typing import TypeVar

import numpy as np
from django.db import transaction
from django.db.models import Count, F, IntegerField, QuerySet, Sum
from numpy.typing import NDArray

from annotation.models import (
    Assignment,
    AssignmentTally,
    Campaign,
    ChangedHit,
    ControlTally,
    EffortTally,
    Exclusion,
    HitItem,
    Judgment,
    MeetingTally,
    PairTally,
    TripletTally,
    UntalliedHit,
)
from annotation.models.figures import Tally
from annotation.pipeline.changes import in_parts, is_most, triplets_of
from annotation.pipeline.labelling import running_counts
from annotation.pipeline.labelling.effort_tallies import count_efforts
from annotation.pipeline.labelling.exposures import OF_POOL, OWN, meetings, revealed
from annotation.pipeline.labelling.votes import (
    ROWS,
    compared_judgments,
    first_votes,
    valid_judgments,
)
from annotation.protocol.screening.peer_agreement import agrees, beside_peers
from core.files.bulk_insert import insert, insert_from_query

KINDS: Sequence[type[Tally]] = (
    TripletTally,
    AssignmentTally,
    EffortTally,
    ControlTally,
    MeetingTally,
    PairTally,
)
OTHER = "triplet__judgments__"

Kind = TypeVar("Kind", bound=Tally)
Keys = Collection[int] | None  # None: all there are


def tallies_of(campaign: Campaign, kind: type[Kind]) -> QuerySet[Kind]:
    """Up to date."""
    bring_up_to_date(campaign)
    return kind._default_manager.filter(campaign=campaign)


def bring_up_to_date(campaign: Campaign) -> None:
    if _new(campaign).exists() or _followed(campaign).exists():
        _count_changed(campaign)


@transaction.atomic
def _count_changed(campaign: Campaign) -> None:
    # Meanwhile no pass takes a mark off, or makes one.
    Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    new, followed = (
        dict(marks.values_list("pk", "hit_id")) for marks in (_new(campaign), _followed(campaign))
    )
    hits = sorted({*new.values(), *followed.values()})
    if is_most(campaign, hits):
        _count_again(campaign)
    else:
        for some in in_parts(hits):
            _count_around(campaign, some)
    for marks in in_parts(list(new), ROWS):
        ChangedHit.objects.filter(pk__in=marks).update(tallied=True)
    for marks in in_parts(list(followed), ROWS):
        UntalliedHit.objects.filter(pk__in=marks).delete()
    running_counts.merge(campaign)


def _new(campaign: Campaign) -> QuerySet[ChangedHit]:
    """What no pass has followed yet counts as it is now, and once more after that pass."""
    return ChangedHit.objects.filter(hit__campaign=campaign, waits=False, tallied=False)


def _followed(campaign: Campaign) -> QuerySet[UntalliedHit]:
    return UntalliedHit.objects.filter(hit__campaign=campaign)


@transaction.atomic
def count_all_again(campaign: Campaign) -> int:
    """How many tallies and counts were not what follows from the record; now all are."""
    bring_up_to_date(campaign)
    before = [_contents(campaign, kind) for kind in KINDS]
    _count_again(campaign)
    after = [_contents(campaign, kind) for kind in KINDS]
    tallies = sum(
        max(len(np.setdiff1d(was, now)), len(np.setdiff1d(now, was)))
        for was, now in zip(before, after, strict=True)
    )
    return tallies + running_counts.mend(campaign)


def _contents(campaign: Campaign, kind: type[Tally]) -> NDArray[np.void]:
    """A row is one value: as Python's own there would be millions of numbers."""
    columns = [field.attname for field in kind._meta.concrete_fields if not field.primary_key]
    rows = kind._default_manager.filter(campaign=campaign).values_list(*columns)
    values = chain.from_iterable(rows.iterator(chunk_size=ROWS))
    numbers = np.fromiter((-1 if one is None else one for one in values), np.int64)
    return numbers.view([(column, np.int64) for column in columns])


def _count_again(campaign: Campaign) -> None:
    for kind in KINDS:
        kind._default_manager.filter(campaign=campaign).delete()
    _count_triplets(campaign)
    _count_controls(campaign)
    _count_meetings(campaign)
    _count_assignments(campaign)
    count_efforts(campaign)
    _count_pairs(campaign)


def _count_around(campaign: Campaign, hits: Sequence[int]) -> None:
    """Whatever follows from votes in these HITs, and from others' on their triplets."""
    triplets = triplets_of(hits)
    TripletTally.objects.filter(triplet__in=triplets).delete()
    _count_triplets(campaign, triplets)

    controls = _controls_of(hits)
    ControlTally.objects.filter(campaign=campaign, control__in=controls).delete()
    _count_controls(campaign, controls)

    MeetingTally.objects.filter(hit__in=hits).delete()
    _count_meetings(campaign, hits)
    EffortTally.objects.filter(assignment__hit__in=hits).delete()
    count_efforts(campaign, hits)

    elsewhere = HitItem.objects.filter(triplet__in=triplets).values_list("hit_id", flat=True)
    around = {*hits, *elsewhere}
    AssignmentTally.objects.filter(assignment__hit__in=around).delete()
    _count_assignments(campaign, around)
    PairTally.objects.filter(hit__in=around).delete()
    _count_pairs(campaign, around)


def _count_triplets(campaign: Campaign, triplets: Keys = None) -> None:
    source = "triplet__campaign_id", "triplet_id", "triplet__candidate__query_id", "pair"
    columns = ["campaign_id", "triplet_id", "query_id", "pair"]
    insert_from_query(TripletTally, columns, first_votes(campaign, triplets).values_list(*source))


def _controls_of(hits: Sequence[int]) -> list[int]:
    items = HitItem.objects.filter(hit__in=hits, control__isnull=False)
    return sorted(set(items.values_list("control_id", flat=True)))


def _count_controls(campaign: Campaign, controls: Keys = None) -> None:
    answers = Judgment.objects.filter(triplet=None, item__hit__campaign=campaign)
    answers = answers if controls is None else answers.filter(item__control__in=controls)
    answers = answers.exclude(worker__in=Exclusion.in_force(campaign).values("worker"))
    rows = answers.order_by().values_list("item__hit__campaign_id", "item__control_id")
    counted = rows.annotate(
        answered=Count("pk"), yes=Sum("value"), workers=Count("worker", distinct=True)
    )
    columns = ["campaign_id", "control_id", "answered", "yes", "workers"]
    insert_from_query(ControlTally, columns, counted)


def _count_meetings(campaign: Campaign, hits: Keys = None) -> None:
    known = revealed(campaign)
    met = meetings(campaign, OWN | OF_POOL, hits)
    rows = list(met.values_list("hit_id", "control_id", "hit__assignments__worker_id"))
    columns = ["campaign_id", "hit_id", "control_id", "worker_id", "revealed"]
    insert(MeetingTally, columns, ([campaign.pk, *one, int(one in known)] for one in rows))


def _count_assignments(campaign: Campaign, hits: Keys = None) -> None:
    excluded = set(Exclusion.in_force(campaign).values_list("worker_id", flat=True))
    judgments = compared_judgments(campaign).order_by()
    judgments = judgments if hits is None else judgments.filter(assignment__hit__in=hits)
    tally = "value", "triplet__votes", "triplet__positive_votes"
    rows = judgments.values_list("assignment_id", "worker_id", *tally).annotate(Count("pk"))

    @cache  # few combinations, many votes
    def is_agreeing(value: int, votes: int, positive: int, *, counts: bool) -> bool | None:
        return agrees(beside_peers(value, votes, positive, counts=counts))

    compared: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for assignment, worker, *tally_of, times in rows.iterator(chunk_size=ROWS):
        same = is_agreeing(*tally_of, counts=worker not in excluded)
        of_it = compared[assignment, worker]
        of_it[0] += times * (same is not None)
        of_it[1] += times * bool(same)
    columns = ["campaign_id", "assignment_id", "worker_id", "compared", "agreeing"]
    insert(AssignmentTally, columns, ([campaign.pk, *who, *of] for who, of in compared.items()))


def _count_pairs(campaign: Campaign, hits: Keys = None) -> None:
    """The other votes on a triplet are found by its index."""
    one = valid_judgments(campaign).alias(_other=F(f"{OTHER}worker"))
    one = one if hits is None else one.filter(assignment__hit__in=hits)
    both = Assignment.valid(one, campaign, path=f"{OTHER}assignment__")
    later = both.filter(_other__gt=F("worker"))  # type: ignore[misc]  # the alias above
    key = "assignment__hit__campaign_id", "assignment__hit_id", "worker_id", f"{OTHER}worker_id"
    counted = (
        later.order_by()
        .values_list(*key)
        .annotate(
            shared=Count("pk"),
            yes=Sum("value"),
            other_yes=Sum(f"{OTHER}value"),
            both_yes=Sum(F("value") * F(f"{OTHER}value"), output_field=IntegerField()),
        )
    )
    columns = ["shared", "yes", "other_yes", "both_yes"]
    insert_from_query(
        PairTally, ["campaign_id", "hit_id", "first_id", "second_id", *columns], counted
    )
