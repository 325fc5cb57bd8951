"""What shutting a worker out, or taking them back, would change: read from their own votes alone.

The same figures as `restore` brings about, without the campaign's other millions of votes.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Max, QuerySet, SmallIntegerField, Sum, Value

from annotation.models import (
    Assignment,
    Campaign,
    HitItem,
    ItemReport,
    Judgment,
    Triplet,
    Worker,
)
from annotation.pipeline.labelling.label import (
    Outcome,
    claimed,
    claims_of,
    outcome_of,
    weights_of,
)
from annotation.pipeline.labelling.votes import NO_EXPERTS, deciding_experts
from annotation.pipeline.ledger.reservations import Booked
from annotation.pipeline.manual.exclusion import excludable, exclusions_of
from annotation.protocol.estimates.cost import assignment_cents
from annotation.protocol.labels.derivation import Evidence
from annotation.protocol.labels.majority import votes_wanted
from annotation.protocol.labels.valid_votes import VoidReason
from annotation.protocol.policy.policy import Policy
from core.errors import UserError

NO_VOTE = Value(None, output_field=SmallIntegerField())


@dataclass(frozen=True)
class ExclusionImpact:
    """What would follow; of the purchase, the most that it may come to."""

    worker: str
    votes: int  # that no longer count, or count again
    cents: int  # paid in vain, or no longer
    labels_changed: int  # other label, or none any more, or one now
    triplets_reopened: int  # of these: their votes have to be bought again
    votes_to_buy: int
    assignments_to_buy: int
    buy_cents: int


class Effect(NamedTuple):
    """On one triplet."""

    triplet: int
    before: Outcome
    after: Outcome


def if_excluded(campaign: Campaign, worker_id: str) -> ExclusionImpact:
    """Raises UserError where it cannot be done."""
    if exclusions_of(campaign, worker_id).exists():
        raise UserError(f"Worker {worker_id!r} is excluded from campaign {campaign} already.")
    return excluding(campaign, excludable(campaign, worker_id))


def excluding(campaign: Campaign, worker: Worker) -> ExclusionImpact:
    """Of a worker who is known not to be excluded."""
    paid = _assignments_of(campaign, worker).filter(account=Booked.PAID)
    return _exclusion_impact(campaign, worker, paid, sign=-1)


def if_restored(campaign: Campaign, worker_id: str) -> ExclusionImpact:
    """Raises UserError where it cannot be done."""
    exclusion = exclusions_of(campaign, worker_id).select_related("worker").first()
    if exclusion is None:
        raise UserError(f"Worker {worker_id!r} is not excluded from campaign {campaign}.")
    return restoring(campaign, exclusion.worker)


def restoring(campaign: Campaign, worker: Worker) -> ExclusionImpact:
    """Of a worker who is known to be excluded."""
    valid = _valid_assignments(campaign, worker)
    paid = valid.filter(account=Booked.DISCARDED)
    return _exclusion_impact(campaign, worker, paid, sign=1)


def _exclusion_impact(
    campaign: Campaign, worker: Worker, paid: QuerySet[Assignment], *, sign: int
) -> ExclusionImpact:
    policy = campaign.policy
    effects = list(_effects(campaign, worker, policy, sign))
    changed = [one for one in effects if one.before[:2] != one.after[:2]]
    more = {one.triplet: _more_wanted(one, policy) for one in effects}
    votes = sum(more.values())
    assignments, cents = _purchase(campaign, more, effects) if votes else (0, 0)
    return ExclusionImpact(
        worker=worker.worker_id,
        votes=sum(one.before.votes != one.after.votes for one in effects),
        cents=paid.aggregate(cents=Sum("hit__price_cents", default=0))["cents"],
        labels_changed=len(changed),
        triplets_reopened=sum(one.after.status == Triplet.Status.OPEN for one in changed),
        votes_to_buy=votes,
        assignments_to_buy=assignments,
        buy_cents=cents,
    )


def _assignments_of(campaign: Campaign, worker: Worker) -> QuerySet[Assignment]:
    return Assignment.objects.filter(hit__campaign=campaign, worker=worker)


def _effects(campaign: Campaign, worker: Worker, policy: Policy, sign: int) -> Iterator[Effect]:
    """On each triplet that the worker has a vote on, or can't judge, which counts, or would."""
    claims, weights = claims_of(campaign), weights_of(campaign, worker)
    votes = counted(campaign, worker).values_list(
        "triplet", "value", claimed(policy, "triplet__"), *_stored("triplet")
    )
    valid = _valid_assignments(campaign, worker)
    reports = ItemReport.objects.filter(
        cannot_judge=True, item__triplet__isnull=False, assignment__in=valid
    )
    cannot = reports.values_list(
        "item__triplet", NO_VOTE, claimed(policy, "item__triplet__"), *_stored("item__triplet")
    )
    experts = deciding_experts(campaign)
    for triplet, value, log_odds, imported, *stored in [*votes, *cannot]:
        before = Outcome(*stored)
        is_vote = value is not None
        if is_vote and weights:
            log_odds = (log_odds or 0) + sign * weights[value]
        evidence = Evidence(
            before.votes + sign * is_vote,
            before.positive_votes + sign * (value or 0),
            imported,
            *experts.get(triplet, NO_EXPERTS),
            before.cannot_judge + sign * (not is_vote),
            claims.said(log_odds),
            claims.is_sure(log_odds, policy),
        )
        yield Effect(triplet, before, outcome_of(evidence, policy))


