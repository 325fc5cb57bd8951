"""What a dry run takes along of a campaign: read here, played elsewhere, nothing is changed."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db.models import Count, Sum
from django.db.models.functions import Coalesce

from annotation.models import Campaign, Control, ExpertLabel
from annotation.pipeline.controls.negatives import draw_for
from annotation.pipeline.controls.own_controls import has_own_controls, is_packed_with_own
from annotation.pipeline.publishing.pack import negatives_for_ties, triplets_to_judge
from annotation.protocol.estimates.cost import estimate_cost
from annotation.protocol.packing.pack import hits_needed, negatives_needed
from annotation.protocol.policy.crowds import PAPER_CROWD
from annotation.protocol.policy.policy import Policy
from annotation.protocol.studies.simulated_labels import draw_labels
from annotation.simulation.options import MOST_HITS, USUAL_HITS, Options
from core.errors import UserError
from retrieval.models import Candidate

# Replacements are bought too: with money for so many times the dearest estimate, only a crowd that
# cannot do the work spends it all.
TIMES_THE_DEAREST = 3

Texts = tuple[str, str, str]  # query, question, answer
Kind = Control.Kind


@dataclass(frozen=True)
class PlannedCandidate:
    rank: int
    question: str
    answer: str
    label: int
    by_experts: bool


@dataclass(frozen=True)
class PlannedQuery:
    key: str
    text: str
    candidates: list[PlannedCandidate]


@dataclass(frozen=True)
class Plan:
    """All that the dry run's own database is filled with."""

    name: str
    policy: dict[str, Any]
    seed: int
    instructions: str
    has_own: bool  # the controls are the campaign's own
    positives: list[Texts]
    negatives: list[Texts]
    queries: list[PlannedQuery]
    profiles: dict[str, Any]
    budget_cents: int

    @property
    def triplets(self) -> int:
        return sum(len(query.candidates) for query in self.queries)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Plan":
        queries = [
            PlannedQuery(
                one["key"], one["text"], [PlannedCandidate(**each) for each in one["candidates"]]
            )
            for one in values["queries"]
        ]
        controls = {
            kind: [(query, question, answer) for query, question, answer in values[kind]]
            for kind in ("positives", "negatives")
        }
        return cls(**{**values, **controls, "queries": queries})


def make_plan(campaign: Campaign, options: Options) -> Plan:
    """UserError where the campaign has no candidates, or the dry run would take too long."""
    policy = counterpart(campaign.policy)
    queries = _queries(campaign, options)
    triplets = sum(len(query.candidates) for query in queries)
    dearest = estimate_cost(triplets, policy).cents_max
    has_own = _draws_on_own(campaign)
    return Plan(
        name=campaign.name,
        policy=policy.to_dict(),
        seed=campaign.seed,
        instructions=campaign.instructions.latest("version").text,
        has_own=has_own,
        positives=_own(campaign, Kind.POSITIVE) if has_own else list(_pool(policy)),
        negatives=_own(campaign, Kind.NEGATIVE) if has_own else _negatives(campaign, triplets),
        queries=queries,
        profiles=asdict(options.profiles()),
        budget_cents=TIMES_THE_DEAREST * dearest,
    )


def counterpart(policy: Policy) -> Policy:
    """The same rules for a crowd at the emulator, whose people are as good as the options say.

    Simulated people take no qualification test, and no team is asked for a status at MTurk.
    """
    return replace(
        policy,
        crowd=PAPER_CROWD.kind,
        reward_cents=max(1, policy.reward_cents),
        qualification_items=0,
        min_approval_percent=0,
        min_approved=0,
    )


def most_queries(campaign: Campaign) -> int:
    """As many as a dry run can take."""
    return _reach(campaign, MOST_HITS)


def usual_queries(campaign: Campaign) -> int:
    return _reach(campaign, USUAL_HITS)


