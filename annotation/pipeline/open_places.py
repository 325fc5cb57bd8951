"""Ask for the votes that are missing, as far as the budget reaches.

A triplet's next vote comes from the newest HIT that holds it: the crowd lets nobody take a HIT
twice, and a newer one bars the workers of those before. Where that HIT cannot grow, or the policy
breaks ties by repacking, the triplet goes into a new HIT.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, When

from annotation.models import Campaign, Hit, HitItem, Intent, Triplet
from annotation.pipeline.ledger import account_of, book, release_spare, reserve
from annotation.pipeline.publish import ask_for_affordable, left_out, set_capped, token
from annotation.pipeline.repack import repack
from annotation.protocol.policy import CROWDED_HIT, Policy
from annotation.protocol.vote import decide_tally, places_to_open

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

BATCH = 1000
MANY = 1000


class Counts(TypedDict):
    reviewed: int
    handed_in: int
    outstanding: int


@dataclass
class Wanting:
    """A HIT whose triplets want votes."""

    hit: Hit
    outstanding: int  # places open, in somebody's hands or waiting for review
    superseded: bool  # one of its triplets stands in a newer HIT: it grows no more
    ties: dict[int, int] = field(default_factory=dict)  # triplet -> votes it wants
    gaps: dict[int, int] = field(default_factory=dict)  # with fewer votes than a first round


@dataclass
class Plan:
    """What is to be asked for; `repacked` are triplets that no HIT of theirs can serve."""

    extensions: list[tuple[Hit, int]] = field(default_factory=list)
    repacked: list[int] = field(default_factory=list)


def open_places(campaign: Campaign) -> int:
    """Places asked for now. In the caller's transaction, with the campaign locked."""
    if campaign.state not in (Campaign.State.ACTIVE, Campaign.State.CAPPED):
        return 0
    plan = _plan(campaign)
    _release_spares(campaign)
    opened, unpaid = _extend(campaign, plan.extensions)
    more, unpaid_groups = repack(campaign, plan.repacked, nothing_comes=_nothing_comes(campaign))
    if campaign.state == Campaign.State.CAPPED:
        ask_for_affordable(campaign)  # there may be room again
    set_capped(campaign, bool(unpaid or unpaid_groups or left_out(campaign)))
    return opened + more


def _plan(campaign: Campaign) -> Plan:
    plan = Plan()
    for wanting in _wanting(campaign):
        _plan_hit(wanting, campaign.policy, plan)
    return plan


def _plan_hit(wanting: Wanting, policy: Policy, plan: Plan) -> None:
    hit = wanting.hit
    by_extension = dict(wanting.gaps)
    if policy.tie_mode == "extend" or hit.repack:
        by_extension |= wanting.ties
    # The crowd lets no HIT of fewer than 10 places grow to 10 or more.
    most = CROWDED_HIT - 1 if policy.annotators < CROWDED_HIT else MANY
    room = 0 if wanting.superseded or hit.gone else most - hit.places
    extra = min(places_to_open(by_extension.values(), wanting.outstanding), room)
    if extra > 0:
        plan.extensions.append((hit, extra))
    elif not wanting.outstanding:
        plan.repacked += sorted(wanting.gaps | wanting.ties)


def _wanting(campaign: Campaign) -> Iterator[Wanting]:
    """The published HITs with open triplets of which some work was reviewed, by number.

    Not those that have expired: a person decides whether they are prolonged.
    """
    superseded = _superseded(campaign)
    open_items = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
    alive = Q(closed_at=None) | Q(gone=True)
    hits = _with_outstanding(campaign).filter(alive, Exists(open_items), reviewed__gt=0)
    last = 0
    while chunk := list(hits.filter(number__gt=last).order_by("number")[:BATCH]):
        last = chunk[-1].number
        wanted = _wanted(chunk, campaign.policy)
        for hit in chunk:
            if hit.pk in wanted:
                gaps, ties = wanted[hit.pk]
                yield Wanting(hit, hit.outstanding, hit.pk in superseded, ties, gaps)


