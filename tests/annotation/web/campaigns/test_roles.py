"""The page of a campaign's roles."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.access.roles import PERMISSIONS
from annotation.models import Campaign, Role
from tests.annotation.support.hits import make_campaign
from tests.annotation.support.parts import at, client_with, logged, with_role

pytestmark = pytest.mark.django_db
PAGE = "/admin/campaigns/faq/roles/"


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def ada(campaign: Campaign) -> User:
    return with_role("ada", "owner", campaign)


@pytest.fixture
def adas(ada: User) -> Client:
    return at(ada)


def role_of(name: str) -> str | None:
    return Role.objects.filter(user__username=name).values_list("name", flat=True).first()


def test_it_shows_who_has_which_role_and_what_each_may(adas: Client, campaign: Campaign) -> None:
    with_role("bob", "viewer", campaign)
    with_role("cleo", "manager", None)
    with_role("dan", "viewer", make_campaign("other"))
    page = adas.get(PAGE).content.decode()
    assert "bob" in page
    assert "cleo (manager)" in page
    assert "dan" not in page
    allowed = sum(len(permissions) for permissions in PERMISSIONS.values()) + 1
    assert page.count('class="role-may"') == allowed


def test_an_owner_of_another_campaign_finds_nothing(campaign: Campaign, ada: User) -> None:
    client = client_with("owner", make_campaign("other"), "eve")
    assert client.get(PAGE).status_code == 404
    for form in ({"username": "eve", "role": "owner"}, {"username": "ada", "take": "yes"}):
        assert client.post(PAGE, form).status_code == 404
    theirs = client.post("/admin/campaigns/other/roles/", {"username": "ada", "take": "yes"})
    assert theirs.status_code == 422
    assert role_of("ada") == "owner"


def test_an_account_is_invited_by_its_name(adas: Client) -> None:
    User.objects.create_user("bob")
    response = adas.post(PAGE, {"username": "bob", "role": "adjudicator"})
    assert (response.status_code, response["Location"]) == (302, PAGE)
    assert role_of("bob") == "adjudicator"
    assert logged() == [("ada", "give-role", "bob")]


def test_what_cannot_be_is_told_in_the_page(adas: Client) -> None:
    for form, report in [
        ({"username": "nobody", "role": "viewer"}, "There is no account &#x27;nobody&#x27;"),
        ({"username": "ada", "role": "viewer"}, "ada is the last owner of faq"),
        ({"username": "ada", "role": "king"}, "Select a valid choice"),
        ({}, "This field is required"),
        ({"username": "<script>alert(1)</script>", "role": "viewer"}, "&lt;script&gt;"),
    ]:
        response = adas.post(PAGE, form)
        assert response.status_code == 422
        page = response.content.decode()
        assert report in page
        assert "<script>alert(1)" not in page
        assert logged() == []


def test_a_role_is_changed_and_taken_by_its_row(adas: Client, campaign: Campaign) -> None:
    with_role("bob", "viewer", campaign)
    row = {"username": "bob", "role": "manager"}
    assert adas.post(PAGE, row).status_code == 302
    assert role_of("bob") == "manager"
    assert adas.post(PAGE, row).status_code == 422
    assert adas.post(PAGE, {**row, "take": "yes"}).status_code == 302
    assert role_of("bob") is None
    assert adas.post(PAGE, {**row, "take": "yes"}).status_code == 422
    assert [verb for _, verb, _ in logged()] == ["give-role", "take-role"]


def test_who_gives_up_the_own_part_is_led_out(adas: Client, ada: User, campaign: Campaign) -> None:
    with_role("bob", "owner", campaign)
    response = adas.post(PAGE, {"username": "ada", "take": "yes"})
    assert response["Location"] == "/admin/campaigns/"
    assert adas.get(PAGE).status_code == 403


def test_the_page_asks_few_questions_whatever_the_size(
    adas: Client, campaign: Campaign, django_assert_max_num_queries: object
) -> None:
    for number in range(30):
        with_role(f"bob{number}", "viewer", campaign)
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        adas.get(PAGE)