def _reach(campaign: Campaign, hits: int) -> int:
    policy = campaign.policy
    reach = max(1, hits * policy.real_items // policy.candidates_per_query)
    # Positions count from 1: the last one tells the number without a count.
    last = campaign.query_set.queries.order_by("-position").values_list("position", flat=True)
    return min(reach, last.first() or 0)


def _queries(campaign: Campaign, options: Options) -> list[PlannedQuery]:
    candidates = _candidates(campaign)
    keys = sorted(set(candidates.order_by().values_list("query__key", flat=True).distinct()))
    if not keys:
        raise UserError(f"Campaign {campaign} has no candidates to judge yet: retrieve them first.")
    count = min(usual_queries(campaign) if options.queries is None else options.queries, len(keys))
    drawn = random.Random(f"dry run/{options.seed}").sample(keys, count)  # noqa: S311
    judged_candidates = candidates.filter(query__key__in=drawn).select_related("query", "pair")
    by_query: dict[str, list[Candidate]] = {}
    for candidate in judged_candidates.order_by("query__key", "rank"):
        by_query.setdefault(candidate.query.key, []).append(candidate)
    _check_size(campaign, sum(map(len, by_query.values())))
    known = _gold(campaign, drawn)
    return [_planned(rows, known, options) for rows in by_query.values()]


def _candidates(campaign: Campaign) -> Any:
    """Those of which HITs are made."""
    judged_candidates = Candidate.objects.filter(query__query_set=campaign.query_set_id)
    if campaign.query_set.brings_candidates:
        return judged_candidates.filter(triplet__imported_label=None, triplet__isnull=False)
    return judged_candidates


def _check_size(campaign: Campaign, triplets: int) -> None:
    if (hits := hits_needed(triplets, campaign.policy)) > MOST_HITS:
        raise UserError(
            f"A dry run of {hits:,} HITs would take too long: take queries for {MOST_HITS} at "
            f"most, about {most_queries(campaign):,}."
        )


def _planned(rows: list[Candidate], known: Mapping[int, int], options: Options) -> PlannedQuery:
    query = rows[0].query
    drawn = draw_labels(query.key, [row.rank for row in rows], seed=options.seed)
    candidates = [
        PlannedCandidate(
            row.rank, row.pair.question, row.pair.answer, known.get(row.pk, label), row.pk in known
        )
        for row, label in zip(rows, drawn, strict=True)
    ]
    return PlannedQuery(query.key, query.text, candidates)


def _gold(campaign: Campaign, keys: Iterable[str]) -> dict[int, int]:
    """Candidate -> what most experts say of it, where they have said it and one side prevails."""
    labels = ExpertLabel.objects.filter(
        triplet__campaign=campaign, triplet__candidate__query__key__in=list(keys)
    )
    rows = (
        labels.order_by()
        .values_list("triplet__candidate")
        .annotate(said=Count("pk"), yes=Sum(Coalesce("blind_label", "label")))
    )
    return {pk: int(2 * yes > said) for pk, said, yes in rows if 2 * yes != said}


def _draws_on_own(campaign: Campaign) -> bool:
    """As its HITs do, or as they will."""
    return (is_packed_with_own if campaign.hits.exists() else has_own_controls)(campaign)


def _own(campaign: Campaign, kind: Control.Kind) -> list[Texts]:
    own = campaign.controls.filter(kind=kind, drafted=True, retired_at=None).order_by("key")
    return list(own.values_list("query", "question", "answer"))


def _pool(policy: Policy) -> Iterable[Texts]:
    pool = Control.objects.filter(campaign=None, task=policy.task, retired_at=None).order_by("key")
    return pool.values_list("query", "question", "answer")


def _negatives(campaign: Campaign, triplets: int) -> list[Texts]:
    """As packing would draw them; of a packed campaign those that it has."""
    policy = campaign.policy
    needed = negatives_needed(triplets, policy) + negatives_for_ties(triplets, policy)
    stored = campaign.controls.filter(drafted=False, retired_at=None).order_by("key")
    texts = list(stored.values_list("query", "question", "answer")[:needed])
    if len(texts) == needed:
        return texts
    drawn = draw_for(campaign, [f"n{number:06d}" for number in range(1, needed + 1)])
    return [(one.query, one.question, one.answer) for one in drawn]


def whole(campaign: Campaign) -> dict[str, Any]:
    """The campaign as its estimate has it, to hold the dry run against."""
    policy, triplets = campaign.policy, triplets_to_judge(campaign)
    costs = estimate_cost(triplets, policy)
    mode = costs.extend if policy.tie_mode == "extend" else costs.repack
    return {
        "triplets": triplets,
        "queries": campaign.query_set.queries.count(),
        "hits": costs.hits,
        "assignments": mode.assignments,
        "cents": mode.cents,
        "cents_min": costs.cents_min,
        "cents_max": costs.cents_max,
    }
