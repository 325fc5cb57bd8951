"""Where counting takes long, operations preview by what was counted last, and say when that was."""

import re
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.access.audit_log import by_command
from annotation.analytics.campaign.snapshots import take
from annotation.analytics.campaign.status import campaign_status
from annotation.models import AuditEntry, Campaign, Snapshot
from annotation.operations.campaign import cached_outlook as known
from annotation.operations.campaign.cached_outlook import known_outlook, status_of
from annotation.operations.operation import perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.outlook import (
    most_prolonging,
    outlook,
    prolongations,
    prolonging,
)
from core.errors import UserError
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

NOTE = "These figures are as counted at 2026-11-22 12:03 UTC."
AT = datetime.fromisoformat("2026-11-22T12:03:00+00:00")
OPTIONS: dict[str, dict[str, Any]] = {"budget": {"amount": "9000"}, "extend": {"days": 365}}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if one HIT were many."""
    monkeypatch.setattr(known, "MANY_HITS", 0)


def counted(campaign: Campaign) -> Snapshot:
    made = take(campaign)
    Snapshot.objects.filter(pk=made.pk).update(at=AT)
    return made


def previewed(name: str, campaign: Campaign) -> list[str]:
    return list(OPERATIONS[name].preview(campaign, OPTIONS.get(name, {})))


@pytest.mark.parametrize("name", ["pause", "expire", "extend", "cancel", "retry"])
def test_what_was_counted_is_told_with_its_time(stage: Stage, large: None, name: str) -> None:
    stage.publish()
    now = previewed(name, stage.campaign)
    assert NOTE not in now
    counted(stage.campaign)
    report = previewed(name, stage.campaign)
    assert report[-1] == NOTE
    if name != "extend":  # where all is as it was, so are the words
        assert report[:-1] == now
    stage.work("ada", 1)
    stage.advance()
    assert previewed(name, stage.campaign) == report


def test_a_small_campaign_is_counted_when_it_is_asked_for(stage: Stage) -> None:
    stage.publish()
    counted(stage.campaign)
    stage.work("ada", 1)
    stage.advance()
    assert known_outlook(stage.campaign).outlook == outlook(stage.campaign)
    assert NOTE not in previewed("pause", stage.campaign)


@pytest.mark.parametrize("figures", [None, {"seconds": 1.0}])
def test_without_figures_a_large_one_is_counted_all_the_same(
    stage: Stage, large: None, figures: dict[str, float] | None
) -> None:
    if figures:  # as they were taken before acts read them
        Snapshot.objects.create(campaign=stage.campaign, at=AT, figures=figures)
    assert known_outlook(stage.campaign).outlook == outlook(stage.campaign)
    assert known_outlook(stage.campaign).at is None


def test_a_snapshot_has_what_acts_ask_for(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.advance()
    figures = take(stage.campaign).figures
    assert figures["outlook"] == asdict(outlook(stage.campaign))
    assert figures["prolonging"] == asdict(most_prolonging(stage.campaign))
    assert figures["shortage"] is None
    assert figures["hits_of_versions"] == {"1": stage.campaign.hits.count()}


@pytest.mark.parametrize("name", ["budget", "pause", "expire", "extend", "cancel", "retry"])
def test_a_large_campaigns_forecast_counts_nothing_over_its_tables(
    stage: Stage, large: None, name: str
) -> None:
    stage.publish()
    counted(stage.campaign)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        previewed(name, stage.campaign)
    assert len(asked) <= 6
    words = " ".join(one["sql"] for one in asked)
    assert not re.search(r"COUNT\(|SUM\(|hititem|judgment|_triplet", words), words


def test_the_budget_that_is_left_is_always_of_now(stage: Stage, large: None) -> None:
    stage.publish()
    counted(stage.campaign)
    set_budget(stage.campaign, 555_000)
    assert known_outlook(stage.campaign).outlook.available_cents == 555_000 - _reserved(stage)


def _reserved(stage: Stage) -> int:
    account = stage.campaign.account
    account.refresh_from_db()
    return account.reserved_cents + account.spent_cents


def test_the_log_says_when_what_it_tells_was_counted(stage: Stage, large: None) -> None:
    stage.publish()
    counted(stage.campaign)
    perform(OPERATIONS["pause"], stage.campaign, {}, by=by_command())
    details = AuditEntry.objects.get().details
    assert details["counted_at"] == AT.isoformat()
    assert details["open_hits"] == 5


def test_more_time_for_all_hits_that_lack_votes_is_the_most_there_can_be(stage: Stage) -> None:
    stage.publish()
    stage.mturk.clock.move_on(days=400)
    stage.advance()
    until = stage.mturk.clock.now() + timedelta(days=365)
    exact = prolonging(*prolongations(stage.campaign, until))
    assert exact.assignments
    assert most_prolonging(stage.campaign) == exact


def test_expired_hits_are_looked_for_where_none_was_open(stage: Stage, large: None) -> None:
    counted(stage.campaign)
    with pytest.raises(UserError, match="No HIT of faq is open"):
        previewed("expire", stage.campaign)
    stage.publish()
    assert previewed("expire", stage.campaign)[-1] == NOTE


def test_what_waits_for_the_budget_is_told_as_it_was_counted(stage: Stage, large: None) -> None:
    set_budget(stage.campaign, 100)
    stage.publish()
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "capped"
    made = counted(stage.campaign)
    assert made.figures["shortage"]["hits"] == 4
    assert status_of(stage.campaign) == campaign_status(stage.campaign)
    with CaptureQueriesContext(connection) as asked:
        status_of(stage.campaign)
    assert not any("COUNT(" in one["sql"] for one in asked)


def test_a_cancelled_campaigns_budget_can_be_set_while_work_waits(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    perform(OPERATIONS["cancel"], stage.campaign, {}, by=by_command())
    stage.campaign.refresh_from_db()
    with pytest.raises(UserError, match="cancelled"):  # nobody has looked yet
        previewed("budget", stage.campaign)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    assert previewed("budget", stage.campaign)
