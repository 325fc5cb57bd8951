"""What a release is made of, read from a campaign's record: votes whole, texts step by step."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Q

from annotation.models import Assignment, Campaign, Triplet
from annotation.pipeline.votes import votes_by_triplet
from annotation.progress import spent_cents
from annotation.protocol.policy import Policy
from annotation.protocol.vote import decide
from retrieval.dataset import ID_LENGTH, CandidateRecord
from retrieval.errors import UserError

TRIPLETS_PER_STEP = 6_000
COLUMNS = (
    "candidate__query",
    "pk",
    "label",
    "votes",
    "positive_votes",
    "candidate__pair__pair_key",
    "candidate__pair__question",
    "candidate__pair__answer",
    "candidate__rank",
    "candidate__score",
)


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
    """Each query with its triplets in rank order, the texts of a few queries in memory at a time.

    UserError where a stored label is not the one that the valid votes make.
    """
    policy = campaign.policy
    votes = votes_by_triplet(campaign)
    size = max(1, TRIPLETS_PER_STEP // policy.candidates_per_query)
    for start in range(0, len(queries), size):
        step = queries[start : start + size]
        triplets = _triplets(step)
        for query in step:
            rows = triplets[query.pk]
            yield query, [_judged(campaign, policy, row, votes.get(row.pk, [])) for row in rows]


class _Row(NamedTuple):
    """A triplet's columns, in the order of COLUMNS."""

    query: int
    pk: int
    label: int | None
    votes: int
    positive_votes: int
    pair: str
    question: str
    answer: str
    rank: int
    score: float


def _triplets(queries: Sequence[QueryRow]) -> dict[int, list[_Row]]:
    triplets: defaultdict[int, list[_Row]] = defaultdict(list)
    # By the queries alone, which are one campaign's: by the campaign, too, a database without
    # statistics reads all its triplets in every step.
    rows = Triplet.objects.filter(candidate__query__in=[query.pk for query in queries])
    for row in map(_Row._make, rows.order_by("candidate__rank").values_list(*COLUMNS)):
        triplets[row.query].append(row)
    return triplets


def _judged(campaign: Campaign, policy: Policy, row: _Row, votes: Sequence[int]) -> JudgedTriplet:
    stored = row.label, row.votes, row.positive_votes
    if stored != (decide(votes, policy).value, len(votes), sum(votes)):
        raise UserError(
            f"The label of triplet {row.pk} is not the one its {len(votes)} valid votes make: "
            f"run `manage.py campaign collect {campaign}` first."
        )
    return JudgedTriplet(votes, None if row.label is None else _candidate(row, row.label))


def _candidate(row: _Row, label: int) -> CandidateRecord:
    return CandidateRecord(
        id=row.pair[:ID_LENGTH],
        question=row.question,
        answer=row.answer,
        rank=row.rank,
        score=row.score,
        label=label,
        yes=row.positive_votes,
        no=row.votes - row.positive_votes,
    )


def work_statistics(campaign: Campaign) -> dict[str, object]:
    """Who worked on the campaign, what became of the work, and what it cost."""
    assignments = Assignment.objects.filter(hit__campaign=campaign)
    return {
        "workers": assignments.values("worker").distinct().count(),
        "excluded_workers": campaign.exclusions.filter(restored_at=None).count(),
        "assignments": assignments.aggregate(
            submitted=Count("pk"),
            approved=Count("pk", filter=Q(status="approved")),
            rejected=Count("pk", filter=Q(status="rejected")),
            paid_but_discarded=Count("pk", filter=Q(account=Assignment.Booked.DISCARDED)),
        ),
        "cost_cents": spent_cents(campaign),
    }
