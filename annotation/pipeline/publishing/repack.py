"""Triplets that lack a vote, into new HITs of one assignment, closed to their workers."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import nsmallest
from itertools import cycle, islice
from math import ceil

from django.db.models import Count, Exists, Max, OuterRef, Q

from annotation.models import (
    Assignment,
    Campaign,
    Control,
    Hit,
    HitItem,
    OutboxMessage,
    Posterior,
    Triplet,
    Worker,
)
from annotation.pipeline.controls.own_controls import is_packed_with_own, own_controls
from annotation.pipeline.labelling.label import claims_of
from annotation.pipeline.labelling.reveals import reveal_values
from annotation.pipeline.ledger.reservations import account_of, book, reserve, within
from annotation.pipeline.ledger.settlements import excluded_workers
from annotation.pipeline.outbox.messages import create_message, token
from annotation.pipeline.publishing.pack import (
    controls_by_name,
    create_items,
    hit_key,
    positive_names,
)
from annotation.protocol.estimates.cost import assignment_cents
from annotation.protocol.packing.own_controls import Turns, own_hit, own_needed
from annotation.protocol.packing.pack import (
    HitSpec,
    PackingError,
    TripletRef,
    negatives_needed,
    positives_needed,
)
from annotation.protocol.packing.repack import Group, OpenTriplet, pack_group, regroup
from core.errors import UserError

ASSIGNMENTS = 1  # of a HIT of repacked triplets
BATCH = 1000
Kind = Control.Kind


def repack(
    campaign: Campaign, triplets: Collection[int], *, nothing_comes: Callable[[], bool]
) -> tuple[int, int]:
    """(assignments asked for, groups that wait for the next pass or for a higher budget).

    The campaign is locked. Groups that are not full wait for companions until `nothing_comes`.
    """
    if not triplets:
        return 0, 0
    policy, account = campaign.policy, account_of(campaign)
    price = assignment_cents(policy, ASSIGNMENTS)
    most = ceil(len(triplets) / policy.real_items)
    room = within(account, most, cents=price)
    left_out = most - room if policy.is_adaptive else 0
    if left_out:
        triplets = _first_bought(campaign, triplets, room * policy.real_items)
    wanting = _open_triplets(campaign, triplets)
    regrouped = regroup(wanting, policy, flush=nothing_comes())
    impossible = [int(triplet.key) for triplet in regrouped.impossible]
    # More people have judged these than a HIT can bar: nobody is left to ask.
    Triplet.objects.filter(pk__in=impossible).update(status=Triplet.Status.UNRESOLVED)
    affordable = within(account, len(regrouped.groups), cents=price)
    groups = regrouped.groups[:affordable]
    if groups:
        _make_known(campaign)
        _ask_for(campaign, groups, price)
    return len(groups), left_out + len(regrouped.groups) - len(groups)


def _first_bought(campaign: Campaign, triplets: Collection[int], count: int) -> Collection[int]:
    """Those that the rest of the budget is best spent on."""
    claims = claims_of(campaign)
    rows = Posterior.objects.filter(triplet__in=triplets).values_list("triplet", "log_odds")
    confidence = {triplet: claims.confidence(log_odds) for triplet, log_odds in rows}
    places: Mapping[int, int] = {}
    if campaign.policy.bought_first == "top_ranks":
        places = _places(triplets)
    return nsmallest(
        count, triplets, key=lambda one: (places.get(one, 0), confidence.get(one, 0.0), one)
    )


def _places(triplets: Collection[int]) -> dict[int, int]:
    """Their ranks; 0 of what seems to be its query's only positive."""
    ranks = Triplet.objects.filter(pk__in=triplets).values_list("pk", "candidate__rank")
    likely = Posterior.objects.filter(log_odds__gt=0).order_by()
    here = Triplet.objects.filter(pk__in=triplets).values("candidate__query")
    by_query = likely.filter(triplet__candidate__query__in=here).values("triplet__candidate__query")
    alone = by_query.annotate(many=Count("pk"), only=Max("triplet")).filter(many=1)
    return {**dict(ranks), **dict.fromkeys(alone.values_list("only", flat=True), 0)}


def _open_triplets(campaign: Campaign, triplets: Collection[int]) -> list[OpenTriplet]:
    """With the workers who have had them in hand and may still work."""
    items = HitItem.objects.filter(triplet__in=triplets)
    pairs = items.values_list("triplet_id", "hit__assignments__worker_id")
    earlier: defaultdict[int, set[int]] = defaultdict(set)
    for triplet, worker in pairs.exclude(hit__assignments=None):
        if triplet is not None:
            earlier[triplet].add(worker)
    out = excluded_workers(campaign)
    rows = Triplet.objects.filter(pk__in=triplets).values_list("pk", "candidate__query__key")
    # Keys of one length sort as their numbers do.
    return [OpenTriplet(f"{pk:020}", query, frozenset(earlier[pk] - out)) for pk, query in rows]


