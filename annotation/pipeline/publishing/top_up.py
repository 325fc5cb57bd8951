"""Ask for the votes that are missing, as far as the budget reaches.

A triplet's next vote comes from the newest HIT that holds it: the crowd lets nobody take a HIT
twice, and a newer one bars the workers of those before. Where that HIT cannot grow, or the policy
breaks ties by repacking, the triplet goes into a new HIT.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Campaign, Hit, HitItem, OutboxMessage, Triplet
from annotation.pipeline.changes import in_parts, triplets_of
from annotation.pipeline.ledger.reservations import account_of, book, release_tie_reserve, reserve
from annotation.pipeline.outbox.messages import token
from annotation.pipeline.publishing.publish import ask_for_affordable, left_out, set_capped
from annotation.pipeline.publishing.repack import repack
from annotation.protocol.labels.majority import assignments_to_request, votes_wanted
from annotation.protocol.policy.crowds import CROWDED_HIT
from annotation.protocol.policy.policy import Policy
from core.files.bulk_insert import insert_alike

MANY = 1000


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
    """What is to be asked for; `repacked` are triplets that no HIT of theirs can serve, with it."""

    extensions: list[tuple[Hit, int]] = field(default_factory=list)
    repacked: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Requested:
    """Places asked for now, and HITs that a later pass has to look at again.

    None: whatever changed, for nothing may be asked for now.
    """

    places: int
    waiting: Collection[int] | None


def request_missing_votes(campaign: Campaign, changed: Sequence[int] | None = None) -> Requested:
    """In the caller's transaction, with the campaign locked.

    `changed`: the HITs that may want something. None: all.
    """
    if campaign.state == Campaign.State.CANCELLED:
        return Requested(0, ())
    if campaign.state == Campaign.State.PAUSED or not campaign.hit_type_id:
        return Requested(0, None)
    hits = _all_hits(campaign) if changed is None else _with_newer(campaign, changed)
    _release_tie_reserve(campaign, hits)
    # After that: it must not count on an assignment just given up.
    plan = missing_votes(campaign, hits)
    opened, unpaid = _extend(campaign, plan.extensions)
    more, unpaid_groups = repack(
        campaign, plan.repacked, nothing_comes=lambda: _nothing_comes(campaign)
    )
    if campaign.state == Campaign.State.CAPPED:
        ask_for_affordable(campaign)  # there may be room again
    set_capped(campaign, bool(unpaid or unpaid_groups or left_out(campaign)))
    still_open = Triplet.objects.filter(pk__in=plan.repacked, status=Triplet.Status.OPEN)
    lonely = {plan.repacked[pk] for pk in still_open.values_list("pk", flat=True)}
    return Requested(opened + more, {hit.pk for hit in unpaid} | lonely)


def missing_votes(campaign: Campaign, hits: Sequence[int] | None = None) -> Plan:
    """What is to be asked for, whatever the budget; read-only. `hits`: of these alone."""
    plan = Plan()
    policy = campaign.policy
    for wanting in _wanting(campaign, _all_hits(campaign) if hits is None else hits):
        _plan_hit(wanting, policy, plan)
    return plan


def _all_hits(campaign: Campaign) -> list[int]:
    return list(campaign.hits.order_by("pk").values_list("pk", flat=True))


def _with_newer(campaign: Campaign, hits: Sequence[int]) -> Sequence[int]:
    """Also the newer HITs that their triplets stand in: the next vote comes from those."""
    if not campaign.hits.filter(repack=True).exists():
        return hits
    others: set[int] = set()
    for some in in_parts(hits):
        same = HitItem.objects.filter(triplet__in=triplets_of(some))
        others |= set(same.values_list("hit_id", flat=True))
    return sorted(others | set(hits))


def _plan_hit(wanting: Wanting, policy: Policy, plan: Plan) -> None:
    hit = wanting.hit
    by_extension = dict(wanting.gaps)
    # Of a repacked HIT few triplets are unsure again, so that a new one costs less.
    if policy.tie_mode == "extend" or (hit.repack and not policy.is_adaptive):
        by_extension |= wanting.ties
    # The crowd lets no HIT of fewer than 10 assignments grow to 10 or more.
    most = CROWDED_HIT - 1 if hit.max_assignments < CROWDED_HIT else MANY
    room = 0 if wanting.superseded or hit.gone else most - hit.max_assignments
    extra = min(assignments_to_request(by_extension.values(), wanting.outstanding), room)
    if extra > 0:
        plan.extensions.append((hit, extra))
    elif not wanting.outstanding:
        plan.repacked |= dict.fromkeys(sorted(wanting.gaps | wanting.ties), hit.pk)


def _wanting(campaign: Campaign, hits: Sequence[int]) -> Iterator[Wanting]:
    """Those published with open triplets of which some work was reviewed, by number.

    Not those that have expired: a person decides whether they are prolonged.
    """
    alive = Q(closed_at=None) | Q(gone=True, expires_at__gt=F("closed_at"))
    newer_ones = campaign.hits.filter(repack=True).exists()
    for some in in_parts(hits):
        wanted = _wanted(some, campaign.policy, newer_ones=newer_ones)
        superseded = _superseded(some) if newer_ones else set()
        for hit, work in _with_work(campaign.hits.filter(alive, pk__in=wanted)):
            if work.reviewed:
                gaps, ties = wanted[hit.pk]
                yield Wanting(hit, work.outstanding, hit.pk in superseded, ties, gaps)


class Work(NamedTuple):
    """Of a HIT's assignments, how many are reviewed, and how many more may come."""

    reviewed: int
    outstanding: int


