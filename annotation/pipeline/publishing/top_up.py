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
from django.db.models.functions import Greatest

from annotation.models import Campaign, Hit, HitItem, OutboxMessage, Triplet
from annotation.pipeline.ledger.reservations import account_of, book, release_tie_reserve, reserve
from annotation.pipeline.outbox.messages import token
from annotation.pipeline.publishing.publish import ask_for_affordable, left_out, set_capped
from annotation.pipeline.publishing.repack import repack
from annotation.protocol.labels.majority import assignments_to_request, decide_tally
from annotation.protocol.policy.crowds import CROWDED_HIT
from annotation.protocol.policy.policy import Policy

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

BATCH = 1000
MANY = 1000


class Counts(TypedDict):
    reviewed: int
    submitted: int
    outstanding: int


@dataclass
class Wanting:
    """A HIT whose triplets want votes."""

    hit: Hit
    outstanding: int  # assignments open, in somebody's hands or waiting for review
    superseded: bool  # one of its triplets stands in a newer HIT: it grows no more
    ties: dict[int, int] = field(default_factory=dict)  # triplet -> votes it wants
    gaps: dict[int, int] = field(default_factory=dict)  # with fewer votes than a first round


@dataclass
class Plan:
    """What is to be asked for; `repacked` are triplets that no HIT of theirs can serve."""

    extensions: list[tuple[Hit, int]] = field(default_factory=list)
    repacked: list[int] = field(default_factory=list)


def request_missing_votes(campaign: Campaign) -> int:
    """Places asked for now. In the caller's transaction, with the campaign locked."""
    if not campaign.hit_type_id:  # nobody has published it yet
        return 0
    if campaign.state not in (Campaign.State.ACTIVE, Campaign.State.CAPPED):
        return 0
    _release_tie_reserve(campaign)
    plan = missing_votes(campaign)  # after that: it must not count on an assignment just given up
    opened, unpaid = _extend(campaign, plan.extensions)
    more, unpaid_groups = repack(campaign, plan.repacked, nothing_comes=_nothing_comes(campaign))
    if campaign.state == Campaign.State.CAPPED:
        ask_for_affordable(campaign)  # there may be room again
    set_capped(campaign, bool(unpaid or unpaid_groups or left_out(campaign)))
    return opened + more


def missing_votes(campaign: Campaign) -> Plan:
    """What is to be asked for, whatever the budget; read-only."""
    plan = Plan()
    policy = campaign.policy
    for wanting in _wanting(campaign, policy):
        _plan_hit(wanting, policy, plan)
    return plan


def _plan_hit(wanting: Wanting, policy: Policy, plan: Plan) -> None:
    hit = wanting.hit
    by_extension = dict(wanting.gaps)
    if policy.tie_mode == "extend" or hit.repack:
        by_extension |= wanting.ties
    # The crowd lets no HIT of fewer than 10 assignments grow to 10 or more.
    most = CROWDED_HIT - 1 if hit.max_assignments < CROWDED_HIT else MANY
    room = 0 if wanting.superseded or hit.gone else most - hit.max_assignments
    extra = min(assignments_to_request(by_extension.values(), wanting.outstanding), room)
    if extra > 0:
        plan.extensions.append((hit, extra))
    elif not wanting.outstanding:
        plan.repacked += sorted(wanting.gaps | wanting.ties)


def _wanting(campaign: Campaign, policy: Policy) -> Iterator[Wanting]:
    """The published HITs with open triplets of which some work was reviewed, by number.

    Not those that have expired: a person decides whether they are prolonged.
    """
    superseded = _superseded(campaign)
    open_items = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
    alive = Q(closed_at=None) | Q(gone=True, expires_at__gt=F("closed_at"))
    hits = _with_outstanding(campaign).filter(alive, Exists(open_items), reviewed__gt=0)
    hits = hits.order_by("number")
    # Counted once: with each chunk, all of the campaign's assignments would be counted again.
    outstanding = dict(hits.values_list("pk", "outstanding"))
    for chunk in _chunks(campaign, list(outstanding)):
        wanted = _wanted(chunk, policy)
        for hit in chunk:
            if hit.pk in wanted:
                gaps, ties = wanted[hit.pk]
                yield Wanting(hit, outstanding[hit.pk], hit.pk in superseded, ties, gaps)


def _chunks(campaign: Campaign, hits: Sequence[int]) -> Iterator[list[Hit]]:
    """These HITs by number, some at a time."""
    ordered = campaign.hits.order_by("number")
    for start in range(0, len(hits), BATCH):
        yield list(ordered.filter(pk__in=hits[start : start + BATCH]))


