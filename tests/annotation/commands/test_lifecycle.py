"""`quorum campaign` in what costs money or strands work: said first, done on a yes."""

import os
import sys
from collections.abc import Callable, Iterator

import pytest

from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.publishing.lifecycle import pause
from tests.annotation.commands.test_commands import previewed, refused, run, run_json
from tests.support.command_line import show_bars
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19
Typed = Callable[[str], None]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Typed]:
    """A person at a terminal types a line."""
    master, slave = os.openpty()
    terminal = os.fdopen(slave)
    monkeypatch.setattr(sys, "stdin", terminal)
    yield lambda line: void(os.write(master, f"{line}\n".encode()))
    terminal.close()
    os.close(master)


def void(_: object) -> None:
    """For a function that is called for its effect."""


@pytest.mark.parametrize(
    "verb", [["pause"], ["cancel"], ["exclude", "AEVE"], ["extend", "--days", "7"]]
)
def test_without_a_terminal_and_a_yes_nothing_is_done(stage: Stage, verb: list[str]) -> None:
    stage.publish()
    stage.work("eve", 1)
    stage.advance()
    calls, money = stage.campaign.outbox.count(), account_of(stage.campaign).reserved_cents
    previewed("campaign", verb[0], "faq", *verb[1:])
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"
    assert stage.campaign.outbox.count() == calls
    assert not stage.campaign.exclusions.exists()
    assert account_of(stage.campaign).reserved_cents == money


def test_at_a_terminal_a_typed_y_is_a_yes(
    stage: Stage, typed: Typed, capfd: pytest.CaptureFixture[str]
) -> None:
    typed("y")
    run("campaign", "pause", "faq")
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "paused"
    assert "Nothing more is bought for faq" in capfd.readouterr().err