def _with_work(hits: QuerySet[Hit]) -> list[tuple[Hit, Work]]:
    """The published ones of these, by number; of a closed HIT no more comes than was submitted."""
    published = list(hits.exclude(crowd_id=None).order_by("number"))
    rows = Assignment.objects.filter(hit__in=[hit.pk for hit in published]).order_by()
    reviewed = Count("pk", filter=Q(passed__isnull=False))
    counted = rows.values_list("hit_id").annotate(submitted=Count("pk"), reviewed=reviewed)
    counts = {hit: (submitted, reviewed) for hit, submitted, reviewed in counted}
    with_work = []
    for hit in published:
        submitted, done = counts.get(hit.pk, (0, 0))
        most = hit.max_assignments if hit.closed_at is None else submitted
        # Others may have grown it at the crowd: then more is reviewed than was asked for.
        with_work.append((hit, Work(done, max(0, most - done))))
    return with_work


def _wanted(
    hits: Sequence[int], policy: Policy, *, newer_ones: bool
) -> dict[int, tuple[dict[int, int], dict[int, int]]]:
    """HIT -> its gaps and ties: triplets that want votes and stand in no newer HIT."""
    newer = HitItem.objects.filter(triplet=OuterRef("triplet"), hit_id__gt=OuterRef("hit_id"))
    items = HitItem.objects.filter(hit__in=hits, triplet__status=Triplet.Status.OPEN)
    rows = items.annotate(is_old=Exists(newer) if newer_ones else Value(False)).values_list(
        "hit_id", "triplet_id", "triplet__votes", "is_old"
    )
    wanted: defaultdict[int, tuple[dict[int, int], dict[int, int]]] = defaultdict(lambda: ({}, {}))
    for hit, triplet, votes, is_old in rows:
        gaps_and_ties = wanted[hit]
        if not is_old:
            tied = votes >= policy.annotators
            gaps_and_ties[tied][triplet] = votes_wanted(votes, policy)
    return wanted


def _superseded(hits: Sequence[int]) -> set[int]:
    items = HitItem.objects.filter(hit__in=hits, triplet__items__hit_id__gt=F("hit_id"))
    return set(items.values_list("hit_id", flat=True))


