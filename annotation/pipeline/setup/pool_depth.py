"""Judge what a campaign's last rank hides: some of its queries again, at the ranks below."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.db import transaction

from annotation.models import Campaign, Triplet
from annotation.pipeline.setup.create import campaign_like, check_name_and_seed
from annotation.protocol.studies.pool_depth import Hidden, Labels, hidden
from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.models import QuerySet
from retrieval.query_sets.deeper_ranks import Deeper, retrieve_deeper, store_deeper
from retrieval.vectors.types import Encoder

QUERIES = 100  # as many as a person can judge, and enough for an interval
DEEPEST = 1000


@dataclass(frozen=True)
class DepthReport:
    studied: Campaign
    first: int  # ranks 1 to `first` were judged before
    last: int
    queries: int  # of the study; those that count have no open triplet
    hidden: Hidden


@dataclass(frozen=True)
class Plan:
    name: str
    queries: int
    first: int  # ranks first to last are judged
    last: int

    @property
    def candidates(self) -> int:
        return self.queries * (self.last - self.first + 1)


def plan_depth_study(
    parent: Campaign, name: str, *, queries: int | None, to: int | None, seed: int
) -> Plan:
    """UserError where there can be no such study; how many queries there are is not asked."""
    check_name_and_seed(name, seed)
    k = parent.policy.candidates_per_query
    to = 2 * k if to is None else to
    _check_depth(parent, k, to)
    if queries is None:
        queries = min(QUERIES, parent.query_set.queries.count())
    return Plan(name, queries, k + 1, to)


def create_depth_study(
    parent: Campaign,
    name: str,
    *,
    queries: int | None = None,
    to: int | None = None,
    seed: int,
    device: str = "auto",
    encoder: Encoder | None = None,
    made: Callable[[Campaign], object] = lambda _: None,
    progress: Progress = no_progress,
) -> Campaign:
    """A campaign over ranks k + 1 to `to` (2 k) of `queries` of the parent's, drawn by the seed.

    Its policy and instructions are the parent's, its budget its own. `made` is called with it in
    its transaction.
    """
    plan = plan_depth_study(parent, name, queries=queries, to=to, seed=seed)
    deeper = retrieve_deeper(
        parent.query_set,
        queries=plan.queries,
        k=plan.first - 1,
        to=plan.last,
        seed=seed,
        device=device,
        encoder=encoder,
        progress=progress,
    )
    with transaction.atomic():
        study = _start(parent, name, deeper, seed)
        made(study)
    return study


def _check_depth(parent: Campaign, k: int, to: int) -> None:
    if parent.query_set.brings_candidates:
        raise UserError(
            f"Campaign {parent} came with its candidates: no search of ours says what follows them."
        )
    if studied := studied_campaign(parent):
        raise UserError(
            f"Campaign {parent} is a pool depth study itself: study {studied}, to a deeper rank "
            "(--to)."
        )
    if not k < to <= DEEPEST:
        raise UserError(
            f"Campaign {parent} has the ranks 1 to {k}: the last rank of a pool depth study is "
            f"from {k + 1} to {DEEPEST}, not {to}."
        )


def _start(parent: Campaign, name: str, deeper: Deeper, seed: int) -> Campaign:
    ranks = deeper.last_rank - deeper.first_rank + 1
    policy = replace(parent.policy, candidates_per_query=ranks)
    return campaign_like(parent, store_deeper(name, deeper), policy=policy, seed=seed)


def studied_campaign(campaign: Campaign) -> Campaign | None:
    """The campaign that this one is a pool depth study of; None: it is none."""
    query_set = campaign.query_set
    if query_set.origin != QuerySet.Origin.POOL_DEPTH or query_set.drawn_from is None:
        return None
    return Campaign.objects.get(query_set=query_set.drawn_from)


def depth_report(study: Campaign) -> DepthReport:
    """Over the queries that are judged at all ranks of both campaigns."""
    studied = studied_campaign(study)
    if studied is None:
        raise UserError(
            f"Campaign {study} is no pool depth study: make one by `quorum campaign pool-depth "
            f"{study}`."
        )
    first, last = study.query_set.retrieval["ranks"]
    labels = _labels(studied, study, last)
    if not labels:
        raise UserError(
            f"No query of {study} has all its labels yet, at ranks 1 to {first - 1} in {studied} "
            f"and {first} to {last} in {study}: collect their votes first."
        )
    hidden_positives = hidden(labels, first=first - 1)
    return DepthReport(studied, first - 1, last, study.query_set.queries.count(), hidden_positives)


def _labels(studied: Campaign, study: Campaign, last: int) -> list[Labels]:
    """By rank, of each query that has no open triplet and a triplet at every rank."""
    keys = study.query_set.queries.values("key")
    campaigns = [*studied.crowds, study]  # since then a second crowd may have got some queries
    triplets = Triplet.objects.filter(campaign__in=campaigns, candidate__query__key__in=keys)
    by_query: dict[str, dict[int, int | None]] = {}
    for key, rank, status, label in triplets.values_list(
        "candidate__query__key", "candidate__rank", "status", "label"
    ).iterator():
        if status != Triplet.Status.OPEN:
            by_query.setdefault(key, {})[rank] = label
    return [
        [ranks[rank] for rank in sorted(ranks)]
        for _, ranks in sorted(by_query.items())
        if len(ranks) == last
    ]
