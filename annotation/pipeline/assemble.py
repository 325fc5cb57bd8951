"""Pack a campaign's candidates into HITs with controls."""

import hashlib
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, Value

from annotation.models import Campaign, Control, Hit, HitItem, Triplet
from annotation.pipeline.bulk import insert, insert_found
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
from retrieval.models import Candidate, IndexVersion, QaPair
from retrieval.progress import Progress, no_progress
from retrieval.search import current_index, pair_vectors

ROWS = 10_000
# Negative controls are made of so many pairs at most: each then serves in some HITs, where a
# positive control serves in far more.
MOST_PAIRS = 20_000
HIT_COLUMNS = (
    "campaign_id",
    "key",
    "number",
    "seed",
    "instructions_id",
    "places",
    "price_cents",
    "spare",
    "repack",
    "barred",
    "gone",
    "fault",
)


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
        triplets = _create_triplets(campaign)
        try:
            specs = _specs(campaign, list(triplets))
        except PackingError as error:
            raise UserError(str(error)) from error
        _create_hits(campaign, specs, {ref.key: pk for ref, pk in triplets.items()}, progress)
    return Packed(len(triplets), len(specs), already=False)


def _create_triplets(campaign: Campaign) -> dict[TripletRef, int]:
    """Every candidate of the campaign -> its triplet; refuses queries that lack candidates."""
    candidates = Candidate.objects.filter(query__query_set=campaign.query_set_id)
    wanted = campaign.query_set.queries.count() * campaign.policy.candidates_per_query
    found = candidates.count()
    if not found or found != wanted:
        raise UserError(
            f"Campaign {campaign} has {found} candidates where its policy wants {wanted}: "
            f"run `manage.py campaign retrieve {campaign}` first."
        )
    insert_found(
        Triplet,
        ("campaign_id", "candidate_id", "status", "votes", "positive_votes"),
        candidates.order_by("query__key", "rank").values_list(
            Value(campaign.pk), "pk", Value(Triplet.Status.OPEN), Value(0), Value(0)
        ),
    )
    return dict(_refs(campaign))


def _refs(campaign: Campaign) -> Iterator[tuple[TripletRef, int]]:
    """By query and rank."""
    rows = campaign.triplets.order_by("candidate__query__key", "candidate__rank")
    columns = rows.values_list("pk", "candidate__query__key", "candidate__rank")
    for pk, query, rank in columns.iterator(chunk_size=ROWS):
        yield TripletRef(f"{query}:{rank:03d}", sys.intern(query), rank), pk


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
    index = _checked_index(campaign)
    pairs = _random_pairs(campaign, wanted=min(4 * len(names) + 50, MOST_PAIRS))
    near = _Nearness(list(pairs.values()), campaign.policy, index)
    drawn = draw_negatives(sorted(pairs), count=len(names), seed=campaign.seed, too_near=near)
    insert(
        Control,
        ("kind", "campaign_id", "key", "query", "question", "answer"),
        (
            (
                Control.Kind.NEGATIVE.value,
                campaign.pk,
                name,
                pairs[first].question,
                pairs[second].question,
                pairs[second].answer,
            )
            for name, (first, second) in zip(names, drawn, strict=True)
        ),
    )


def _checked_index(campaign: Campaign) -> IndexVersion:
    """Near and far are told by the model that found the candidates, or by none."""
    then, now = campaign.query_set.retrieved_with, current_index()
    assert then is not None  # there are candidates
    if (then.model, then.form) != (now.model, now.form):
        raise UserError(
            f"The candidates of {campaign} were found with {then.model} ({then.form}), but the "
            f"index is of {now.model} ({now.form}) now: run `manage.py index --model {then.model} "
            f"--form {then.form}` first."
        )
    return now


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

    def __init__(self, pairs: list[QaPair], policy: Policy, index: IndexVersion) -> None:
        self._row = {pair.pair_key: row for row, pair in enumerate(pairs)}
        self._words = [set(re.findall(r"\w{5,}", pair.question.casefold())) for pair in pairs]
        self._vectors = pair_vectors([pair.pk for pair in pairs], index)
        self._limit = policy.negative_max_cosine

    def __call__(self, first: str, second: str) -> bool:
        a, b = self._row[first], self._row[second]
        if not self._words[a].isdisjoint(self._words[b]):
            return True
        return float(self._vectors[a] @ self._vectors[b]) > self._limit


def _create_hits(
    campaign: Campaign, specs: list[HitSpec], triplets: Mapping[str, int], progress: Progress
) -> None:
    controls = _controls_by_name(campaign)
    instructions = campaign.instructions.latest("version").pk
    policy = campaign.policy
    same = (instructions, policy.annotators, assignment_cents(policy), 0, False, "[]", False, "")
    for start in range(0, len(specs), ROWS):
        batch = list(enumerate(specs[start : start + ROWS], start=start + 1))
        rows = (
            (campaign.pk, hit_key(campaign, number), number, spec.seed, *same)
            for number, spec in batch
        )
        insert(Hit, HIT_COLUMNS, rows)
        found = campaign.hits.filter(number__gt=start).order_by("number")
        stored = list(found.values_list("pk", "key"))
        create_items(
            ((pk, key, spec) for (pk, key), (_, spec) in zip(stored, batch, strict=True)),
            triplets,
            controls,
        )
        progress(len(batch))


def hit_key(campaign: Campaign, number: int) -> str:
    return f"{campaign.uid.hex[:16]}-{number:06d}"


def _controls_by_name(campaign: Campaign) -> dict[tuple[str, str], int]:
    usable = Control.objects.filter(Q(campaign=None) | Q(campaign=campaign))
    rows = usable.values_list("kind", "key", "pk")
    return {(kind, key): pk for kind, key, pk in rows}


def create_items(
    hits: Iterable[tuple[int, str, HitSpec]],
    triplets: Mapping[str, int],
    controls: Mapping[tuple[str, str], int],
) -> None:
    """The items of HITs given by primary key, key and spec; the mappings lead to theirs."""
    insert(
        HitItem,
        ("hit_id", "position", "key", "triplet_id", "control_id"),
        (
            (hit, position, _item_key(key, position), *_content(item, triplets, controls))
            for hit, key, spec in hits
            for position, item in enumerate(spec.items)
        ),
    )


def _item_key(hit: str, position: int) -> str:
    """A name that says nothing: neither the order of packing nor the kind of item shows in it."""
    return hashlib.sha256(f"{hit}:{position}".encode()).hexdigest()[:16]


def _content(
    spec: ItemSpec, triplets: Mapping[str, int], controls: Mapping[tuple[str, str], int]
) -> tuple[int | None, int | None]:
    """The triplet or the control."""
    if spec.kind == "real":
        return triplets[spec.key], None
    return None, controls[spec.kind, spec.key]