def _release_tie_reserve(campaign: Campaign, hits: Sequence[int]) -> None:
    """Of HITs on which nothing is outstanding and no tie is left that they could break."""
    reserving = campaign.hits.filter(tie_reserve__gt=0)
    if campaign.policy.tie_mode == "extend":
        open_items = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
        reserving = reserving.filter(~Exists(open_items))
    for some in in_parts(hits):
        done = _with_work(reserving.filter(pk__in=some))
        release_tie_reserve(campaign, [hit.pk for hit, work in done if not work.outstanding])


def _extend(campaign: Campaign, extensions: Sequence[tuple[Hit, int]]) -> tuple[int, list[Hit]]:
    """(assignments opened, HITs that the budget leaves waiting). The reserve is paid for."""
    account = account_of(campaign)
    left = account.available_cents
    growths = _growths(campaign, [hit for hit, _ in extensions])
    grown: list[Hit] = []
    unpaid: list[Hit] = []
    messages: list[tuple[str, int, int]] = []
    costly: dict[str, int] = {}  # token -> assignments to be paid for
    for hit, extra in extensions:
        new = extra - min(extra, hit.tie_reserve)
        if new * hit.price_cents > left:
            unpaid.append(hit)
            continue
        left -= new * hit.price_cents
        hit.max_assignments += extra
        hit.tie_reserve -= extra - new
        grown.append(hit)
        # The size the HIT grows to, and which growth it is: places that the crowd turns out not to
        # have are asked for again, and that is an effect of its own.
        name = token("extend", hit.key, hit.max_assignments, growths.get(hit.pk, 0))
        messages.append((name, hit.pk, extra))
        if new:
            costly[name] = new
    _grow(campaign, grown)
    example = OutboxMessage(campaign=campaign, kind=OutboxMessage.Kind.EXTEND)
    insert_alike(example, ["token", "hit_id", "new_assignments"], messages)
    for names in in_parts(list(costly)):
        buying = campaign.outbox.filter(token__in=names).select_related("hit").order_by("pk")
        book([reserve(account, message, assignments=costly[message.token]) for message in buying])
    return sum(extra for *_, extra in messages), unpaid


def _grow(campaign: Campaign, grown: Sequence[Hit]) -> None:
    """Store their assignments and their reserves for ties: few combinations, many HITs."""
    sizes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for hit in grown:
        sizes[hit.max_assignments, hit.tie_reserve].append(hit.pk)
    for (most, for_ties), hits in sizes.items():
        campaign.hits.filter(pk__in=hits).update(max_assignments=most, tie_reserve=for_ties)


def _growths(campaign: Campaign, hits: Sequence[Hit]) -> dict[int | None, int]:
    """HIT -> how often it was extended."""
    growths: dict[int | None, int] = {}
    for some in in_parts(hits):
        before = OutboxMessage.objects.filter(kind=OutboxMessage.Kind.EXTEND, hit__in=some)
        growths |= before.order_by().values_list("hit").annotate(times=Count("pk"))
    return growths


def _nothing_comes(campaign: Campaign) -> bool:
    """Whether all work that was asked for is reviewed, or can make no triplet wait for votes.

    Nobody has to take what is left of a HIT whose triplets are all decided.
    """
    asked = Q(outbox__kind=OutboxMessage.Kind.CREATE, outbox__state__in=["pending", "claimed"])
    if campaign.hits.filter(asked, crowd_id=None).exists():
        return False
    wanted = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
    work = Assignment.objects.filter(hit=OuterRef("pk")).order_by()
    reviewed = work.filter(passed__isnull=False).values("hit").annotate(count=Count("pk"))
    places = Q(closed_at=None, max_assignments__gt=Coalesce(Subquery(reviewed.values("count")), 0))
    coming = places | Q(Exists(work.filter(passed=None)), closed_at__isnull=False)
    return not campaign.hits.exclude(crowd_id=None).filter(coming, Exists(wanted)).exists()
