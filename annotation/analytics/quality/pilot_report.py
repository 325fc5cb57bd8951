"""A pilot's report: how often each condition errs, by experts' labels."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models.functions import Coalesce

from annotation.models import Assignment, Campaign, ExpertLabel, Judgment, Pilot, Triplet
from annotation.pipeline.labelling.votes import CHOSEN_WITHOUT_LOOKING, first_pairs
from annotation.pipeline.setup.create_pilot import source_of
from annotation.protocol.labels.agreement import agreement
from annotation.protocol.labels.derivation import label_before_experts
from annotation.protocol.studies.pilot import Comparison, Pair, compare

Conditions = tuple[Campaign, Campaign]
Key = tuple[str, int]  # the query's key and the rank: the same in both conditions and in the source


@dataclass(frozen=True)
class Condition:
    campaign: Campaign
    triplets: int
    labelled: int
    unresolved: int
    positive: int
    votes: int
    agreement: float | None
    workers: int
    spent_cents: int

    @property
    def open(self) -> int:
        return self.triplets - self.labelled - self.unresolved


@dataclass(frozen=True)
class PilotReport:
    """`gold`: triplets that experts decided; those without a label are not compared."""

    pilot: Pilot
    source: Campaign
    shown: Condition
    hidden: Condition
    gold: int
    without_a_label: int
    in_both_conditions: int  # workers
    met_again: int  # triplets that one and the same worker judged in both
    comparison: Comparison | None


def pilot_report(pilot: Pilot) -> PilotReport:
    source = source_of(pilot)
    conditions = pilot.shown, pilot.hidden
    shown, hidden = _labels(conditions)
    gold = _gold_labels([pilot.shown, pilot.hidden, source], shown)
    pairs = [
        Pair(label, one, other)
        for key, label in gold.items()
        if (one := _by_the_crowd(shown[key])) is not None
        and (other := _by_the_crowd(hidden[key])) is not None
    ]
    workers, judged = _workers(conditions), _judged(conditions)
    return PilotReport(
        pilot=pilot,
        source=source,
        shown=_condition(pilot.shown, shown, workers[0]),
        hidden=_condition(pilot.hidden, hidden, workers[1]),
        gold=len(gold),
        without_a_label=len(gold) - len(pairs),
        in_both_conditions=len(workers[0] & workers[1]),
        met_again=len({key for _, key in judged[0] & judged[1]}),
        comparison=compare(pairs),
    )


def _by_the_crowd(row: Triplet) -> int | None:
    policy = row.campaign.policy
    return label_before_experts(row.label, row.label_source, row.votes, row.positive_votes, policy)


def _labels(conditions: Conditions) -> list[dict[Key, Triplet]]:
    """Of each condition."""
    labels: dict[int, dict[Key, Triplet]] = {condition.pk: {} for condition in conditions}
    rows = Triplet.objects.filter(campaign__in=conditions).select_related(
        "candidate__query", "campaign"
    )
    for row in rows.order_by("pk"):
        labels[row.campaign_id][row.candidate.query.key, row.candidate.rank] = row
    return list(labels.values())


def _gold_labels(campaigns: list[Campaign], wanted: Mapping[Key, Triplet]) -> dict[Key, int]:
    """What most experts say of each, before they saw the votes, wherever they say it.

    A person who says the same in two places says it once; one who says both takes no side.
    """
    queries = {query for query, _ in wanted}
    labels = ExpertLabel.objects.filter(
        triplet__campaign__in=campaigns,
        triplet__candidate__query__key__in=queries,
        source__in=CHOSEN_WITHOUT_LOOKING,
    ).annotate(said=Coalesce("blind_label", "label"))
    said: dict[Key, set[tuple[str, int]]] = {}
    for query, rank, expert, label in labels.values_list(
        "triplet__candidate__query__key", "triplet__candidate__rank", "expert", "said"
    ):
        if (query, rank) in wanted:
            said.setdefault((query, rank), set()).add((expert, label))
    sums = {key: sum(2 * label - 1 for _, label in votes) for key, votes in said.items()}
    return {key: int(balance > 0) for key, balance in sorted(sums.items()) if balance}


def _condition(campaign: Campaign, labels: Mapping[Key, Triplet], workers: set[int]) -> Condition:
    states = [row.status for row in labels.values()]
    return Condition(
        campaign=campaign,
        triplets=len(labels),
        labelled=states.count(Triplet.Status.LABELLED),
        unresolved=states.count(Triplet.Status.UNRESOLVED),
        positive=sum(row.label == 1 for row in labels.values()),
        votes=sum(row.votes for row in labels.values()),
        agreement=agreement(first_pairs(campaign)),
        workers=len(workers),
        spent_cents=campaign.account.spent_cents,
    )


def _workers(conditions: Conditions) -> list[set[int]]:
    workers: dict[int, set[int]] = {condition.pk: set() for condition in conditions}
    assignments = Assignment.objects.filter(hit__campaign__in=conditions).order_by()
    for condition, worker in assignments.values_list("hit__campaign", "worker__pk").distinct():
        workers[condition].add(worker)
    return list(workers.values())


def _judged(conditions: Conditions) -> list[set[tuple[int, Key]]]:
    """Who judged what."""
    judged: dict[int, set[tuple[int, Key]]] = {condition.pk: set() for condition in conditions}
    columns = "triplet__candidate__query__key", "triplet__candidate__rank"
    rows = Judgment.objects.filter(triplet__campaign__in=conditions)
    for condition, worker, query, rank in rows.values_list("triplet__campaign", "worker", *columns):
        judged[condition].add((worker, (query, rank)))
    return list(judged.values())