def _make_known(campaign: Campaign) -> None:
    """Repacked HITs are for workers with reviewed work: each of them gets the qualification."""
    reviewed = Assignment.objects.filter(
        worker=OuterRef("pk"), hit__campaign=campaign, passed__isnull=False
    )
    sent = campaign.outbox.filter(kind=OutboxMessage.Kind.KNOW, worker=OuterRef("pk"))
    workers = Worker.objects.filter(Exists(reviewed), ~Exists(sent)).order_by("pk")
    out = excluded_workers(campaign)
    OutboxMessage.objects.bulk_create(
        [
            OutboxMessage(
                campaign=campaign,
                kind=OutboxMessage.Kind.KNOW,
                token=token("know", campaign.uid.hex, worker.pk),
                worker=worker,
            )
            for worker in workers
            if worker.pk not in out
        ]
    )


def _ask_for(campaign: Campaign, groups: Sequence[Group], price: int) -> None:
    """The HITs, their messages and their money."""
    last = campaign.hits.aggregate(last=Max("number"))["last"]
    instructions = campaign.instructions.latest("version")
    try:
        specs = _specs(campaign, groups, first=last + 1)
    except PackingError as error:
        raise UserError(f"No HIT of repacked triplets can be made: {error}") from error
    hits = Hit.objects.bulk_create(
        [
            Hit(
                campaign=campaign,
                key=hit_key(campaign, number),
                number=number,
                seed=spec.seed,
                instructions=instructions,
                max_assignments=ASSIGNMENTS,
                price_cents=price,
                repack=True,
                excluded_workers=list(group.excluded_workers),
            )
            for number, (group, spec) in enumerate(zip(groups, specs, strict=True), start=last + 1)
        ],
        batch_size=BATCH,
    )
    triplets = {one.key: int(one.key) for group in groups for one in group.triplets}
    packed = ((hit.pk, hit.key, spec) for hit, spec in zip(hits, specs, strict=True))
    create_items(packed, triplets, controls_by_name(campaign))
    messages = OutboxMessage.objects.bulk_create(
        [create_message(campaign, hit) for hit in hits], batch_size=BATCH
    )
    account = account_of(campaign)
    book([reserve(account, message, assignments=ASSIGNMENTS) for message in messages])


def _specs(campaign: Campaign, groups: Sequence[Group], *, first: int) -> list[HitSpec]:
    """Each with controls whose answers nobody was told, as long as there are enough; of the
    negatives those that serve in no other HIT first.
    """
    policy = campaign.policy
    if is_packed_with_own(campaign):
        return _own_specs(campaign, groups, first)
    sizes = [len(group.triplets) for group in groups]
    most = max(positives_needed(size, policy) for size in sizes)
    positives = unrevealed(campaign, positive_names(policy.task), Kind.POSITIVE, fewest=most)
    turns = cycle(_negatives(campaign, max(negatives_needed(size, policy) for size in sizes)))
    return [
        pack_group(
            group,
            positives=positives,
            negatives=sorted(islice(turns, negatives_needed(len(group.triplets), policy))),
            policy=policy,
            seed=_seed(campaign, number),
        )
        for number, group in enumerate(groups, start=first)
    ]


def _own_specs(campaign: Campaign, groups: Sequence[Group], first: int) -> list[HitSpec]:
    """Of the campaign's own controls those least in use, however few: the round must go on."""
    policy = campaign.policy
    needed = [own_needed(len(group.triplets), policy) for group in groups]
    positives, negatives = map(max, zip(*needed, strict=True))
    turns = (
        Turns(own_controls(campaign, Kind.POSITIVE, fewest=positives)),
        Turns(own_controls(campaign, Kind.NEGATIVE, fewest=negatives)),
    )
    specs = []
    for number, group in enumerate(groups, start=first):
        refs = [TripletRef(one.key, one.query, rank=0) for one in group.triplets]
        seed = _seed(campaign, number)
        specs.append(own_hit(refs, *turns, policy=policy, seed=seed))
    return specs


def _seed(campaign: Campaign, number: int) -> int:
    digest = hashlib.sha256(f"repack:{campaign.seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:6])


def _negatives(campaign: Campaign, fewest: int) -> list[str]:
    """Those least in use first."""
    own = campaign.controls.filter(kind=Kind.NEGATIVE, drafted=False, retired_at=None)
    used = own.annotate(used=Count("items")).order_by("used", "key")
    names = list(used.values_list("key", flat=True))
    return unrevealed(campaign, names, Kind.NEGATIVE, fewest=fewest)


def unrevealed(campaign: Campaign, names: Sequence[str], kind: Kind, *, fewest: int) -> list[str]:
    """Without those whose answer somebody of the campaign knows; they come last, up to `fewest`."""
    here = Q(item__hit__campaign=campaign, item__control__kind=kind)
    revealed = {key for (key,) in reveal_values("item__control__key", which=here)}
    fresh = [name for name in names if name not in revealed]
    known = [name for name in names if name in revealed]
    return [*fresh, *known[: max(0, fewest - len(fresh))]]
