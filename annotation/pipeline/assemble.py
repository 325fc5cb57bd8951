"""Pack a campaign's candidates into HITs with controls."""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from django.db import transaction
from django.db.models import Q

from annotation.models import Campaign, Control, Hit, HitItem, Triplet
from annotation.protocol.cost import PAPER_AGREEMENT, assignment_cents
from annotation.protocol.packing import (
    HitSpec,
    ItemSpec,
    PackingError,
    TripletRef,
    draw_negatives,
    negatives_needed,
    pack,
)
from annotation.protocol.policy import Policy
from retrieval.errors import UserError
from retrieval.models import Candidate, QaPair
from retrieval.progress import Progress, no_progress
from retrieval.search import current_index, pair_vectors

BATCH = 2000


@dataclass(frozen=True)
class Packed:
    triplets: int
    hits: int
    already: bool  # packed by an earlier run


def pack_campaign(campaign: Campaign, *, progress: Progress = no_progress) -> Packed:
    """Make the campaign's triplets, negative controls and HITs in one transaction, once."""
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
        if hits := campaign.hits.count():
            return Packed(campaign.triplets.count(), hits, already=True)
        refs = _triplet_refs(campaign)
        try:
            specs = _specs(campaign, list(refs))
        except PackingError as error:
            raise UserError(str(error)) from error
        triplets = _create_triplets(campaign, refs)
        _create_hits(campaign, specs, triplets, progress)
    return Packed(len(refs), len(specs), already=False)


def _triplet_refs(campaign: Campaign) -> dict[TripletRef, int]:
    """Every candidate of the campaign -> its primary key; refuses queries that lack candidates."""
    wanted = campaign.policy.candidates_per_query
    rows = (
        Candidate.objects.filter(query__query_set=campaign.query_set_id)
        .order_by("query__key", "rank")
        .values_list("pk", "query__key", "rank")
    )
    refs = {TripletRef(f"{query}:{rank:03d}", query, rank): pk for pk, query, rank in rows}
    expected = campaign.query_set.queries.count() * wanted
    if not refs or len(refs) != expected:
        raise UserError(
            f"Campaign {campaign} has {len(refs)} candidates where its policy wants {expected}: "
            f"run `manage.py campaign retrieve {campaign}` first."
        )
    return refs


def _specs(campaign: Campaign, refs: list[TripletRef]) -> list[HitSpec]:
    policy = campaign.policy
    pool = Control.objects.filter(kind=Control.Kind.POSITIVE, campaign=None)
    positives = list(pool.order_by("key").values_list("key", flat=True))
    needed = negatives_needed(len(refs), policy)
    more = _negatives_for_ties(len(refs), policy)
    # pack() refuses a pool that is too small: ask it before the negatives are written.
    names = [f"n{number:06d}" for number in range(1, needed + more + 1)]
    specs = pack(
        refs, positives=positives, negatives=names[:needed], policy=policy, seed=campaign.seed
    )
    _create_negatives(campaign, names)
    return specs


def _negatives_for_ties(triplets: int, policy: Policy) -> int:
    """Controls for HITs of repacked triplets, drawn while the index is at hand."""
    tied = math.ceil(triplets * (1 - PAPER_AGREEMENT)) if policy.tie_mode == "repack" else 0
    # Any campaign may have to repack a triplet whose HIT cannot grow.
    return max(negatives_needed(tied, policy), negatives_needed(1, policy))


def _create_negatives(campaign: Campaign, names: list[str]) -> None:
    """Random pairs of unrelated questions, each used in one HIT."""
    _check_index(campaign)
    pairs = _random_pairs(campaign, wanted=4 * len(names) + 50)
    near = _Nearness(list(pairs.values()), campaign.policy)
    drawn = draw_negatives(sorted(pairs), count=len(names), seed=campaign.seed, too_near=near)
    Control.objects.bulk_create(
        [
            Control(
                kind=Control.Kind.NEGATIVE,
                campaign=campaign,
                key=name,
                query=pairs[first].question,
                question=pairs[second].question,
                answer=pairs[second].answer,
            )
            for name, (first, second) in zip(names, drawn, strict=True)
        ],
        batch_size=BATCH,
    )


