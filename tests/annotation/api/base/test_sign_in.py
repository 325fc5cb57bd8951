"""Signing in by a token, and by the site's session."""

import io
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken
from pytest_django import Settings

from annotation.models import AuditEntry, Campaign
from tests.annotation.api.people import PASSWORD, Program, is_problem, person

NOBODY = Program(None)


@pytest.fixture
def ada(campaign: Campaign) -> User:
    return person("ada", campaign, "viewer", password=PASSWORD)


def ask(password: str = PASSWORD, **more: object) -> dict[str, object]:
    return {"name": "ada", "password": password, **more}


def with_token(token: str) -> Program:
    program = Program(None)
    program.client = Client(headers={"Authorization": f"Bearer {token}"})
    return program


def test_a_name_and_a_password_give_a_token_that_signs_in(ada: User) -> None:
    answer = NOBODY.post("tokens", ask())
    assert answer.status_code == 201
    report = with_token(answer.json()["token"]).get("me")
    assert report.json()["name"] == "ada"
    assert report.json()["roles"] == [
        {
            "campaign": "faq",
            "role": "viewer",
            "permissions": [
                "annotation.view_campaign",
                "annotation.view_judgment",
                "exports.download_release",
            ],
        }
    ]


def test_a_new_password_ends_all_tokens_however_it_is_set(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(ada)
    assert program.get("me").status_code == 200
    monkeypatch.setattr("getpass.getpass", lambda **_: "violet canyon 7")
    call_command("changepassword", "ada", stdout=io.StringIO())
    assert is_problem(program.get("me"), 401)


def test_a_password_whose_hash_is_renewed_ends_none(ada: User, settings: Settings) -> None:
    hashers = "django.contrib.auth.hashers"
    settings.PASSWORD_HASHERS = [f"{hashers}.MD5PasswordHasher", f"{hashers}.ScryptPasswordHasher"]
    User.objects.update(password=make_password(PASSWORD, hasher="scrypt"))
    program = Program(ada)
    assert Client().login(username="ada", password=PASSWORD)
    assert User.objects.get().password.startswith("md5")
    assert program.get("me").status_code == 200


def test_no_answer_is_cached(ada: User) -> None:
    assert Program(ada).get("me").headers["Cache-Control"] == "no-store"


def test_a_token_lasts_as_many_days_as_were_asked_for(ada: User) -> None:
    NOBODY.post("tokens", ask(days=2))
    left = AuthToken.objects.get().expiry - timezone.now()
    assert timedelta(days=1, hours=23) < left <= timedelta(days=2)


@pytest.mark.parametrize("sent", [{"days": 0}, {"days": 366}, {"days": "2"}, {"name": 5}])
def test_what_is_no_request_for_a_token_gives_none(ada: User, sent: dict[str, object]) -> None:
    answer = NOBODY.post("tokens", ask() | sent)
    assert is_problem(answer, 400)
    assert list(answer.json()["errors"]) == list(sent)


def test_a_wrong_password_gives_no_token(ada: User) -> None:
    assert is_problem(NOBODY.post("tokens", ask("guess")), 401)
    assert not AuthToken.objects.exists()


def test_an_account_that_is_closed_gets_no_token_and_its_tokens_end(ada: User) -> None:
    program = Program(ada)
    User.objects.update(is_active=False)
    assert is_problem(NOBODY.post("tokens", ask()), 401)
    assert is_problem(program.get("me"), 401)


def test_wrong_passwords_count_at_both_doors_together(ada: User) -> None:
    page = Client()
    for _ in range(5):
        assert NOBODY.post("tokens", ask("guess")).status_code == 401
        page.post("/sign-in", {"username": "ada", "password": "guess"})
    refused = NOBODY.post("tokens", ask())
    assert is_problem(refused, 429)
    assert "10 wrong passwords" in refused.json()["detail"]
    assert page.post("/sign-in", {"username": "ada", "password": PASSWORD}).status_code == 429


def test_a_lockout_by_the_api_is_logged_as_such(ada: User) -> None:
    for _ in range(10):
        NOBODY.post("tokens", ask("guess"))
    assert AuditEntry.objects.get(verb="lockout").via == AuditEntry.Via.API


@pytest.mark.parametrize("token", ["", "a b", "f" * 64, "\xff" * 64, "0" * 5000, "F" * 64])
def test_what_is_no_token_signs_nobody_in(ada: User, token: str) -> None:
    AuthToken.objects.create(ada)
    answer = with_token(token).get("me")
    assert is_problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_that_is_over_signs_nobody_in(ada: User) -> None:
    program = Program(ada)
    AuthToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert is_problem(program.get("me"), 401)


def test_a_token_made_and_one_taken_back_stand_in_the_log_without_themselves(ada: User) -> None:
    made = NOBODY.post("tokens", ask(days=2)).json()
    assert NOBODY.post("tokens", ask("guess")).status_code == 401
    program = Program(ada)
    for status in (204, 404):
        assert program.delete(f"tokens/{made['id']}").status_code == status
    rows = list(AuditEntry.objects.order_by("pk"))
    assert [(row.verb, row.actor, row.via, row.subject) for row in rows] == [
        ("create-token", "ada", "api", "ada"),
        ("delete-token", "ada", "api", "ada"),
    ]
    assert [row.details for row in rows] == [
        {"id": made["id"], "days": 2},
        {"id": made["id"]},
    ]
    assert made["token"] not in str([row.details for row in rows])


def test_tokens_are_listed_without_what_signs_in(ada: User) -> None:
    program = Program(ada)
    rows = program.get("tokens").json()
    assert [sorted(row) for row in rows] == [["created", "expiry", "id"]]
    assert len(rows[0]["id"]) < 20  # the whole token has 64 letters


def test_a_token_that_is_taken_back_signs_nobody_in(ada: User) -> None:
    program = Program(ada)
    key = program.get("tokens").json()[0]["id"]
    assert program.delete(f"tokens/{key}").status_code == 204
    assert is_problem(program.get("me"), 401)


def test_nobody_takes_back_the_token_of_somebody_else(ada: User) -> None:
    AuthToken.objects.create(ada)
    bob = Program(person("bob"))
    key = AuthToken.objects.get(user=ada).token_key
    assert is_problem(bob.delete(f"tokens/{key}"), 404)
    assert AuthToken.objects.filter(user=ada).exists()


def test_a_session_reads_and_with_the_csrf_token_it_acts(campaign: Campaign) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person("ada", campaign, "owner"))
    assert browser.get("/api/v1/campaigns/faq").status_code == 200
    pause = "/api/v1/campaigns/faq/operations/pause"
    sent = {"agreed": False}
    refused = browser.post(pause, sent, content_type="application/json")
    assert is_problem(refused, 403)
    assert "CSRF" in refused.json()["detail"]
    browser.get("/sign-in")  # whose form sets the cookie
    token = browser.cookies["csrftoken"].value
    taken = browser.post(
        pause, sent, content_type="application/json", headers={"X-CSRFToken": token}
    )
    assert taken.status_code == 200


def test_the_password_stands_in_no_answer(ada: User) -> None:
    assert "guess" not in str(NOBODY.post("tokens", ask("guess")).json())


def test_a_new_password_ends_the_tokens_made_with_the_old_one(ada: User) -> None:
    token = NOBODY.post("tokens", ask()).json()["token"]
    client = Client()
    client.force_login(ada)
    new = "another long password 7"
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post("/password", sent).status_code == 302
    assert is_problem(with_token(token).get("me"), 401)


def test_a_password_set_by_an_administrator_ends_them_too(ada: User) -> None:
    token = NOBODY.post("tokens", ask()).json()["token"]
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    sent = {
        "usable_password": "true",
        "password1": "quite another 7",
        "password2": "quite another 7",
    }
    assert client.post(f"/admin/auth/user/{ada.pk}/password/", sent).status_code == 302
    assert is_problem(with_token(token).get("me"), 401)
