"""A campaign's workers in figures: made after a pass, so that pages walk no judgments.

Keys of a workforce's `figures`: workers, submitted, timed, median_ms, hourly_cents_median and
hourly_cents_pooled (see `annotation.analytics.workers.effort`), step_s and counts of the times,
`reported`, the items that most workers have reported, the first MOST_REPORTED of them, and
`pairs`, the workers who share most triplets (see `pair_agreement`), of `pairs_in_all`, and
`shared_errors`, those who share more errors than chance allows (see `shared_errors`).
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from annotation.analytics.workers.effort import Person, effort_of, histogram, people_of
from annotation.analytics.workers.item_reports import reported_items
from annotation.analytics.workers.pair_agreement import worker_pairs
from annotation.analytics.workers.shared_errors import kept_report
from annotation.models import Campaign, WorkerFigures, Workforce
from annotation.pipeline.outbox.claims import Clock
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import is_near

FRESH = timedelta(minutes=1)
MOST_REPORTED = 500
BATCH = 500
MOST_CENTS = 2**31 - 1  # that PostgreSQL's column holds; a browser may say that a HIT took 1 ms

COLUMNS = tuple(
    field.name
    for field in WorkerFigures._meta.fields
    if field.name not in ("id", "campaign", "worker")
)


def take(campaign: Campaign, *, clock: Clock = timezone.now) -> Workforce:
    """Made again, in the place of the last one."""
    now = clock()
    people = people_of(campaign)
    rows = [_row(campaign, one) for one in people]
    pairs, pairs_in_all = worker_pairs(campaign)
    last = newest(campaign)
    compared = last.figures.get("shared_errors") if last else None
    figures = _together(people) | {
        "reported": list(reported_items(campaign)[:MOST_REPORTED]),
        "pairs": [asdict(pair) for pair in pairs],
        "pairs_in_all": pairs_in_all,
        "shared_errors": kept_report(campaign, compared),
    }
    with transaction.atomic():
        WorkerFigures.objects.bulk_create(
            rows,
            batch_size=BATCH,
            update_conflicts=True,
            unique_fields=["campaign", "worker"],
            update_fields=COLUMNS,
        )
        made, _ = Workforce.objects.update_or_create(
            campaign=campaign, defaults={"at": now, "figures": figures}
        )
    return made


def newest(campaign: Campaign) -> Workforce | None:
    return Workforce.objects.filter(campaign=campaign).first()


def is_old(campaign: Campaign, last: Workforce | None) -> bool:
    """A minute, or somebody has done something since."""
    if last is None or timezone.now() - last.at > FRESH:
        return True
    return campaign.audit_entries.filter(at__gt=last.at).exists()


def _row(campaign: Campaign, person: Person) -> WorkerFigures:
    policy: Policy = campaign.policy
    return WorkerFigures(
        campaign=campaign,
        worker_id=person.pk,
        submitted=person.submitted,
        reviewed=person.reviewed,
        failed=person.failed,
        failure_rate=person.failed / person.reviewed if person.reviewed else None,
        near=is_near(person.failed, person.reviewed, policy),
        compared=person.agreement.compared,
        agreeing=person.agreement.agreeing,
        agreement=person.agreement.share,
        timed=len(person.times_ms),
        median_ms=person.median_ms,
        hourly_cents=None if person.hourly_cents is None else min(person.hourly_cents, MOST_CENTS),
        with_behaviour=person.with_behaviour,
        straight=person.straight,
        straight_share=person.straight_share,
        changes_per_hit=person.changes_per_hit,
        reports=person.reports,
        cannot_judge=person.cannot_judge,
        fast=person.is_fast,
        one_answer=person.is_straight,
    )


def _together(people: Sequence[Person]) -> dict[str, object]:
    times = histogram(ms for person in people for ms in person.times_ms)
    return {
        "workers": len(people),
        "submitted": sum(person.submitted for person in people),
        **asdict(effort_of(people)),
        **asdict(times),
    }
