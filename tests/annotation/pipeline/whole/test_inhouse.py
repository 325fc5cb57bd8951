"""A campaign of one's own people by the same steps; no money moves unless the policy pays."""

from pathlib import Path

import pytest

from annotation.analytics.campaign.status import blockers, campaign_status
from annotation.models import Assignment, Entry, Worker
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual.bonus import give_bonus
from annotation.pipeline.publishing.lifecycle import cancel, expire, pause, prolong, resume
from annotation.pipeline.publishing.outlook import outlook, prolongations
from annotation.pipeline.reconcile.run import reconcile
from core.errors import UserError
from tests.annotation.pipeline.whole.own_crowd import Team, own_team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Five HITs, packed and not published; nobody is paid and there is no budget."""
    return own_team(tmp_path)


def no_money_has_moved(team: Team) -> None:
    assert not Entry.objects.exists()
    account = account_of(team.campaign)
    assert (account.reserved_cents, account.spent_cents, account.available_cents) == (0, 0, 0)


def test_a_campaign_that_pays_nobody_comes_to_its_labels_without_a_cent(team: Team) -> None:
    assert (team.publish().sent, team.campaign.state) == (5, "active")
    assert [len(team.work(name)) for name in ("ada", "bob", "eve")] == [5, 5, 0]
    found = team.advance()
    assert (found.new, found.passed, found.labelled, found.finished) == (10, 10, 25, True)
    assert set(Assignment.objects.values_list("status", "account")) == {("approved", "paid")}
    assert set(Worker.objects.values_list("crowd", flat=True)) == {"inhouse"}
    no_money_has_moved(team)


@pytest.mark.parametrize(("tie_mode", "hits"), [("extend", 4), ("repack", 1)])
def test_ties_are_broken_without_a_cent(tmp_path: Path, tie_mode: str, hits: int) -> None:
    def on_bread(query: str, _: int) -> int:
        return int(query == "bread")

    team = own_team(tmp_path, tie_mode=tie_mode)
    team.publish()
    first = team.take("eve")  # repacked HITs are for those who have worked before
    assert first
    team.submit(first, 0)
    assert [len(team.work(name, real)) for name, real in (("ada", 0), ("bob", on_bread))] == [5, 4]
    found = team.advance()
    assert (found.labelled, found.open, found.assignments_requested) == (21, 4, hits)
    assert len(team.work("eve")) == hits
    found = team.advance()
    assert (found.labelled, found.finished) == (25, True)
    no_money_has_moved(team)


def test_work_that_fails_its_controls_is_refused_and_asked_for_again(team: Team) -> None:
    team.publish()
    team.work("ada")
    team.work("eve", slips=1)
    found = team.advance()
    assert (found.failed, found.excluded, found.assignments_requested) == (5, 1, 5)
    assert team.work("eve") == []
    assert len(team.work("bob")) == 5
    assert team.advance().finished
    no_money_has_moved(team)


def test_every_step_of_a_campaign_s_life_works_without_money(team: Team) -> None:
    team.publish()
    pause(team.campaign)
    resume(team.campaign)
    expire(team.campaign, team.clock.now())
    team.deliver()
    assert team.take("ada") is None
    team.advance()
    covered, left_out = prolongations(team.campaign, team.clock.now())
    assert (sum(one.lacking for one in covered), len(covered), left_out) == (0, 5, [])
    done = prolong(team.campaign, days=7, now=team.clock.now())
    assert (done.hits, done.assignments, done.cents, done.left_out) == (5, 0, 0, 0)
    team.deliver()
    assert len(team.work("ada")) == 5
    cancel(team.campaign, team.clock.now())
    team.advance()
    team.advance()
    assert not team.campaign.hits.filter(closed_at=None).exists()
    assert campaign_status(team.campaign) == "cancelled: submitted assignments are still reviewed"
    assert blockers(team.campaign) == []
    no_money_has_moved(team)


def test_all_hits_are_affordable_and_none_is_left_out(team: Team) -> None:
    team.publish()
    seen = outlook(team.campaign)
    assert (seen.open_hits, seen.open_assignments, seen.left_out_hits) == (5, 10, 0)
    assert (seen.open_cents, seen.tie_break_cents, seen.available_cents) == (0, 0, 0)
    assert list(team.campaign.hits.values_list("tie_reserve", "price_cents").distinct()) == [(1, 0)]


def test_a_comparison_with_the_own_record_finds_nothing_to_mend(team: Team) -> None:
    team.publish()
    team.work("ada")
    team.advance()
    report = reconcile(team.campaign, team.crowd, full=True, clock=team.clock.now)
    assert (report.hits, report.read, report.repairs, report.stopped_by) == (5, 5, 0, None)
    assert report.manual == []


def test_paid_work_costs_its_reward_and_no_fee(tmp_path: Path) -> None:
    team = own_team(tmp_path, reward_cents=10)
    with pytest.raises(UserError, match="has no budget yet"):
        team.publish()
    set_budget(
        team.campaign, 160
    )  # three assignments of ten cents for each of five HITs, and ten more
    assert team.publish().sent == 5
    assert account_of(team.campaign).reserved_cents == 150
    [work, *_] = team.work("ada")
    team.advance()
    assert (account_of(team.campaign).paid_cents, account_of(team.campaign).reserved_cents) == (
        50,
        100,
    )
    bonus = give_bonus(team.campaign, work, cents=10, reason="Thank you.")
    team.deliver()
    assert (bonus.cents, account_of(team.campaign).paid_cents) == (10, 60)
    assert account_of(team.campaign).available_cents == 0


def test_a_bonus_needs_a_budget_where_nothing_else_does(team: Team) -> None:
    team.publish()
    [work, *_] = team.work("ada")
    team.advance()
    with pytest.raises(UserError, match=r"costs \$0.50 in all, but the budget of team has \$0.00"):
        give_bonus(team.campaign, work, cents=50, reason="Thank you.")
    set_budget(team.campaign, 50)
    assert give_bonus(team.campaign, work, cents=50, reason="Thank you.").new
    team.deliver()
    assert account_of(team.campaign).paid_cents == 50
