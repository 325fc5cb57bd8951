"""Pack a campaign's candidates into HITs with controls."""

import hashlib
import itertools
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Q

from annotation.models import Campaign, Control, Hit, HitItem
from annotation.pipeline.controls.negatives import create_negatives
from annotation.pipeline.controls.own_controls import has_own_controls, own_controls
from annotation.pipeline.setup.create import create_triplets
from annotation.protocol.estimates.cost import PAPER_AGREEMENT, assignment_cents
from annotation.protocol.packing.own_controls import own_needed, pack_own
from annotation.protocol.packing.pack import (
    HitSpec,
    ItemSpec,
    PackingError,
    TripletRef,
    negatives_needed,
    pack,
    positives_needed,
)
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TaskName
from core.errors import UserError
from core.files.bulk_insert import insert
from core.progress import Progress, no_progress
from retrieval.models import Candidate

ROWS = 10_000
HIT_COLUMNS = (
    "campaign_id",
    "key",
    "number",
    "seed",
    "instructions_id",
    "max_assignments",
    "price_cents",
    "tie_reserve",
    "repack",
    "excluded_workers",
    "gone",
    "fault",
)


@dataclass(frozen=True)
class Packed:
    triplets: int
    hits: int
    already: bool  # packed by an earlier run


def pack_hits(
    campaign: Campaign, *, again: bool = False, progress: Progress = no_progress
) -> Packed:
    """Make the campaign's triplets, negative controls and HITs in one transaction, once.

    `again`: HITs that nobody has seen yet are replaced. Of a dataset made elsewhere, HITs hold
    what has no label there.
    """
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
        if again:
            unpack(campaign)
        if hits := campaign.hits.count():
            return Packed(triplets_to_judge(campaign), hits, already=True)
        if campaign.query_set.brings_candidates:
            _check_unlabelled(campaign)
        elif not campaign.triplets.exists():
            _create_triplets(campaign)
        refs, triplets = _triplet_refs(campaign)
        try:
            specs = _specs(campaign, refs)
        except PackingError as error:
            raise UserError(str(error)) from error
        _create_hits(campaign, specs, triplets, progress)
    return Packed(len(triplets), len(specs), already=False)


def unpack(campaign: Campaign) -> None:
    if campaign.endpoint:
        raise UserError(f"Campaign {campaign} is published: its HITs stay as they are.")
    HitItem.objects.filter(hit__campaign=campaign).delete()
    campaign.hits.all().delete()
    # Packing draws them again; what a person retired or replaced stays, so that it is not.
    campaign.controls.filter(drafted=False, retired_at=None).delete()


@dataclass(frozen=True)
class OwnSupply:
    """A campaign's own controls that may be packed, and how many packing wants of each kind."""

    positives: int
    negatives: int
    positives_needed: int
    negatives_needed: int

    @property
    def is_enough(self) -> bool:
        enough = self.positives >= self.positives_needed, self.negatives >= self.negatives_needed
        return all(enough)


def own_supply(campaign: Campaign) -> OwnSupply:
    kinds = campaign.controls.filter(drafted=True, retired_at=None).order_by().values_list("kind")
    counts = dict(kinds.annotate(controls=Count("pk")))
    needed = own_needed(triplets_to_judge(campaign), campaign.policy)
    kind = Control.Kind
    return OwnSupply(counts.get(kind.POSITIVE, 0), counts.get(kind.NEGATIVE, 0), *needed)


def triplets_to_judge(campaign: Campaign) -> int:
    """As many as HITs are made of; before the candidates are known, too."""
    if campaign.query_set.brings_candidates:
        return campaign.triplets.filter(imported_label=None).count()
    return campaign.query_set.queries.count() * campaign.policy.candidates_per_query


def _check_unlabelled(campaign: Campaign) -> None:
    if not triplets_to_judge(campaign):
        raise UserError(
            f"Every triplet of campaign {campaign} came with a label: there is nothing to judge. "
            "Its labels are audited by `gold import` or on its page of adjudication."
        )