def _stored(path: str) -> list[str]:
    return [f"{path}__{column}" for column in ("imported_label", *Outcome._fields)]


def counted(campaign: Campaign, worker: Worker) -> QuerySet[Judgment]:
    """A worker's votes that count unless the worker is excluded."""
    assignments = _valid_assignments(campaign, worker)
    return Judgment.objects.filter(triplet__isnull=False, assignment__in=assignments)


def _valid_assignments(campaign: Campaign, worker: Worker) -> QuerySet[Assignment]:
    """Those that count unless the worker is excluded."""
    return Assignment.valid(
        _assignments_of(campaign, worker), campaign, but_for=VoidReason.EXCLUDED
    )


def _more_wanted(effect: Effect, policy: Policy) -> int:
    return max(0, _wanted(effect.after, policy) - _wanted(effect.before, policy))


def _wanted(outcome: Outcome, policy: Policy) -> int:
    if outcome.status != Triplet.Status.OPEN:
        return 0
    return votes_wanted(outcome.votes, policy)


def _purchase(campaign: Campaign, more: dict[int, int], effects: list[Effect]) -> tuple[int, int]:
    """(assignments, cents): a HIT grows by what its neediest triplet wants, ties may be repacked.

    Places that are open already may serve, so that less has to be bought.
    """
    policy = campaign.policy
    wanting = {triplet: votes for triplet, votes in more.items() if votes}
    repacked = {
        one.triplet
        for one in effects
        if one.triplet in wanting
        and policy.tie_mode == "repack"
        and one.after.votes >= policy.annotators
    }
    by_hit: defaultdict[int, int] = defaultdict(int)
    for triplet, hit in _newest_hits(campaign, wanting.keys() - repacked):
        by_hit[hit] = max(by_hit[hit], wanting[triplet])
    assignments, groups = sum(by_hit.values()), -(-len(repacked) // policy.real_items)
    cents = assignments * assignment_cents(policy) + groups * assignment_cents(policy, 1)
    return assignments + groups, cents


def _newest_hits(campaign: Campaign, triplets: set[int]) -> Iterator[tuple[int, int]]:
    """(triplet, HIT): the next vote comes from the newest one that holds it."""
    ordered = sorted(triplets)
    for start in range(0, len(ordered), 5000):
        items = HitItem.objects.filter(triplet__in=ordered[start : start + 5000]).order_by()
        rows = items.values_list("triplet").annotate(newest=Max("hit"))
        yield from ((triplet, hit) for triplet, hit in rows if triplet is not None)
