"""What a release is made of, read from a campaign's record in constant memory."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.models import Assignment, Campaign, Triplet
from annotation.pipeline.label import valid_judgments
from annotation.progress import spent_cents
from annotation.protocol.policy import Policy
from annotation.protocol.vote import decide
from exports.records import CandidateRecord
from retrieval.errors import UserError

QUERIES_PER_STEP = 200


@dataclass(frozen=True)
class QueryRow:
    """A query of the campaign, and how many of its triplets have a label."""

    pk: int
    key: str
    text: str
    labelled: int


@dataclass(frozen=True)
class JudgedTriplet:
    """A triplet with its valid votes in order of submission; `candidate` only where labelled."""

    votes: Sequence[int]
    candidate: CandidateRecord | None


def query_rows(campaign: Campaign) -> list[QueryRow]:
    """In the order of the keys' code points: databases differ in how they order text."""
    triplets = campaign.triplets.filter(status=Triplet.Status.LABELLED).order_by()
    labelled = dict(triplets.values_list("candidate__query").annotate(Count("pk")))
    rows = campaign.query_set.queries.order_by().values_list("pk", "key", "text")
    found = [QueryRow(pk, key, text, labelled.get(pk, 0)) for pk, key, text in rows]
    return sorted(found, key=lambda row: row.key)


def judged_queries(
    campaign: Campaign, queries: Sequence[QueryRow]
) -> Iterator[tuple[QueryRow, list[JudgedTriplet]]]:
    """Each query with its triplets in rank order, a few hundred queries in memory at a time.

    UserError where a stored label is not the one that the valid votes make.
    """
    policy = campaign.policy
    for start in range(0, len(queries), QUERIES_PER_STEP):
        step = queries[start : start + QUERIES_PER_STEP]
        votes = _votes(campaign, step)
        triplets = _triplets(campaign, step)
        for query in step:
            judged = [
                _judged(triplet, votes.get(triplet.pk, []), policy)
                for triplet in triplets[query.pk]
            ]
            yield query, judged


def _votes(campaign: Campaign, queries: Sequence[QueryRow]) -> dict[int, list[int]]:
    votes: defaultdict[int, list[int]] = defaultdict(list)
    rows = valid_judgments(campaign).filter(
        item__triplet__candidate__query__in=[query.pk for query in queries]
    )
    for triplet, value in rows.values_list("item__triplet", "value"):
        votes[triplet].append(value)
    return votes


def _triplets(campaign: Campaign, queries: Sequence[QueryRow]) -> dict[int, list[Triplet]]:
    triplets: defaultdict[int, list[Triplet]] = defaultdict(list)
    rows = campaign.triplets.filter(candidate__query__in=[query.pk for query in queries])
    for triplet in rows.select_related("candidate__pair").order_by("candidate__rank"):
        triplets[triplet.candidate.query_id].append(triplet)
    return triplets


def _judged(triplet: Triplet, votes: Sequence[int], policy: Policy) -> JudgedTriplet:
    stored = triplet.label, triplet.votes, triplet.positive_votes
    if stored != (decide(votes, policy).value, len(votes), sum(votes)):
        raise UserError(
            f"The label of triplet {triplet.pk} is not the one its {len(votes)} valid votes make: "
            f"run `manage.py campaign collect {triplet.campaign}` first."
        )
    return JudgedTriplet(votes, _candidate(triplet, triplet.label))


def _candidate(triplet: Triplet, label: int | None) -> CandidateRecord | None:
    if label is None:
        return None
    candidate = triplet.candidate
    return CandidateRecord(
        question=candidate.pair.question,
        answer=candidate.pair.answer,
        rank=candidate.rank,
        score=candidate.score,
        label=label,
        yes=triplet.positive_votes,
        no=triplet.votes - triplet.positive_votes,
    )


def work_statistics(campaign: Campaign) -> dict[str, object]:
    """Who worked on the campaign, what became of the work, and what it cost."""
    assignments = Assignment.objects.filter(hit__campaign=campaign)
    excluded = campaign.exclusions.values("worker")
    # Approved by the crowd, hence paid, but its votes do not count.
    discarded = Q(status="approved") & (Q(worker__in=excluded) | Q(passed=False))
    return {
        "workers": assignments.values("worker").distinct().count(),
        "excluded_workers": campaign.exclusions.count(),
        "assignments": assignments.aggregate(
            submitted=Count("pk"),
            approved=Count("pk", filter=Q(status="approved")),
            rejected=Count("pk", filter=Q(status="rejected")),
            paid_but_discarded=Count("pk", filter=discarded),
        ),
        "cost_cents": spent_cents(campaign),
    }
