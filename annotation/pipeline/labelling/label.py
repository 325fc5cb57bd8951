"""Derive the labels from the valid votes and the experts' adjudications, set-wise."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db.models import Case, Expression, F, FloatField, IntegerField, Sum, Value, When

from annotation.models import Aggregation, Campaign, Triplet, TripletCount, Worker
from annotation.pipeline.changes import in_parts, is_most, triplets_of
from annotation.pipeline.labelling.votes import (
    NO_EXPERTS,
    ROWS,
    cannot_judge_counts,
    deciding_experts,
    tallies,
)
from annotation.protocol.labels.claims import NO_CLAIMS, Claims
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
    rows = TripletCount.objects.filter(campaign=campaign).order_by().values_list("status")
    of_state = Counter(dict(rows.annotate(count=Sum("more"))))
    return {status: of_state[status] for status in Triplet.Status.values}


def relabel(campaign: Campaign, hits: Sequence[int]) -> Sequence[int]:
    """What follows from changes in these HITs; the HITs in which any label may have changed.

    With the campaign locked.
    """
    if campaign.policy.aggregation == "majority":
        write_labels_in(campaign, hits)
        return hits
    # It loads scipy, which no other campaign needs.
    from annotation.pipeline.labelling import aggregate  # noqa: PLC0415

    if not aggregate.is_fit_due(campaign):
        aggregate.update_claims(campaign, triplets_of(hits))
        write_labels_in(campaign, hits)
        is_open = campaign.triplets.filter(status=Triplet.Status.OPEN).exists()
        if is_open or aggregate.is_fitted(campaign):
            return hits
    fit_again(campaign)
    return list(campaign.hits.order_by("pk").values_list("pk", flat=True))


def fit_again(campaign: Campaign) -> bool:
    """False where the last fit has seen all there is; with the campaign locked."""
    from annotation.pipeline.labelling import aggregate  # noqa: PLC0415 - see relabel

    if aggregate.is_fitted(campaign):
        return False
    aggregate.store_fit(campaign)
    write_labels(campaign)
    return True


def claims_of(campaign: Campaign) -> Claims:
    if campaign.policy.aggregation == "majority":
        return NO_CLAIMS
    stored = Aggregation.objects.filter(campaign=campaign).first()
    return stored.claims if stored else NO_CLAIMS


def weights_of(campaign: Campaign, worker: Worker) -> tuple[float, float] | None:
    """What a worker's votes add to log-odds, for 0 and for 1; None: nothing."""
    stored = Aggregation.objects.filter(campaign=campaign).first()
    return stored.weights_of(worker.pk) if stored else None


def claimed(policy: Policy, path: str = "") -> Expression | F:
    """The log-odds of a triplet at this path; no join where there are none."""
    if policy.aggregation == "majority":
        return Value(None, output_field=FloatField())
    return F(f"{path}posterior__log_odds")


def overruled(campaign: Campaign, path: str = "") -> Expression:
    """What the aggregator says of a triplet at this path that experts decided, else null."""
    if claims_of(campaign).is_majority:
        return Value(None, output_field=IntegerField())
    by_experts = {f"{path}label_source": Triplet.LabelSource.EXPERT}
    log_odds = f"{path}posterior__log_odds"
    return Case(
        When(**by_experts, **{f"{log_odds}__gt": 0}, then=1),
        When(**by_experts, **{f"{log_odds}__lt": 0}, then=0),
        output_field=IntegerField(),
    )


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
    claims = claims_of(campaign)
    columns = ("pk", "imported_label", claimed(policy), *Outcome._fields)
    triplets = campaign.triplets.order_by("pk")
    triplets = triplets if only is None else triplets.filter(pk__in=only)
    rows = triplets.values_list(*columns)
    for pk, imported, log_odds, *stored in rows.iterator(chunk_size=ROWS):
        votes = positive = 0
        if tally is not None and tally.triplet == pk:
            votes, positive = tally.votes, tally.positive
            tally = next(counted, None)
        said = experts.get(pk, NO_EXPERTS)
        by_model = claims.said(log_odds), claims.is_sure(log_odds, policy)
        right = outcome(votes, positive, imported, *said, cannot.get(pk, 0), *by_model)
        if (old := Outcome._make(stored)) != right:
            yield pk, old, right


def outcome_of(evidence: Evidence, policy: Policy) -> Outcome:
    label = derive_label(evidence, policy)
    counts = evidence.votes, evidence.positive, evidence.cannot_judge
    return Outcome(label.status, label.value, label.source, *counts)


def _write(outcome: Outcome, triplets: list[int]) -> int:
    return Triplet.objects.filter(pk__in=triplets).update(**outcome._asdict())
