"""What came of a dry run: what it cost, whom it lost, and how often its labels are true."""

from collections import Counter
from typing import Any

from annotation.crowd.simulated.knowledge import Gold
from annotation.crowd.simulated.profiles import KINDS, WorkerProfiles, make_workers
from annotation.models import Assignment, Campaign, Exclusion, Triplet
from annotation.pipeline.labelling.votes import first_pairs
from annotation.pipeline.ledger.reservations import account_of
from annotation.protocol.labels.agreement import agreement
from annotation.protocol.labels.label_error import wilson_interval
from annotation.simulation.sample import Plan

FATES = ("counted", "failed", "discarded")


def outcome(campaign: Campaign, profiles: WorkerProfiles, gold: Gold, plan: Plan) -> dict[str, Any]:
    """As JSON; money in cents of the policy that was played."""
    account = account_of(campaign)
    assignments = Assignment.objects.filter(hit__campaign=campaign)
    candidates = [candidate for query in plan.queries for candidate in query.candidates]
    return {
        "queries": len(plan.queries),
        "triplets": len(candidates),
        "labels_by_experts": sum(candidate.by_experts for candidate in candidates),
        "hits": campaign.hits.count(),
        "assignments": assignments.count(),
        "paid_assignments": assignments.filter(status=Assignment.Status.APPROVED).count(),
        "rejected": assignments.filter(status=Assignment.Status.REJECTED).count(),
        "spent_cents": account.spent_cents,
        "discarded_cents": account.discarded_cents,
        **_votes(campaign),
        **_labels(campaign, gold),
        "people": _people(campaign, profiles),
    }


def _votes(campaign: Campaign) -> dict[str, Any]:
    pairs = first_pairs(campaign)
    return {"ties": int(pairs[:, 1:3].sum()), "agreement": agreement(pairs)}


def _labels(campaign: Campaign, gold: Gold) -> dict[str, Any]:
    """Held against what is so; the interval is Wilson's."""
    rows = campaign.triplets.values_list(
        "status", "label", "candidate__query__text", "candidate__pair__question"
    )
    statuses: Counter[str] = Counter()
    cases: Counter[tuple[int, int]] = Counter()  # voted label, simulated label
    for status, label, query, question in rows:
        statuses[status] += 1
        if label is not None:
            cases[label, gold.label(query, question) or 0] += 1
    right, labelled = cases[0, 0] + cases[1, 1], cases.total()
    return {
        "labelled": labelled,
        "unresolved": statuses[Triplet.Status.UNRESOLVED],
        "open": statuses[Triplet.Status.OPEN],
        "accuracy": right / labelled if labelled else None,
        "accuracy_interval": list(wilson_interval(right, labelled)) if labelled else None,
        "positives": cases[1, 0] + cases[1, 1],
        "true_positives": cases[1, 1],
        "positives_that_are": cases[0, 1] + cases[1, 1],
    }


def _people(campaign: Campaign, profiles: WorkerProfiles) -> dict[str, dict[str, int]]:
    """By kind: how many there are, worked and were excluded, and what became of their work."""
    kinds = {worker.id: worker.kind for worker in make_workers(profiles)}
    excluded = set(Exclusion.in_force(campaign).values_list("worker__worker_id", flat=True))
    workers = {kind: Counter(dict.fromkeys(("excluded", "worked", *FATES), 0)) for kind in KINDS}
    worked = set()
    assignments = Assignment.objects.filter(hit__campaign=campaign)
    for worker, passed in assignments.values_list("worker__worker_id", "passed"):
        worked.add(worker)
        workers[kinds[worker]][_fate(passed=passed, excluded=worker in excluded)] += 1
    for worker in worked:
        workers[kinds[worker]]["worked"] += 1
        workers[kinds[worker]]["excluded"] += worker in excluded
    number = Counter(kinds.values())
    return {kind: {"people": number[kind], **workers[kind]} for kind in KINDS}


def _fate(*, passed: bool | None, excluded: bool) -> str:
    if passed:
        return "discarded" if excluded else "counted"
    return "failed"