def _check_index(campaign: Campaign) -> None:
    """Near and far are told by the model that found the candidates, or by none."""
    then, now = campaign.query_set.retrieved_with, current_index()
    assert then is not None  # there are candidates
    if (then.model, then.form) != (now.model, now.form):
        raise UserError(
            f"The candidates of {campaign} were found with {then.model} ({then.form}), but the "
            f"index is of {now.model} ({now.form}) now: run `manage.py index --model {then.model} "
            f"--form {then.form}` first."
        )


def _random_pairs(campaign: Campaign, *, wanted: int) -> dict[str, QaPair]:
    """A seeded sample of the database, by pair key.

    Pair keys are hashes, so a run of them from a random start is a random sample: one index scan,
    the same rows whatever order they were stored in.
    """
    start = hashlib.sha256(f"negatives:{campaign.seed}".encode()).hexdigest()
    held_out = campaign.query_set.queries.values("question_key")
    rows = QaPair.objects.exclude(question_key__in=held_out).order_by("pair_key")
    chosen = list(rows.filter(pair_key__gte=start)[:wanted])
    chosen += rows.filter(pair_key__lt=start)[: wanted - len(chosen)]
    return {pair.pair_key: pair for pair in chosen}


class _Nearness:
    """Whether two questions are too near for a negative control: by vector, or by a shared word."""

    def __init__(self, pairs: list[QaPair], policy: Policy) -> None:
        self._row = {pair.pair_key: row for row, pair in enumerate(pairs)}
        self._words = [set(re.findall(r"\w{5,}", pair.question.casefold())) for pair in pairs]
        self._vectors = pair_vectors([pair.pk for pair in pairs])
        self._limit = policy.negative_max_cosine

    def __call__(self, first: str, second: str) -> bool:
        a, b = self._row[first], self._row[second]
        if not self._words[a].isdisjoint(self._words[b]):
            return True
        return float(self._vectors[a] @ self._vectors[b]) > self._limit


def _create_triplets(campaign: Campaign, refs: dict[TripletRef, int]) -> dict[str, int]:
    """The triplet's key -> its primary key."""
    rows = (Triplet(campaign=campaign, candidate_id=candidate) for candidate in refs.values())
    keys: list[int] = []
    while batch := list(islice(rows, BATCH)):
        keys += [triplet.pk for triplet in Triplet.objects.bulk_create(batch)]
    return {ref.key: pk for ref, pk in zip(refs, keys, strict=True)}


def _create_hits(
    campaign: Campaign, specs: list[HitSpec], triplets: dict[str, int], progress: Progress
) -> None:
    controls = _controls_by_name(campaign)
    instructions = campaign.instructions.latest("version")
    price = assignment_cents(campaign.policy)
    for start in range(0, len(specs), BATCH):
        batch = specs[start : start + BATCH]
        hits = Hit.objects.bulk_create(
            [
                Hit(
                    campaign=campaign,
                    key=f"{campaign.uid.hex[:16]}-{number:06d}",
                    number=number,
                    seed=spec.seed,
                    instructions=instructions,
                    places=campaign.policy.annotators,
                    price_cents=price,
                )
                for number, spec in enumerate(batch, start=start + 1)
            ]
        )
        create_items(zip(hits, batch, strict=True), triplets, controls)
        progress(len(batch))


def _controls_by_name(campaign: Campaign) -> dict[tuple[str, str], int]:
    usable = Control.objects.filter(Q(campaign=None) | Q(campaign=campaign))
    rows = usable.values_list("kind", "key", "pk")
    return {(kind, key): pk for kind, key, pk in rows}


def create_items(
    hits: Iterable[tuple[Hit, HitSpec]],
    triplets: Mapping[str, int],
    controls: Mapping[tuple[str, str], int],
) -> None:
    """The HITs' items; `triplets` and `controls` give the primary keys of what the specs name."""
    items = [
        _item(hit, position, item, triplets, controls)
        for hit, spec in hits
        for position, item in enumerate(spec.items)
    ]
    HitItem.objects.bulk_create(items, batch_size=BATCH)


def _item(
    hit: Hit,
    position: int,
    spec: ItemSpec,
    triplets: Mapping[str, int],
    controls: Mapping[tuple[str, str], int],
) -> HitItem:
    # A name that says nothing: neither the order of packing nor the kind of item shows in it.
    key = hashlib.sha256(f"{hit.key}:{position}".encode()).hexdigest()[:16]
    if spec.kind == "real":
        return HitItem(hit=hit, position=position, key=key, triplet_id=triplets[spec.key])
    return HitItem(hit=hit, position=position, key=key, control_id=controls[spec.kind, spec.key])
