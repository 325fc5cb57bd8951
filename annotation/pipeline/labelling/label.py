"""Derive the labels from the valid votes, set-wise."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from django.db.models import Count

from annotation.models import Campaign, Triplet
from annotation.pipeline.labelling.votes import ROWS, tallies
from annotation.protocol.labels.majority import decide_or_import
from annotation.protocol.policy.policy import Policy


class Outcome(NamedTuple):
    """A triplet's stored columns, in this order."""

    status: str
    label: int | None
    votes: int
    positive_votes: int


def counts(campaign: Campaign) -> dict[str, int]:
    rows = campaign.triplets.order_by().values_list("status")
    found = Counter(dict(rows.annotate(count=Count("pk"))))
    return {status: found[status] for status in Triplet.Status.values}


def write_labels(campaign: Campaign) -> int:
    """Recompute every triplet, write what is not stored already; how many that were.

    Triplets and their votes come in step from the database: memory does not grow with them.
    """
    changed: defaultdict[Outcome, list[int]] = defaultdict(list)
    written = 0
    for triplet, outcome in _news(campaign):
        changed[outcome].append(triplet)
        if len(changed[outcome]) == ROWS:
            written += _write(outcome, changed.pop(outcome))
    written += sum(_write(outcome, triplets) for outcome, triplets in changed.items())
    Campaign.objects.filter(pk=campaign.pk).update(labels_stale=False)
    return written


def _news(campaign: Campaign) -> Iterator[tuple[int, Outcome]]:
    """Triplets whose stored outcome is not the one that their votes make, with the latter."""
    policy = campaign.policy

    @cache  # few combinations, many triplets
    def outcome(votes: int, positive: int, imported: int | None) -> Outcome:
        return outcome_of(votes, positive, imported, policy)

    counted = tallies(campaign)
    tally = next(counted, None)
    columns = ("pk", "imported_label", *Outcome._fields)
    rows = campaign.triplets.order_by("pk").values_list(*columns)
    for pk, imported, *stored in rows.iterator(chunk_size=ROWS):
        votes = positive = 0
        if tally is not None and tally.triplet == pk:
            votes, positive = tally.votes, tally.positive
            tally = next(counted, None)
        if tuple(stored) != (right := outcome(votes, positive, imported)):
            yield pk, right


def outcome_of(votes: int, positive: int, imported: int | None, policy: Policy) -> Outcome:
    decision = decide_or_import(votes, positive, imported, policy)
    return Outcome(decision.status, decision.value, votes, positive)


def _write(outcome: Outcome, triplets: list[int]) -> int:
    return Triplet.objects.filter(pk__in=triplets).update(**outcome._asdict())
