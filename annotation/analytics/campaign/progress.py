"""Where a campaign stands: read-only counts.

They count triplets, each stage a part of the one before: candidates, triplets (which are packed),
triplets_published, judged (with a valid vote or a can't-judge), labelled; unresolved ones are part
of those judged.
"""

from django.db.models import Count, F, Q, Sum

from annotation.analytics.campaign.corpus import corpus_of
from annotation.analytics.campaign.plan import planned_and_came
from annotation.analytics.campaign.status import blockers, campaign_status, labelled_of
from annotation.analytics.quality.campaign_leak import leak_figures
from annotation.analytics.quality.expert_agreement import expert_figures
from annotation.analytics.workers.effort import effort_of, people_of
from annotation.crowd.qualification_url import qualification_test_url
from annotation.models import (
    Assignment,
    AssignmentCount,
    Campaign,
    Exclusion,
    HitItem,
    OutboxMessage,
    TripletCount,
)
from annotation.pipeline.labelling.votes import compared_judgments, first_pairs
from annotation.pipeline.ledger.pay import underpaid
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.setup.pool_depth import studied_campaign
from annotation.protocol.labels.agreement import Pairs, agreement
from annotation.protocol.screening.control import RejectionReason
from retrieval.models import Candidate


def progress(campaign: Campaign) -> dict[str, object]:
    """The campaign stage by stage; every count is derived from the stored record."""
    counts = question_counts(campaign) | _triplets(campaign)
    corpus = corpus_of(campaign)
    return {
        "campaign": campaign.name,
        "status": campaign_status(campaign),  # reads the state again
        "state": campaign.state,
        "progress": labelled_of(counts["labelled"], counts["triplets"]),
        "crowd": campaign.endpoint or "not published yet",
        "corpus": corpus.name,
        "sources": list(corpus.sources),
        **_study_of(campaign),
        **_crowds_of(campaign),
        **counts,
        **hit_counts(campaign),
        **assignment_counts(campaign),
        **_votes(campaign),
        **leak_figures(campaign),
        **_experts(campaign),
        **plan_figures(campaign),
        **trouble_counts(campaign),
        "blockers": blockers(campaign),
        **_pay(campaign),
        **_qualification_test(campaign),
        **money(campaign),
        **_effort(campaign),
    }


def _study_of(campaign: Campaign) -> dict[str, object]:
    studied = studied_campaign(campaign)
    return {"study_of": studied.name} if studied else {}


def _crowds_of(campaign: Campaign) -> dict[str, object]:
    """Nothing where one crowd judges all."""
    first, *second = (one.name for one in campaign.crowds)
    return {"released_with": [first, *second]} if second else {}


def question_counts(campaign: Campaign) -> dict[str, int]:
    candidates = Candidate.objects.filter(query__query_set=campaign.query_set_id)
    return {
        "queries": campaign.query_set.queries.count(),
        "candidates": candidates.count(),
    }


def trouble_counts(campaign: Campaign) -> dict[str, object]:
    return {
        "excluded_workers": Exclusion.in_force(campaign).count(),
        "messages_waiting": waiting(campaign),
        "messages_failed": campaign.outbox.filter(state=OutboxMessage.State.FAILED).count(),
    }


def triplets_published(campaign: Campaign) -> int:
    """Each is on one HIT of the first round."""
    published = campaign.hits.filter(repack=False, crowd_id__isnull=False)
    return HitItem.objects.filter(hit__in=published, triplet__isnull=False).count()


def _triplets(campaign: Campaign) -> dict[str, int]:
    counts = TripletCount.objects.filter(campaign=campaign).aggregate(
        triplets=_rows(),
        judged=_rows(Q(votes__gt=0) | Q(cannot_judge__gt=0)),
        labelled=_rows(Q(status="labelled")),
        open=_rows(Q(status="open")),
        unresolved=_rows(Q(status="unresolved")),
        positive=_rows(Q(label=1)),
        cannot_judge=Sum(F("cannot_judge") * F("more"), default=0),
    )
    return {**counts, "triplets_published": triplets_published(campaign)}