def _with_outstanding(campaign: Campaign) -> "QuerySet[WithAnnotations[Hit, Counts]]":
    """With the counts `reviewed` and `outstanding`; of a closed HIT nothing is outstanding."""
    hits = campaign.hits.exclude(crowd_id=None)
    reviewed = Count("assignments", filter=Q(assignments__passed__isnull=False))
    submitted = Count("assignments")
    return hits.annotate(reviewed=reviewed, submitted=submitted).annotate(
        # Others may have grown it at the crowd: then more is reviewed than was asked for.
        outstanding=Greatest(
            0,
            Case(When(closed_at=None, then=F("max_assignments")), default=F("submitted"))
            - F("reviewed"),
        )
    )


def _wanted(
    hits: Sequence[Hit], policy: Policy
) -> dict[int, tuple[dict[int, int], dict[int, int]]]:
    """HIT -> its gaps and ties: triplets that want votes and stand in no newer HIT."""
    newer = HitItem.objects.filter(triplet=OuterRef("triplet"), hit_id__gt=OuterRef("hit_id"))
    items = HitItem.objects.filter(
        ~Exists(newer), hit__in=hits, triplet__status=Triplet.Status.OPEN
    )
    wanted: defaultdict[int, tuple[dict[int, int], dict[int, int]]] = defaultdict(lambda: ({}, {}))
    rows = items.values_list("hit_id", "triplet_id", "triplet__votes", "triplet__positive_votes")
    for hit, triplet, votes, positive in rows:
        tied = votes >= policy.annotators
        wanted[hit][tied][triplet] = decide_tally(votes, positive, policy).wanted
    return wanted


def _superseded(campaign: Campaign) -> set[int]:
    if not campaign.hits.filter(repack=True).exists():
        return set()
    items = HitItem.objects.filter(hit__campaign=campaign, triplet__items__hit_id__gt=F("hit_id"))
    return set(items.values_list("hit_id", flat=True))


def _release_tie_reserve(campaign: Campaign) -> None:
    """Of HITs on which nothing is outstanding and no tie is left that they could break."""
    done = _with_outstanding(campaign).filter(tie_reserve__gt=0, outstanding=0)
    if campaign.policy.tie_mode == "extend":
        open_items = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
        done = done.filter(~Exists(open_items))
    released = list(done.order_by("number").values_list("pk", flat=True))
    for chunk in _chunks(campaign, released):
        release_tie_reserve(campaign, chunk)


def _extend(campaign: Campaign, extensions: Sequence[tuple[Hit, int]]) -> tuple[int, int]:
    """(assignments opened, HITs that the budget leaves waiting). The reserve is paid for."""
    account = account_of(campaign)
    left = account.available_cents
    growths = _growths(campaign) if extensions else {}
    grown: list[Hit] = []
    messages: list[OutboxMessage] = []
    new_assignments: list[int] = []
    for hit, extra in extensions:
        new = extra - min(extra, hit.tie_reserve)
        if new * hit.price_cents > left:
            continue
        left -= new * hit.price_cents
        hit.max_assignments += extra
        hit.tie_reserve -= extra - new
        grown.append(hit)
        messages.append(_extension(campaign, hit, extra, growths.get(hit.pk, 0)))
        new_assignments.append(new)
    _grow(campaign, grown)
    messages = OutboxMessage.objects.bulk_create(messages, batch_size=BATCH)
    book(
        [
            reserve(account, message, assignments=new)
            for message, new in zip(messages, new_assignments, strict=True)
            if new
        ]
    )
    return sum(message.new_assignments for message in messages), len(extensions) - len(grown)


def _grow(campaign: Campaign, grown: Sequence[Hit]) -> None:
    """Store their assignments and their reserves for ties: few combinations, many HITs."""
    sizes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for hit in grown:
        sizes[hit.max_assignments, hit.tie_reserve].append(hit.pk)
    for (most, for_ties), hits in sizes.items():
        campaign.hits.filter(pk__in=hits).update(max_assignments=most, tie_reserve=for_ties)


def _growths(campaign: Campaign) -> dict[int | None, int]:
    """HIT -> how often it was extended."""
    before = campaign.outbox.filter(kind=OutboxMessage.Kind.EXTEND).order_by().values_list("hit")
    return dict(before.annotate(times=Count("pk")))


def _extension(campaign: Campaign, hit: Hit, extra: int, growth: int) -> OutboxMessage:
    """The token names the size the HIT grows to, and which growth it is.

    Places that the crowd turns out not to have are asked for again: that is an effect of its own.
    """
    return OutboxMessage(
        campaign=campaign,
        kind=OutboxMessage.Kind.EXTEND,
        token=token("extend", hit.key, hit.max_assignments, growth),
        hit=hit,
        new_assignments=extra,
    )


def _nothing_comes(campaign: Campaign) -> bool:
    """Whether all work that was asked for is reviewed, or can make no triplet wait for votes.

    Nobody has to take what is left of a HIT whose triplets are all decided.
    """
    asked = Q(outbox__kind=OutboxMessage.Kind.CREATE, outbox__state__in=["pending", "claimed"])
    if campaign.hits.filter(asked, crowd_id=None).exists():
        return False
    wanted = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
    return not _with_outstanding(campaign).filter(Exists(wanted), outstanding__gt=0).exists()
