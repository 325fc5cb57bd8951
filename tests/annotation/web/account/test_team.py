"""The staff's page of members and invitations."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html
from pytest_django import Settings

from annotation.crowd.inhouse.models import Assignment, Invitation, Member
from annotation.models import Hit
from annotation.web.account import team
from tests.annotation.web.stage import make_member, offer_hits, sheet, signed_in, staff
from tests.support.pages import Response

pytestmark = pytest.mark.django_db

ATTACK = "</strong><script>alert(1)</script>{{ 7|add:7 }}"


def text(response: Response) -> str:
    return response.content.decode()


@pytest.fixture
def owner(settings: Settings) -> Client:
    """She is at the site by another name than the public one, which her links must bear."""
    settings.PUBLIC_URL = "https://quorum.example.org"
    return signed_in(staff("dora", "add_invitation", "change_member"))


def test_a_link_is_shown_once_and_makes_a_member(owner: Client, client: Client) -> None:
    made = owner.post("/team", {"note": "the spring team", "days": "7", "uses": "2"})
    (link,) = re.findall(r"https://quorum.example.org(/join/[\w-]+)", text(made))
    assert "the spring team" in text(made)
    assert link not in text(owner.get("/team"))
    row = Invitation.objects.get()
    assert row.created_by.username == "dora"
    assert row.expires_at - timezone.now() > timedelta(days=6, hours=23)
    assert link.rpartition("/")[2] not in str(Invitation.objects.values().get())
    form = {"username": "zoe", "password1": "violet canyon 7", "password2": "violet canyon 7"}
    assert client.post(link, form)["Location"] == "/work"
    assert "1 of 2" in text(owner.get("/team"))


def test_an_invitation_that_cannot_be_is_told_why(owner: Client) -> None:
    for form in [
        {"days": "0", "uses": "1"},
        {"days": "366", "uses": "1"},
        {"days": "7", "uses": "0"},
        {"days": "7", "uses": "many"},
        {"days": "7", "uses": "1", "note": "x" * 201},
        {"days": "7", "uses": "1", "note": "a\x07b"},
        {},
    ]:
        response = owner.post("/team", form)
        assert response.status_code == 422
        assert re.search("dash-(?:bad|error)", text(response))
        assert not Invitation.objects.exists()


def test_a_revoked_invitation_opens_nothing(owner: Client, client: Client) -> None:
    made = text(owner.post("/team", {"days": "7", "uses": "2"}))
    (link,) = re.findall(r"https://quorum.example.org(/join/[\w-]+)", made)
    page = owner.post(f"/team/invitations/{Invitation.objects.get().pk}/revoke", follow=True)
    assert "Open invitations" not in text(page)
    assert client.get(link).status_code == 404


def test_used_up_and_expired_invitations_are_not_listed(owner: Client) -> None:
    for note in ("fresh one", "used one", "old one"):
        owner.post("/team", {"note": note, "days": "7", "uses": "1"})
    Invitation.objects.filter(note="used one").update(uses=1)
    Invitation.objects.filter(note="old one").update(expires_at=timezone.now())
    page = text(owner.get("/team"))
    assert "fresh one" in page
    assert "used one" not in page
    assert "old one" not in page


def test_members_are_listed_with_what_they_have_done(owner: Client, adas: Client) -> None:
    offer_hits(hits=4)
    address = adas.post("/work/next")["Location"]
    for _ in range(3):
        work = Assignment.objects.get(assignment_id=address.rpartition("/")[2])
        hit = Hit.objects.get(key=work.posted_hit.annotation)
        address = adas.post(address, sheet(hit))["Location"]
    done = Assignment.objects.filter(status="submitted").order_by("pk")
    first, second, _ = done.values_list("pk", flat=True)
    Assignment.objects.filter(pk=first).update(status="approved")
    Assignment.objects.filter(pk=second).update(status="rejected")
    page: Any = html.fromstring(text(owner.get("/team")))
    (row,) = page.xpath("//tr[th[normalize-space()='ada']]")
    assert [cell.text_content().strip() for cell in row[1:4]] == ["3", "1", "1"]


def test_every_member_of_a_big_team_is_on_some_page(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "PAGE_SIZE", 2)
    for number in range(5):
        make_member(f"m{number}")
    pages = [text(owner.get("/team", {"page": page})) for page in ("1", "2", "3")]
    shown = [re.findall(r"Deactivate (m\d)", page) for page in pages]
    assert shown == [["m0", "m1"], ["m2", "m3"], ["m4"]]
    assert "Page 1 of 3" in pages[0]
    assert "?page=2" in pages[0]
    assert owner.get("/team", {"page": "x"}).status_code == 200


def test_who_is_deactivated_gets_no_work_until_activated_again(
    owner: Client, adas: Client, ada: Member
) -> None:
    offer_hits()
    address = adas.post("/work/next")["Location"]
    page = owner.post(f"/team/members/{ada.pk}", {"active": "0"}, follow=True)
    assert "ada gets no more work." in text(page)
    assert "not active" in text(page)
    for response in (adas.get("/work"), adas.get(address), adas.post("/work/next")):
        assert response.status_code == 403
        assert "Your membership has been ended" in text(response)
    assert Assignment.objects.get().status == "returned"
    owner.post(f"/team/members/{ada.pk}", {"active": "1"})
    assert adas.post("/work/next")["Location"].startswith("/work/")


def test_staff_without_the_rights_see_no_buttons(ada: Member) -> None:
    page = text(signed_in(staff("carla")).get("/team"))
    assert "ada" in page
    assert page.count("<form") == 1  # to sign out
    assert "Create link" not in page


def test_names_and_notes_are_shown_as_they_are(owner: Client) -> None:
    make_member(ATTACK)
    owner.post("/team", {"note": ATTACK, "days": "7", "uses": "1"})
    page = text(owner.get("/team"))
    assert "<script>" not in page
    assert page.count("{{ 7|add:7 }}") >= 4
    for member in Member.objects.all():
        done = owner.post(f"/team/members/{member.pk}", {"active": "0"}, follow=True)
        assert "<script>" not in text(done)


def test_a_member_who_is_not_there_is_not_found(owner: Client) -> None:
    assert owner.post("/team/members/404", {"active": "0"}).status_code == 404
    assert owner.post("/team/invitations/404/revoke").status_code == 404


def test_many_members_cost_no_more_queries_than_one(owner: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            owner.get("/team")
        return len(asked)

    make_member("m0")
    few = queries()
    for number in range(1, 6):
        make_member(f"m{number}")
        owner.post("/team", {"days": "7", "uses": "1"})
    User.objects.create_user("beside")
    assert queries() == few