def _with_outstanding(campaign: Campaign) -> "QuerySet[WithAnnotations[Hit, Counts]]":
    """With the counts `reviewed` and `outstanding`; of a closed HIT nothing is outstanding."""
    hits = campaign.hits.exclude(crowd_id=None)
    reviewed = Count("assignments", filter=Q(assignments__passed__isnull=False))
    handed_in = Count("assignments")
    return hits.annotate(reviewed=reviewed, handed_in=handed_in).annotate(
        outstanding=Case(When(closed_at=None, then=F("places")), default=F("handed_in"))
        - F("reviewed")
    )


def _wanted(
    hits: Sequence[Hit], policy: Policy
) -> dict[int, tuple[dict[int, int], dict[int, int]]]:
    """HIT -> its gaps and ties: triplets that want votes and stand in no newer HIT."""
    newer = HitItem.objects.filter(triplet=OuterRef("triplet"), hit_id__gt=OuterRef("hit_id"))
    items = HitItem.objects.filter(
        ~Exists(newer), hit__in=hits, triplet__status=Triplet.Status.OPEN
    )
    found: defaultdict[int, tuple[dict[int, int], dict[int, int]]] = defaultdict(lambda: ({}, {}))
    rows = items.values_list("hit_id", "triplet_id", "triplet__votes", "triplet__positive_votes")
    for hit, triplet, votes, positive in rows:
        tied = votes >= policy.annotators
        found[hit][tied][triplet] = decide_tally(votes, positive, policy).wanted
    return found


def _superseded(campaign: Campaign) -> set[int]:
    if not campaign.hits.filter(repack=True).exists():
        return set()
    items = HitItem.objects.filter(hit__campaign=campaign, triplet__items__hit_id__gt=F("hit_id"))
    return set(items.values_list("hit_id", flat=True))


def _release_spares(campaign: Campaign) -> None:
    """Of HITs on which nothing is outstanding and no tie is left that they could break."""
    done = _with_outstanding(campaign).filter(spare__gt=0, outstanding=0)
    if campaign.policy.tie_mode == "extend":
        open_items = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
        done = done.filter(~Exists(open_items))
    while chunk := list(done.order_by("number")[:BATCH]):
        release_spare(campaign, chunk)


def _extend(campaign: Campaign, extensions: Sequence[tuple[Hit, int]]) -> tuple[int, int]:
    """(places opened, HITs that the budget leaves waiting). Spare places are paid for already."""
    account = account_of(campaign)
    left = account.available_cents
    grown: list[Hit] = []
    intents: list[Intent] = []
    new_places: list[int] = []
    for hit, extra in extensions:
        new = extra - min(extra, hit.spare)
        if new * hit.price_cents > left:
            continue
        left -= new * hit.price_cents
        hit.places += extra
        hit.spare -= extra - new
        grown.append(hit)
        intents.append(_extension(campaign, hit, extra))
        new_places.append(new)
    Hit.objects.bulk_update(grown, ["places", "spare"], batch_size=BATCH)
    intents = Intent.objects.bulk_create(intents, batch_size=BATCH)
    book(
        [
            reserve(account, intent, places=new)
            for intent, new in zip(intents, new_places, strict=True)
            if new
        ]
    )
    return sum(intent.places for intent in intents), len(extensions) - len(grown)


def _extension(campaign: Campaign, hit: Hit, extra: int) -> Intent:
    """The token names the size the HIT grows to: each growth is its own effect."""
    return Intent(
        campaign=campaign,
        kind=Intent.Kind.EXTEND,
        token=token("extend", hit.key, hit.places),
        hit=hit,
        places=extra,
    )


def _nothing_comes(campaign: Campaign) -> bool:
    """Whether all work that was asked for is reviewed."""
    asked = Q(intents__kind=Intent.Kind.CREATE, intents__state__in=["pending", "claimed"])
    if campaign.hits.filter(asked, crowd_id=None).exists():
        return False
    return not _with_outstanding(campaign).filter(outstanding__gt=0).exists()