def _create_triplets(campaign: Campaign) -> None:
    """One for every candidate of the campaign; refuses queries that lack candidates."""
    candidates = Candidate.objects.filter(query__query_set=campaign.query_set_id)
    wanted = triplets_to_judge(campaign)
    total = candidates.count()
    if not total or total != wanted:
        raise UserError(
            f"Campaign {campaign} has {total} candidates where its policy wants {wanted}: "
            f"run `quorum campaign retrieve {campaign}` first."
        )
    create_triplets(campaign, candidates)


def _triplet_refs(campaign: Campaign) -> tuple[list[TripletRef], dict[str, int]]:
    """The triplets by query and rank, and the primary key of each by its own key."""
    refs: list[TripletRef] = []
    pks: dict[str, int] = {}
    rows = campaign.triplets.filter(imported_label=None)
    rows = rows.order_by("candidate__query__key", "candidate__rank")
    columns = rows.values_list("pk", "candidate__query__key", "candidate__rank")
    for pk, query, rank in columns.iterator(chunk_size=ROWS):
        ref = TripletRef(f"{query}:{rank:03d}", sys.intern(query), rank)
        refs.append(ref)
        pks[ref.key] = pk
    return refs, pks


def _specs(campaign: Campaign, refs: list[TripletRef]) -> list[HitSpec]:
    if has_own_controls(campaign):
        kind = Control.Kind
        return pack_own(
            refs,
            positives=own_controls(campaign, kind.POSITIVE),
            negatives=own_controls(campaign, kind.NEGATIVE),
            policy=campaign.policy,
            seed=campaign.seed,
        )
    policy = campaign.policy
    positives = positive_names(policy.task)
    needed = negatives_needed(len(refs), policy)
    more = negatives_for_ties(len(refs), policy)
    # pack() refuses a pool that is too small: ask it before the negatives are written.
    names = _negative_names(campaign, needed + more)
    specs = pack(
        refs, positives=positives, negatives=names[:needed], policy=policy, seed=campaign.seed
    )
    _check_pool_for_ties(len(positives), policy)
    create_negatives(campaign, names)
    return specs


def _negative_names(campaign: Campaign, count: int) -> list[str]:
    """In their order, without those of controls that are retired."""
    retired = set(campaign.controls.exclude(retired_at=None).values_list("key", flat=True))
    names = (f"n{number:06d}" for number in itertools.count(1))
    return list(itertools.islice((name for name in names if name not in retired), count))


def _check_pool_for_ties(positives: int, policy: Policy) -> None:
    """A triplet may be repacked alone, into a HIT that controls fill up."""
    if positives < (needed := positives_needed(1, policy)):
        raise PackingError(
            f"The pool holds {positives} positive controls, but a HIT of one repacked triplet "
            f"needs {needed}: import more (`quorum controls import`)."
        )


def negatives_for_ties(triplets: int, policy: Policy) -> int:
    """Controls for HITs of repacked triplets, drawn while the index is at hand."""
    tied = math.ceil(triplets * (1 - PAPER_AGREEMENT)) if policy.tie_mode == "repack" else 0
    # Any campaign may have to repack a triplet whose HIT cannot grow.
    return max(negatives_needed(tied, policy), negatives_needed(1, policy))


def _create_hits(
    campaign: Campaign, specs: list[HitSpec], triplets: Mapping[str, int], progress: Progress
) -> None:
    controls = controls_by_name(campaign)
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
        created = campaign.hits.filter(number__gt=start).order_by("number")
        stored = list(created.values_list("pk", "key"))
        create_items(
            ((pk, key, spec) for (pk, key), (_, spec) in zip(stored, batch, strict=True)),
            triplets,
            controls,
        )
        progress(len(batch))


def hit_key(campaign: Campaign, number: int) -> str:
    return f"{campaign.uid.hex[:16]}-{number:06d}"


def positive_names(task: TaskName = PAPER_TASK.name) -> list[str]:
    """The shared pool in one order; what is retired is in none of the HITs to come."""
    pool = Control.objects.filter(campaign=None, task=task, retired_at=None)
    return list(pool.order_by("key").values_list("key", flat=True))


def controls_by_name(campaign: Campaign) -> dict[tuple[str, str], int]:
    """Of each name the newest, retired or not: one may retire while HITs are packed."""
    pool = Q(campaign=None, task=campaign.policy.task)
    known = Control.objects.filter(pool | Q(campaign=campaign)).order_by("pk")
    rows = known.values_list("kind", "key", "pk")
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
