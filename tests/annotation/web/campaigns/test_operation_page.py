"""An operation on its page: its fields, its preview, and its execution by those who may."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import AuditEntry, Role
from annotation.pipeline.ledger.reservations import account_of
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.worlds.small_campaign import Stage
from tests.worlds.team import OWNER, make_team


def address(operation: str) -> str:
    return f"/admin/campaigns/faq/operations/{operation}"


def client_of(stage: Stage, role: str) -> Client:
    user = User.objects.create_user(role)
    Role.objects.create(user=user, campaign=stage.campaign, name=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def owner(stage: Stage) -> Client:
    return client_of(stage, "owner")


def text_of(response: object) -> str:
    return response.content.decode()  # type: ignore[attr-defined, no-any-return]


def test_what_follows_is_said_before_anything_is_done(stage: Stage, owner: Client) -> None:
    page = owner.get(address("pause"))
    assert page.status_code == 200
    assert "Nothing more is bought for faq" in text_of(page)
    assert owner.post(address("pause")).status_code == 200  # nobody has agreed yet
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"
    assert not AuditEntry.objects.exists()


def test_fields_are_asked_for_first_and_kept(stage: Stage, owner: Client) -> None:
    assert 'name="amount"' in text_of(owner.get(address("budget")))
    seen = text_of(owner.post(address("budget"), {"amount": "50"}))
    assert "faq may cost $50.00 at most" in seen
    assert '<input type="hidden" name="amount" value="50"' in seen
    owner.post(address("budget"), {"amount": "50", "agreed": "yes"})
    assert account_of(stage.campaign).budget_cents == 5000


def test_what_cannot_be_done_is_told_in_a_sentence(stage: Stage, owner: Client) -> None:
    for operation, sent, said in [
        ("budget", {"amount": "-1"}, "is no sum of money"),
        ("extend", {"days": "400"}, "less than or equal to 365"),
        ("extend", {"days": "soon"}, "Enter a whole number"),
        ("exclude", {"worker": "<b>eve</b>", "reason": "no"}, "&lt;b&gt;eve&lt;/b&gt;"),
        ("resume", {"agreed": "yes"}, "Campaign faq is not paused."),
    ]:
        page = text_of(owner.post(address(operation), sent | {"agreed": "yes"}))
        assert said in page
        assert "<b>eve" not in page
        assert not AuditEntry.objects.exists()


def test_what_is_for_good_takes_the_campaigns_name(stage: Stage, owner: Client) -> None:
    for typed in ("", "fa", "FAQ"):
        page = owner.post(address("cancel"), {"agreed": "yes", "typed": typed})
        assert "This is not the campaign" in text_of(page)
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"
    owner.post(address("cancel"), {"agreed": "yes", "typed": "faq"})
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "cancelled"


def test_an_unknown_act_is_not_there(owner: Client) -> None:
    assert owner.get(address("explode")).status_code == 404


def title_of(response: object) -> str:
    return response.context["title"]  # type: ignore[attr-defined, no-any-return]


def test_the_title_names_the_campaign_and_whom_it_is_about(stage: Stage, owner: Client) -> None:
    for asked, title in [
        ("pause", "Pause faq"),
        ("budget", "Budget of faq"),
        ("retry", "Retry the calls of faq"),
        ("exclude", "Exclude a worker in faq"),
        ("exclude?worker=AEVE", "Exclude AEVE in faq"),
        ("message?worker=<b>eve</b>&text=hello", "Message <b>eve</b> in faq"),
        ("bonus", "Bonus for an assignment in faq"),
        ("bonus?assignment=3A", "Bonus for assignment 3A in faq"),
        (f"reject?assignment={'3A' * 50}", f"Reject assignment {'3A' * 30} in faq"),
    ]:
        assert title_of(owner.get(address(asked))) == title


def test_the_title_names_a_member_of_the_team_as_the_team_does(
    tmp_path: Path, small_database: None
) -> None:
    team = make_team(tmp_path, "http://testserver")
    ada, client = team.members["ada"], Client()
    client.force_login(User.objects.get(username=OWNER))
    for named in (ada.worker_id, "ada"):
        page = client.get(address(f"exclude?worker={named}"))
        assert title_of(page) == "Exclude ada in faq"


def test_what_was_asked_for_is_told_as_people_write_it(stage: Stage, owner: Client) -> None:
    page = owner.post(address("budget"), {"amount": "12345.5"})
    assert page.context["values"] == [("Budget", "$12,345.50")]
    assert page.context["button"] == "Set the budget"
    assert owner.get(address("budget")).context["values"] == []
    assert owner.get(address("budget?amount=much")).context["values"] == []


def test_the_button_names_the_operation(stage: Stage, owner: Client) -> None:
    for asked, button, is_grave in [
        ("pause", "Pause", False),
        ("cancel", "Cancel the campaign", True),
        ("retry", "Retry the calls", False),
    ]:
        context = owner.get(address(asked)).context
        assert (context["button"], context["is_grave"]) == (button, is_grave)


@pytest.mark.usefixtures("small_database")
@pytest.mark.parametrize("name", ["HIT", "HITs-2026", "first-HIT"])
def test_a_team_s_campaign_keeps_its_name(tmp_path: Path, admin_client: Client, name: str) -> None:
    own_team(tmp_path, name).publish()
    address = f"/admin/campaigns/{name}/operations/cancel"
    page = text_of(admin_client.get(address))
    assert f"Cancel {name}" in page
    assert "task-2026" not in page
    assert "first-task" not in page
