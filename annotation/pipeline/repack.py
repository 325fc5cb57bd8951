"""Triplets that lack a vote, into new HITs of one place that none of their workers may take."""

import hashlib
from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, Exists, Max, OuterRef

from annotation.models import (
    Assignment,
    Campaign,
    Control,
    Hit,
    HitItem,
    Intent,
    Triplet,
    Worker,
)
from annotation.pipeline.assemble import create_items
from annotation.pipeline.ledger import account_of, book, excluded_workers, reserve
from annotation.pipeline.publish import create_intent, token
from annotation.protocol.cost import assignment_cents
from annotation.protocol.packing import negatives_needed
from annotation.protocol.repack import Group, OpenTriplet, pack_group, regroup

PLACES = 1  # of a HIT of repacked triplets


def repack(
    campaign: Campaign, triplets: Collection[int], *, nothing_comes: bool
) -> tuple[int, int]:
    """(places asked for, groups that the budget leaves waiting). The campaign is locked.

    Groups that are not full wait for companions until `nothing_comes` any more.
    """
    if not triplets:
        return 0, 0
    wanting = _open_triplets(campaign, triplets)
    found = regroup(wanting, campaign.policy, flush=nothing_comes)
    impossible = [int(triplet.key) for triplet in found.impossible]
    # More people have judged these than a HIT can bar: nobody is left to ask.
    Triplet.objects.filter(pk__in=impossible).update(status=Triplet.Status.UNRESOLVED)
    price = assignment_cents(campaign.policy, PLACES)
    affordable = max(0, account_of(campaign).available_cents) // price
    groups = found.groups[:affordable]
    if groups:
        _make_known(campaign)
    for group in groups:
        _ask_for(campaign, group, price)
    return len(groups), len(found.groups) - len(groups)


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
    told = campaign.intents.filter(kind=Intent.Kind.KNOW, worker=OuterRef("pk"))
    workers = Worker.objects.filter(Exists(reviewed), ~Exists(told)).order_by("pk")
    out = excluded_workers(campaign)
    Intent.objects.bulk_create(
        [
            Intent(
                campaign=campaign,
                kind=Intent.Kind.KNOW,
                token=token("know", campaign.uid.hex, worker.pk),
                worker=worker,
            )
            for worker in workers
            if worker.pk not in out
        ]
    )


def _ask_for(campaign: Campaign, group: Group, price: int) -> None:
    """The HIT, its intent and its money."""
    last = campaign.hits.aggregate(last=Max("number"))["last"]
    number = last + 1
    seed = _seed(campaign, number)
    positives = _positives()
    negatives = _negatives(campaign, negatives_needed(len(group.triplets), campaign.policy))
    spec = pack_group(
        group,
        positives=sorted(positives),
        negatives=sorted(negatives),
        policy=campaign.policy,
        seed=seed,
    )
    hit = Hit.objects.create(
        campaign=campaign,
        key=f"{campaign.uid.hex[:16]}-{number:06d}",
        number=number,
        seed=spec.seed,
        instructions=campaign.instructions.latest("version"),
        places=PLACES,
        price_cents=price,
        repack=True,
        barred=list(group.barred),
    )
    triplets = {triplet.key: int(triplet.key) for triplet in group.triplets}
    controls = {("positive", key): pk for key, pk in positives.items()}
    controls |= {("negative", key): pk for key, pk in negatives.items()}
    create_items([(hit.pk, hit.key, spec)], triplets, controls)
    intent = create_intent(campaign, hit)
    intent.save()
    book([reserve(account_of(campaign), intent, places=PLACES)])


def _seed(campaign: Campaign, number: int) -> int:
    digest = hashlib.sha256(f"repack:{campaign.seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:6])


def _positives() -> dict[str, int]:
    pool = Control.objects.filter(kind=Control.Kind.POSITIVE, campaign=None)
    return dict(pool.values_list("key", "pk"))


def _negatives(campaign: Campaign, count: int) -> dict[str, int]:
    """Those least in use: fresh ones as long as there are any."""
    own = Control.objects.filter(kind=Control.Kind.NEGATIVE, campaign=campaign)
    used = own.annotate(used=Count("items")).order_by("used", "key")
    return dict(used.values_list("key", "pk")[:count])
