"""Tallies of the votes, which a campaign's figures are summed from: no judgment is walked again.

They are brought up to date when figures are taken, in the HITs that have changed and wherever
triplets of theirs stand.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from typing import TypeVar

from django.db import transaction
from django.db.models import Count, F, IntegerField, QuerySet, Sum

from annotation.models import (
    Assignment,
    AssignmentTally,
    Campaign,
    ChangedHit,
    Exclusion,
    HitItem,
    PairTally,
    TripletTally,
    UntalliedHit,
)
from annotation.models.figures import Tally
from annotation.pipeline.changes import in_parts, is_most, triplets_of
from annotation.pipeline.labelling.votes import (
    ROWS,
    compared_judgments,
    first_votes,
    valid_judgments,
)
from annotation.protocol.screening.peer_agreement import agrees, beside_peers
from core.files.bulk_insert import insert, insert_from_query

KINDS: Sequence[type[Tally]] = (TripletTally, AssignmentTally, PairTally)
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
    new = dict(_new(campaign).values_list("pk", "hit_id"))
    hits = sorted({*new.values(), *_followed(campaign).values_list("hit_id", flat=True)})
    if is_most(campaign, hits):
        _count_again(campaign)
    else:
        for some in in_parts(hits):
            _count_around(campaign, some)
    for marks in in_parts(list(new), ROWS):
        ChangedHit.objects.filter(pk__in=marks).update(tallied=True)
    _followed(campaign).delete()


def _new(campaign: Campaign) -> QuerySet[ChangedHit]:
    """What no pass has followed yet counts as it is now, and once more after that pass."""
    return ChangedHit.objects.filter(hit__campaign=campaign, waits=False, tallied=False)


def _followed(campaign: Campaign) -> QuerySet[UntalliedHit]:
    return UntalliedHit.objects.filter(hit__campaign=campaign)


@transaction.atomic
def count_all_again(campaign: Campaign) -> int:
    """How many tallies were not what follows from the votes; now all are."""
    bring_up_to_date(campaign)
    before = [_contents(campaign, kind) for kind in KINDS]
    _count_again(campaign)
    after = [_contents(campaign, kind) for kind in KINDS]
    return sum(max(len(was - now), len(now - was)) for was, now in zip(before, after, strict=True))


def _contents(campaign: Campaign, kind: type[Tally]) -> set[tuple[object, ...]]:
    columns = [field.attname for field in kind._meta.concrete_fields if not field.primary_key]
    return set(kind._default_manager.filter(campaign=campaign).values_list(*columns))


def _count_again(campaign: Campaign) -> None:
    for kind in KINDS:
        kind._default_manager.filter(campaign=campaign).delete()
    _count_triplets(campaign)
    _count_assignments(campaign)
    _count_pairs(campaign)


def _count_around(campaign: Campaign, hits: Sequence[int]) -> None:
    """Whatever follows from votes in these HITs, and from others' on their triplets."""
    triplets = triplets_of(hits)
    TripletTally.objects.filter(triplet__in=triplets).delete()
    _count_triplets(campaign, triplets)

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


def _count_assignments(campaign: Campaign, hits: Keys = None) -> None:
    excluded = set(Exclusion.in_force(campaign).values_list("worker_id", flat=True))
    judgments = compared_judgments(campaign).order_by()
    judgments = judgments if hits is None else judgments.filter(assignment__hit__in=hits)
    tally = "value", "triplet__votes", "triplet__positive_votes"
    rows = judgments.values_list("assignment_id", "worker_id", *tally).annotate(Count("pk"))

    @cache  # few combinations, many votes
    def is_agreeing(value: int, votes: int, positive: int, *, counts: bool) -> bool | None:
        return agrees(beside_peers(value, votes, positive, counts=counts))

    compared: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for assignment, worker, *tally_of, times in rows.iterator(chunk_size=ROWS):
        same, of_it = is_agreeing(*tally_of, counts=worker not in excluded), compared[assignment]
        of_it[0] += times * (same is not None)
        of_it[1] += times * bool(same)
    columns = ["campaign_id", "assignment_id", "compared", "agreeing"]
    insert(AssignmentTally, columns, ([campaign.pk, pk, *of] for pk, of in compared.items()))


def _count_pairs(campaign: Campaign, hits: Keys = None) -> None:
    """The other votes on a triplet are found by its index."""
    one = valid_judgments(campaign).alias(_other=F(f"{OTHER}worker"))
    one = one if hits is None else one.filter(assignment__hit__in=hits)
    both = Assignment.valid(one, campaign, f"{OTHER}assignment__")
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