def _rows(condition: Q | None = None) -> Sum:
    """So many are counted."""
    return Sum("more", filter=condition, default=0)


def hit_counts(campaign: Campaign) -> dict[str, object]:
    return campaign.hits.aggregate(
        hits=Count("pk"),
        hits_published=Count("crowd_id"),
        max_assignments=Sum("max_assignments", default=0),
    )


def assignment_counts(*campaigns: Campaign) -> dict[str, object]:
    rows = Assignment.with_rejection(AssignmentCount.objects.filter(campaign__in=campaigns))
    counts = rows.aggregate(
        submitted=_rows(),
        to_review=_rows(Q(passed=None)),
        approved=_rows(Q(status="approved")),
        rejected=_rows(Q(status="rejected")),
        failed_controls=_rows(Q(passed=False)),
        workers=Count("worker", distinct=True),
        **{one.key: _rows(Q(rejection=one.key)) for one in RejectionReason},
    )
    reasons = {one.key: counts.pop(one.key) for one in RejectionReason}
    return {**counts, "rejection_reasons": reasons}


def _qualification_test(campaign: Campaign) -> dict[str, object]:
    """Nothing where the campaign has no qualification test, or none yet."""
    if not campaign.qualified_id:
        return {}
    tries = campaign.qualification_results
    return {
        "qualification_test": qualification_test_url(campaign),
        "qualification_workers": tries.aggregate(count=Count("worker", distinct=True))["count"],
        "qualification_passed": tries.filter(passed=True).count(),
    }


def _votes(campaign: Campaign) -> dict[str, object]:
    pairs = first_pairs(campaign)
    return {**vote_counts(campaign, pairs), "agreement": agreement(pairs)}


def vote_counts(campaign: Campaign, pairs: Pairs) -> dict[str, object]:
    """Discarded votes would count, were their workers not excluded."""
    excluded = Exclusion.in_force(campaign).values("worker")
    votes = TripletCount.objects.filter(campaign=campaign)
    discarded = compared_judgments(campaign).filter(assignment__worker__in=excluded)
    return {
        "votes": votes.aggregate(votes=Sum(F("votes") * F("more"), default=0))["votes"],
        "votes_discarded": discarded.count(),
        "ties": int(pairs[:, 1:3].sum()),
    }


def _experts(campaign: Campaign) -> dict[str, object]:
    figures = expert_figures(campaign)
    return {"expert": {**figures.to_dict(), **figures.label_error_to_dict()}}


def plan_figures(campaign: Campaign) -> dict[str, object]:
    """Nothing where it was made without a plan."""
    plan = planned_and_came(campaign)
    return {"plan": plan} if plan else {}


def money(campaign: Campaign) -> dict[str, object]:
    account = account_of(campaign)
    return {
        "budget_cents": account.budget_cents,
        "reserved_cents": account.reserved_cents,
        "paid_cents": account.paid_cents,
        "discarded_cents": account.discarded_cents,
        "available_cents": account.available_cents,
        "spent_cents": account.spent_cents,
        # Nothing where no bill of the crowd's own says otherwise than the books.
        **({"billed_cents": account.billed_cents} if account.billed_cents else {}),
    }


def _pay(campaign: Campaign) -> dict[str, object]:
    """Nothing where it is enough, as far as the crowd says what that is."""
    sentences = underpaid(campaign)
    return {"underpaid": sentences} if sentences else {}


def _effort(campaign: Campaign) -> dict[str, object]:
    """Nothing as long as no browser has told a time."""
    effort = effort_of(people_of(campaign))
    if effort.median_ms is None:
        return {}
    return {
        "median_active_seconds": round(effort.median_ms / 1000, 1),
        "hourly_cents_median": effort.hourly_cents_median,
        "hourly_cents_pooled": effort.hourly_cents_pooled,
    }


def spent_cents(campaign: Campaign) -> tuple[int, int]:
    """What has been paid: rewards, bonuses and fees, work whose votes do not count included; and
    how much of it the crowd's own bill has more than the books, or less."""
    account = account_of(campaign)
    return account.spent_cents, account.billed_cents
