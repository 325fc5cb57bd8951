"""Signing in and out, and an end to the trying of passwords."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.access.throttle import Limit
from annotation.models import Attempt
from annotation.web.account import sign_in
from annotation.web.account.sign_in import BOTH
from tests.support.pages import Response
from tests.support.threads import together

pytestmark = pytest.mark.django_db

RIGHT = {"username": "ada", "password": "a long sentence of hers"}
WRONG = RIGHT | {"password": "guess"}
MOST_ATTEMPTS = BOTH.most


@pytest.fixture
def ada() -> User:
    return User.objects.create_user(**RIGHT)


def text(response: Response) -> str:
    return response.content.decode()


def test_who_signs_in_goes_where_they_were_going(client: Client, ada: User) -> None:
    response = client.post("/sign-in", RIGHT | {"next": "/password"})
    assert (response.status_code, response["Location"]) == (302, "/password")


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"],
)
def test_nobody_is_sent_to_another_site(client: Client, ada: User, elsewhere: str) -> None:
    for answer in (
        client.post("/sign-in", RIGHT | {"next": elsewhere}),
        client.post(f"/sign-in?next={elsewhere}", RIGHT),
    ):
        assert (answer.status_code, answer["Location"]) == (302, "/")


def test_the_staff_begin_at_the_campaigns(client: Client) -> None:
    User.objects.create_user(**RIGHT, is_staff=True)
    assert client.post("/sign-in", RIGHT)["Location"] == "/"


def test_a_wrong_password_is_told_in_the_page_and_not_whether_the_name_exists(
    client: Client, ada: User
) -> None:
    wrong = text(client.post("/sign-in", WRONG))
    unknown = text(client.post("/sign-in", WRONG | {"username": "nobody"}))
    sentence = "Please enter a correct username and password."
    assert sentence in wrong
    assert sentence in unknown


def test_signing_out_takes_a_form_and_ends_the_session(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert client.get("/sign-out").status_code == 405
    assert client.post("/sign-out")["Location"] == "/"
    assert client.get("/password")["Location"] == "/sign-in?next=/password"


def test_the_eleventh_wrong_password_is_refused_and_so_is_the_right_one_after_it(
    client: Client, ada: User
) -> None:
    for _ in range(MOST_ATTEMPTS):
        assert "correct username and password" in text(client.post("/sign-in", WRONG))
    for form in (WRONG, RIGHT):
        response = client.post("/sign-in", form)
        assert response.status_code == 429
        assert "wait 15 minutes" in text(response)
    assert "_auth_user_id" not in client.session


def test_other_spellings_of_a_name_do_not_begin_again(client: Client, ada: User) -> None:
    for _ in range(MOST_ATTEMPTS):
        client.post("/sign-in", WRONG)
    for spelling in ("ADA", "Ada", "\uff21da"):
        assert client.post("/sign-in", WRONG | {"username": spelling}).status_code == 429


def test_others_and_other_places_are_not_kept_waiting(client: Client, ada: User) -> None:
    User.objects.create_user("bob", password=RIGHT["password"])
    for _ in range(MOST_ATTEMPTS + 1):
        client.post("/sign-in", WRONG)
    assert client.post("/sign-in", RIGHT | {"username": "bob"}).status_code == 302
    assert Client(REMOTE_ADDR="192.0.2.7").post("/sign-in", RIGHT).status_code == 302


def test_the_wait_ends_and_is_not_made_longer_by_trying(client: Client, ada: User) -> None:
    for _ in range(MOST_ATTEMPTS + 5):
        client.post("/sign-in", WRONG)
    assert Attempt.objects.count() == 3 * MOST_ATTEMPTS
    past = timezone.now() - timedelta(minutes=BOTH.minutes, seconds=1)
    Attempt.objects.update(at=past)
    assert client.post("/sign-in", RIGHT).status_code == 302


def test_the_right_password_begins_the_count_again(client: Client, ada: User) -> None:
    for _ in range(3):
        for _ in range(MOST_ATTEMPTS - 1):
            client.post("/sign-in", WRONG)
        assert client.post("/sign-in", RIGHT).status_code == 302


def test_who_signs_in_at_once_leaves_no_attempt(client: Client, ada: User) -> None:
    client.post("/sign-in", RIGHT)
    assert not Attempt.objects.exists()


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "NAME", Limit("name", 3, 15, "The name, from everywhere."))
    monkeypatch.setattr(sign_in, "ADDRESS", Limit("address", 3, 15, "The address, all names."))


def test_a_name_is_not_tried_without_end_from_ever_other_addresses(
    low_limits: None, ada: User
) -> None:
    for number in range(3):
        Client(REMOTE_ADDR=f"192.0.2.{number}").post("/sign-in", WRONG)
    response = Client(REMOTE_ADDR="192.0.2.9").post("/sign-in", RIGHT)
    assert response.status_code == 429
    assert "The name, from everywhere." in text(response)
    User.objects.create_user("bob", password=RIGHT["password"])
    bobs = RIGHT | {"username": "bob"}
    assert Client(REMOTE_ADDR="192.0.2.9").post("/sign-in", bobs).status_code == 302


def test_one_password_is_not_tried_on_ever_other_names(
    low_limits: None, client: Client, ada: User
) -> None:
    for number in range(3):
        client.post("/sign-in", WRONG | {"username": f"somebody{number}"})
    response = client.post("/sign-in", RIGHT)
    assert response.status_code == 429
    assert "The address, all names." in text(response)
    assert Client(REMOTE_ADDR="192.0.2.9").post("/sign-in", RIGHT).status_code == 302


def test_an_account_of_ones_own_does_not_clear_the_count_of_the_address(
    low_limits: None, client: Client, ada: User
) -> None:
    for number in range(3):
        client.post("/sign-in", RIGHT)
        client.post("/sign-in", WRONG | {"username": f"somebody{number}"})
    assert client.post("/sign-in", RIGHT).status_code == 429


@pytest.mark.django_db(transaction=True)
def test_passwords_tried_at_once_are_all_counted(ada: User) -> None:
    for _ in range(MOST_ATTEMPTS - 2):
        Client().post("/sign-in", WRONG)
    answers = together(*[lambda: Client().post("/sign-in", WRONG).status_code] * 6)
    assert answers.count(200) <= 2
    assert answers.count(429) >= 4


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_tells(
    client: Client, ada: User, settings: Settings
) -> None:
    settings.PUBLIC_URL = "https://quorum.example.org"
    eve = {"X-Forwarded-For": "10.0.0.1, 192.0.2.66"}
    for _ in range(MOST_ATTEMPTS + 1):
        client.post("/sign-in", WRONG, headers=eve)
    # What stands before the last comma is eve's own invention.
    forged = {"X-Forwarded-For": "10.9.9.9, 192.0.2.66"}
    assert client.post("/sign-in", WRONG, headers=forged).status_code == 429
    assert (
        client.post("/sign-in", RIGHT, headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 302
    )


def test_the_records_are_entered_by_the_same_door(client: Client) -> None:
    first = client.get("/admin/")
    second = client.get(first["Location"])
    assert second["Location"] == "/sign-in?next=/admin/"
    assert client.post("/admin/login/", WRONG).status_code == 302
    assert not Attempt.objects.exists()


def test_no_cookie_no_sign_in(ada: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post("/sign-in", RIGHT).status_code == 403


def test_hostile_names_are_names_that_nobody_has(client: Client) -> None:
    for name in ["<script>alert(1)</script>", "a\x00b", "x" * 5000, "' OR 1=1 --"]:
        page = text(client.post("/sign-in", WRONG | {"username": name}))
        assert "<script>alert" not in page
        assert re.search("dash-(?:bad|error)", page)


def test_the_page_to_change_a_password_is_kept_by_no_cache(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert "no-store" in client.get("/password")["Cache-Control"]


def test_a_password_is_changed_by_who_knows_it(client: Client, ada: User) -> None:
    client.force_login(ada)
    form = {"new_password1": "another long one", "new_password2": "another long one"}
    refused = client.post("/password", form | {"old_password": "guess"})
    assert "Your old password was entered incorrectly" in text(refused)
    done = client.post("/password", form | {"old_password": RIGHT["password"]}, follow=True)
    assert "Your password is changed." in text(done)
    ada.refresh_from_db()
    assert ada.check_password("another long one")