@pytest.mark.parametrize("line", ["n", "", "what?"])
def test_anything_else_is_a_no(
    stage: Stage, typed: Typed, line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    typed(line)
    with pytest.raises(SystemExit, match="2"):
        run("campaign", "pause", "faq")
    assert capfd.readouterr().err.endswith("Continue? [y/N] Nothing was changed.\n")
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"


def test_what_it_costs_is_said_before_the_yes(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.advance()
    report = previewed("campaign", "pause", "faq")
    assert "9 open assignments and 0 submissions without a decision may still cost $1.71" in report
    assert "25 triplets have no label yet" in report
    report = previewed("campaign", "expire", "faq")
    assert "the 5 HITs of faq that have 9 open assignments" in report
    assert "Up to $2.66 of what is reserved is free again" in report
    report = previewed("campaign", "cancel", "faq")
    assert "You cannot undo cancelling faq. 0 HITs and 0 further assignments" in report
    assert "5 HITs with 9 open assignments expire" in report


def test_with_yes_the_same_is_said_on_standard_error(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = run("campaign", "pause", "faq", "--yes")
    assert "Nothing more is bought for faq" in capfd.readouterr().err
    assert "paused manually" in shown
    found = run_json("campaign", "resume", "faq", "--yes")
    assert capfd.readouterr().err == ""
    assert (found["status"], found["waiting_hits"]) == ("active", 0)


# the budget


@pytest.mark.parametrize(
    ("text", "cents"), [("12", 1200), ("12.5", 1250), ("$0.29", 29), ("123456789.01", 12345678901)]
)
def test_a_budget_is_read_to_the_cent(stage: Stage, text: str, cents: int) -> None:
    assert run_json("campaign", "budget", "faq", text)["budget_cents"] == cents


@pytest.mark.parametrize("text", ["12.345", "-", "1e3", "nan", "1,000", "", "٣", "12."])
def test_what_is_no_sum_of_money_is_refused(stage: Stage, text: str) -> None:
    assert "is no sum of money: write dollars such as" in refused("campaign", "budget", "faq", text)


def test_a_budget_below_what_is_spent_and_reserved_is_refused(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.advance()
    assert refused("campaign", "budget", "faq", "2.84") == (
        "Campaign faq has spent $0.19 and reserved $2.66: its budget cannot be less than $2.85."
    )
    assert run_json("campaign", "budget", "faq", "2.85")["available_cents"] == 0


def test_at_its_cap_a_campaign_says_so_and_a_raise_buys_on(stage: Stage) -> None:
    set_budget(stage.campaign, 3 * 3 * PRICE + 1)
    published = run_json("campaign", "publish", "faq")
    assert (published["new_hits"], published["left_out"]) == (3, 2)
    report = published["status"]
    assert report == (
        "at its budget: 2 HITs and 0 further votes wait; raise it by $1.13: "
        "`quorum campaign budget faq 2.85`"
    )
    raised = run_json("campaign", "budget", "faq", "2.85")
    assert raised["status"] == "at its budget, and there is room again: the next pass buys on"
    run_json("campaign", "collect", "faq")
    assert stage.mturk.count("hits") == 5
    assert run_json("campaign", "status", "faq")["status"] == "active"


def test_a_campaign_without_a_budget_is_not_published(stage: Stage) -> None:
    run("campaign", "budget", "faq", "0")
    assert "campaign budget faq AMOUNT" in refused("campaign", "publish", "faq")


# the verbs at work


def test_expire_and_extend_reach_the_crowd_at_once(stage: Stage) -> None:
    stage.publish()
    expired = run_json("campaign", "expire", "faq", "--yes")
    assert (expired["expired_hits"], expired["sent"], expired["waiting"]) == (5, 5, 0)
    assert stage.mturk.on_hold_cents == 0
    run_json("campaign", "collect", "faq")
    assert account_of(stage.campaign).reserved_cents == 0
    extended = run_json("campaign", "extend", "faq", "--days", "7", "--yes")
    assert (extended["hits"], extended["assignments"], extended["cents"]) == (5, 10, 10 * PRICE)
    assert stage.mturk.on_hold_cents == account_of(stage.campaign).reserved_cents == 10 * PRICE


def test_cancel_reaches_the_crowd_at_once(stage: Stage) -> None:
    stage.publish()
    found = run_json("campaign", "cancel", "faq", "--yes")
    assert (found["open_assignments"], found["sent"]) == (10, 5)
    assert str(found["status"]).startswith("cancelled: submitted")
    assert stage.mturk.on_hold_cents == 0


def test_what_the_crowd_does_not_hear_waits(stage: Stage) -> None:
    stage.publish()
    stage.mturk.stop()
    report = refused("campaign", "expire", "faq", "--yes")
    assert report.startswith("It is decided and kept; 5 calls wait for the next pass: MTurk cannot")
    assert stage.campaign.outbox.filter(kind="lifetime", state="pending").count() == 5
    report = refused("campaign", "expire", "faq", "--yes")
    assert report == "No HIT of faq is open to expire; 5 calls wait for the next pass."


def test_the_bar_moves_by_calls_that_got_through(
    stage: Stage, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show_bars(monkeypatch)
    stage.publish()
    stage.mturk.stop()
    refused("campaign", "expire", "faq", "--yes")
    bar = capfd.readouterr().err
    assert "0/5" in bar
    assert "5/5" not in bar


def test_retry_sends_what_was_refused(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.advance()
    stage.campaign.outbox.filter(kind="approve").update(state="failed", error="no")
    found = run_json("campaign", "retry", "faq")
    assert (found["refused_before"], found["sent"], found["waiting"]) == (1, 1, 0)


def test_retry_does_not_buy_for_a_paused_campaign(stage: Stage) -> None:
    stage.publish()
    stage.campaign.outbox.update(state="failed", first_sent_at=None)
    pause(stage.campaign)
    found = run_json("campaign", "retry", "faq")
    assert (found["refused_before"], found["sent"], found["waiting"]) == (5, 0, 5)


def test_a_worker_is_excluded_and_taken_back(stage: Stage) -> None:
    stage.publish()
    stage.work("eve", 1)
    stage.advance()
    out = run_json("campaign", "exclude", "faq", "AEVE", "--yes")
    assert (out["votes"], out["cents"], out["sent"]) == (5, PRICE, 1)
    assert stage.accept("eve", 2) is None
    assert "5 votes count again, and $0.19" in previewed("campaign", "restore", "faq", "AEVE")
    back = run_json("campaign", "restore", "faq", "AEVE", "--yes")
    assert (back["votes"], back["cents"], back["sent"]) == (5, PRICE, 1)
    assert stage.accept("eve", 2)


def test_a_bonus_is_paid_once(stage: Stage) -> None:
    stage.publish()
    work = stage.work("ada", 1)
    stage.advance()
    bonus = "campaign", "bonus", "faq", work, "0.50", "--reason", "Thank you."
    assert "AADA gets $0.50 for assignment" in previewed(*bonus)
    first, second = (run_json(*bonus, "--yes") for _ in range(2))
    assert (first["new"], first["cents"], first["sent"]) == (True, 60, 1)
    assert (second["new"], second["sent"]) == (False, 0)
    cancelled = "campaign", "cancel-bonus", *bonus[2:]
    assert refused(*cancelled, "--yes") == (
        f"The bonus of $0.50 for assignment '{work}' has been paid and cannot be taken back."
    )
    assert stage.mturk.count("bonuses") == 1


def test_work_of_a_cancelled_campaign_that_is_to_be_paid_may_need_a_higher_budget(
    stage: Stage,
) -> None:
    stage.publish()
    stage.work("ada", 1)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    run("campaign", "cancel", "faq", "--yes")
    assert run_json("campaign", "budget", "faq", "12")["budget_cents"] == 1200


def test_a_forecast_counts_what_the_budget_leaves_out(stage: Stage) -> None:
    set_budget(stage.campaign, 3 * 3 * PRICE)
    stage.publish()
    assert "the budget leaves out 2 more HITs so far" in previewed("campaign", "pause", "faq")
    assert run_json("campaign", "pause", "faq", "--yes")["left_out_hits"] == 2
    assert "the budget leaves out 2 more HITs so far" in previewed("campaign", "resume", "faq")


def test_people_read_money_under_words(stage: Stage) -> None:
    stage.publish()
    shown = run("campaign", "expire", "faq", "--yes")
    assert "for open assignments" in shown
    assert "cents" not in shown
    assert "_money" not in shown
