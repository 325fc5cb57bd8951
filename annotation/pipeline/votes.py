"""The valid votes of a campaign, read from its judgments."""

from collections.abc import Iterator
from typing import NamedTuple

from django.db.models import Count, QuerySet, Sum

from annotation.models import Assignment, Campaign, Judgment
from annotation.protocol.vote import valid_votes

ROWS = 10_000


class Tally(NamedTuple):
    triplet: int
    votes: int
    positive: int


def valid_judgments(campaign: Campaign) -> QuerySet[Judgment]:
    """On triplets, from work that passed its controls, of workers who are not excluded."""
    judgments = Judgment.objects.filter(
        triplet__isnull=False, assignment__hit__campaign=campaign, assignment__passed=True
    )
    excluded = campaign.exclusions.filter(restored_at=None).values("worker")
    # Somebody may have rejected it at the crowd by hand: refused work has no say.
    judgments = judgments.exclude(assignment__status=Assignment.Status.REJECTED)
    return judgments.exclude(worker__in=excluded)


def votes_by_triplet(campaign: Campaign) -> dict[int, list[int]]:
    """Triplet -> its valid votes in order of submission; triplets without votes are absent."""
    judgments = valid_judgments(campaign).order_by(
        "assignment__submitted_at", "assignment__crowd_id"
    )
    rows = judgments.values_list("worker_id", "triplet_id", "value")
    # The excluded are left out already.
    return valid_votes(rows.iterator(chunk_size=ROWS), excluded=())


def tallies(campaign: Campaign) -> Iterator[Tally]:
    """By triplet, without those that have no votes: counted in the database."""
    rows = valid_judgments(campaign).order_by("triplet_id").values_list("triplet_id")
    counted = rows.annotate(votes=Count("pk"), positive=Sum("value"))
    return map(Tally._make, counted.iterator(chunk_size=ROWS))
