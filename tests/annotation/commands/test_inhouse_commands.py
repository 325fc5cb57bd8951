"""`quorum campaign` for a crowd of one's own: no --live, and no sums where nobody is paid."""

from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.models import Campaign
from annotation.operations.registry import LONG_OPERATIONS
from annotation.pipeline.setup.create import get_campaign
from annotation.protocol.policy.crowds import PANEL
from tests.annotation.commands.test_commands import previewed, refused, run, run_json
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.annotation.support.hits import make_campaign
from tests.worlds.account import Account
from tests.worlds.small_campaign import Stage, packed_campaign, write_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return own_team(tmp_path)


def test_a_campaign_is_created_for_one_s_own_people(tmp_path: Path) -> None:
    queries = str(write_rows(tmp_path / "mine.jsonl", [{"query": "how is bread made"}]))
    made = run_json("campaign", "create", "mine", "--queries", queries, "--crowd", "inhouse")
    assert (made["crowd"], made["budget_cents"]) == ("inhouse", 0)
    assert "Two judgments per item need 2 people, and ties a third person" in made["warning"]
    said = run("campaign", "create", "other", "--queries", queries, "--crowd", "inhouse")
    names = {"mturk": "a Mechanical Turk server", "panel": "a panel", "prolific": "Prolific"}
    others = "; ".join(f"`--crowd {kind}`: {name}" for kind, name in names.items())
    chosen = f"your own team, fixed from now on (instead, {others})"
    assert f"crowd              {chosen}\n" in said
    policy = get_campaign("mine").policy
    assert (policy.crowd, policy.reward_cents, policy.masters) == ("inhouse", 0, False)


def test_publishing_needs_no_live_and_says_where_people_work(
    team: Team, settings: Settings
) -> None:
    settings.MTURK_ENDPOINT = settings.MTURK_PRODUCTION
    settings.PUBLIC_URL = "https://quorum.acme.org"
    published = run_json("campaign", "publish", "team")
    assert published["work_at"] == "https://quorum.acme.org/work"
    assert (published["sent"], published["waiting"], published["status"]) == (5, 0, "active")


def test_publishing_to_a_panel_leads_on_to_its_link() -> None:
    done = LONG_OPERATIONS["publish"].report(make_campaign("faq", **PANEL.defaults()), {"new": 5})
    assert done["next"] == "quorum campaign open-panel faq"
    assert "work_at" not in done


def test_collecting_goes_on_to_the_end(team: Team) -> None:
    run("campaign", "publish", "team")
    team.work("ada")
    team.work("bob")
    collected = run_json("campaign", "collect", "team")
    assert (collected["new"], collected["labelled"], collected["finished"]) == (10, 25, True)


@pytest.mark.parametrize("step", ["estimate", "status"])
def test_where_nobody_is_paid_no_sum_is_shown(team: Team, step: str) -> None:
    team.publish()
    shown = run("campaign", step, "team")
    assert "none: the work is unpaid" in shown
    assert "$" not in shown
    assert run_json("campaign", step, "team")["money"]


def test_where_people_are_paid_the_sums_are_shown(tmp_path: Path) -> None:
    own_team(tmp_path, reward_cents=10)
    shown = run("campaign", "estimate", "team")
    assert "$1.00" in shown  # ten assignments
    assert "none moves" not in shown


@pytest.mark.parametrize("verb", [["pause"], ["expire"], ["cancel"], ["extend", "--days", "7"]])
def test_a_forecast_without_money_names_none(team: Team, verb: list[str]) -> None:
    team.publish()
    report = previewed("campaign", verb[0], "team", *verb[1:])
    assert "$" not in report
    assert "paid" not in report
    assert "$" not in run("campaign", verb[0], "team", *verb[1:], "--yes")


def test_resuming_without_money_names_none(team: Team) -> None:
    team.publish()
    run("campaign", "pause", "team", "--yes")
    assert "$" not in previewed("campaign", "resume", "team")
    assert "$" not in run("campaign", "resume", "team", "--yes")


def test_a_worker_excluded_without_money_has_cost_none(team: Team) -> None:
    team.publish()
    team.work("eve")
    team.advance()
    report = previewed("campaign", "exclude", "team", team.member("eve").worker_id)
    assert "eve takes no further part in team: 25 votes no longer count." in report
    assert "$" not in report
    run("campaign", "exclude", "team", "eve", "--yes")  # by her user name
    assert team.campaign.exclusions.get().worker.worker_id == team.member("eve").worker_id
    assert "paid" not in team.campaign.outbox.get(kind="exclude").reason
    assert run_json("campaign", "restore", "team", "eve", "--yes")["user_name"] == "eve"


def test_nobody_is_let_in_who_is_no_member(tmp_path: Path) -> None:
    team = own_team(tmp_path, qualification_items=4)
    team.publish()
    assert "NOSUCHMEMBER" in refused("campaign", "grant-qualification", "team", "NOSUCHMEMBER")
    assert not team.campaign.qualification_results.exists()
    assert team.take("ada") is None
    run("campaign", "grant-qualification", "team", team.member("ada").worker_id)
    assert team.take("ada") is not None


def test_both_crowds_are_compared_at_once_but_for_other_endpoints(
    team: Team, mturk: Account, tmp_path: Path
) -> None:
    team.publish()
    for name in ("shop", "elsewhere"):
        Stage(packed_campaign(tmp_path, name), mturk).publish()
    Campaign.objects.filter(name="elsewhere").update(endpoint="https://another.example.org")
    assert list(run_json("campaign", "reconcile")["campaigns"]) == ["team", "shop"]  # type: ignore[call-overload]


def test_simulated_workers_find_nothing_where_all_campaigns_are_a_team_s(team: Team) -> None:
    team.publish()
    said = refused("crowd", "simulate", "--emulator", "http://127.0.0.1:9")
    assert "All published campaigns are your own team's" in said
    assert "`quorum campaign dry-run NAME`" in said
