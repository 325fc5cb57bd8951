"""Derive the labels from the valid votes and the experts' adjudications, set-wise."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db.models import Count

from annotation.models import Campaign, Triplet
from annotation.pipeline.changes import in_parts, is_most, triplets_of
from annotation.pipeline.labelling.votes import (
    NO_EXPERTS,
    ROWS,
    cannot_judge_counts,
    deciding_experts,
    tallies,
)
from annotation.protocol.labels.derivation import Evidence, derive_label
from annotation.protocol.policy.policy import Policy


class Outcome(NamedTuple):
    """A triplet's stored columns, in this order."""

    status: str
    label: int | None
    label_source: str | None
    votes: int
    positive_votes: int
    cannot_judge: int


def counts(campaign: Campaign) -> dict[str, int]:
    rows = campaign.triplets.order_by().values_list("status")
    of_state = Counter(dict(rows.annotate(count=Count("pk"))))
    return {status: of_state[status] for status in Triplet.Status.values}


def write_labels(campaign: Campaign) -> int:
    """Recompute every triplet, write what is not stored already; how many that were.

    Triplets and their votes come in step from the database: memory does not grow with them.
    """
    return _write_news(news(campaign))


def write_labels_of(campaign: Campaign, triplets: Collection[int]) -> int:
    """The same for a few, by the same rule, with the campaign locked."""
    return _write_news(news(campaign, triplets))


def write_labels_in(campaign: Campaign, hits: Sequence[int]) -> int:
    """The same for the triplets of these HITs."""
    if is_most(campaign, hits):
        return write_labels(campaign)
    return sum(write_labels_of(campaign, triplets_of(some)) for some in in_parts(hits))


def _write_news(differing: Iterable[tuple[int, Outcome, Outcome]]) -> int:
    changed: defaultdict[Outcome, list[int]] = defaultdict(list)
    written = 0
    for triplet, _, outcome in differing:
        changed[outcome].append(triplet)
        if len(changed[outcome]) == ROWS:
            written += _write(outcome, changed.pop(outcome))
    return written + sum(_write(outcome, triplets) for outcome, triplets in changed.items())


def news(
    campaign: Campaign, only: Collection[int] | None = None
) -> Iterator[tuple[int, Outcome, Outcome]]:
    """Triplets whose stored outcome is not the one that follows, with both."""
    policy = campaign.policy

    @cache  # few combinations, many triplets
    def outcome(*evidence: Any) -> Outcome:
        return outcome_of(Evidence(*evidence), policy)

    experts = deciding_experts(campaign, only)
    cannot = cannot_judge_counts(campaign, only)
    counted = tallies(campaign, only)
    tally = next(counted, None)
    columns = ("pk", "imported_label", *Outcome._fields)
    triplets = campaign.triplets.order_by("pk")
    triplets = triplets if only is None else triplets.filter(pk__in=only)
    rows = triplets.values_list(*columns)
    for pk, imported, *stored in rows.iterator(chunk_size=ROWS):
        votes = positive = 0
        if tally is not None and tally.triplet == pk:
            votes, positive = tally.votes, tally.positive
            tally = next(counted, None)
        said = experts.get(pk, NO_EXPERTS)
        right = outcome(votes, positive, imported, *said, cannot.get(pk, 0))
        if (old := Outcome._make(stored)) != right:
            yield pk, old, right


def outcome_of(evidence: Evidence, policy: Policy) -> Outcome:
    label = derive_label(evidence, policy)
    counts = evidence.votes, evidence.positive, evidence.cannot_judge
    return Outcome(label.status, label.value, label.source, *counts)


def _write(outcome: Outcome, triplets: list[int]) -> int:
    return Triplet.objects.filter(pk__in=triplets).update(**outcome._asdict())
