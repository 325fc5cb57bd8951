"""A lockout is in the log; staff see it and can end it, and no sign-in page bypasses it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from annotation.models import Attempt, AuditEntry
from annotation.web.account.sign_in import BOTH
from tests.annotation.support.parts import at
from tests.annotation.web.stage import staff
from tests.support.threads import together

pytestmark = pytest.mark.django_db
RIGHT = {"username": "ada", "password": "a long sentence of hers"}
WRONG = RIGHT | {"password": "guess"}
PAGE = "/admin/lockouts/"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user(**RIGHT)


def lock(client: Client, times: int = BOTH.most, **form: str) -> None:
    for _ in range(times):
        client.post("/sign-in", WRONG | form)


def test_a_lockout_is_logged_once_however_often_is_tried(client: Client, ada: User) -> None:
    lock(client, BOTH.most - 1)
    assert not AuditEntry.objects.exists()
    lock(client, 6)
    (row,) = AuditEntry.objects.all()
    assert (row.user, row.actor, row.via, row.verb) == (None, "somebody", "page", "lockout")
    assert row.subject == "ada"
    assert row.details["limit"] == "sign-in"
    assert row.details["address"] == "127.0.0.1"


def test_what_is_no_account_s_name_is_not_kept_for_it_may_be_a_password(client: Client) -> None:
    lock(client, username="correct horse battery")
    (row,) = AuditEntry.objects.all()
    assert row.subject == "no account"
    assert "horse" not in str(row.details)


@pytest.mark.django_db(transaction=True)
def test_of_several_tries_at_once_one_fills_the_limit(ada: User) -> None:
    lock(Client(), BOTH.most - 3)
    together(*[lambda: Client().post("/sign-in", WRONG)] * 5)
    lock(Client(), 5)
    assert AuditEntry.objects.filter(verb="lockout").count() == 1


def test_the_staff_see_who_is_locked_out_until_it_ends(client: Client, ada: User) -> None:
    lock(client)
    carlas = at(staff("carla"))
    page = carlas.get(PAGE).content.decode()
    assert "ada" in page
    assert "127.0.0.1" in page
    assert "Unlock" not in page.replace('<span class="sr-only">Unlock</span>', "")
    Attempt.objects.update(at=timezone.now() - timedelta(hours=2))
    Client().post("/sign-in", WRONG | {"username": "bob"})  # what is too old goes
    assert "Nobody is locked out" in carlas.get(PAGE).content.decode()


def test_who_may_ends_it_and_that_is_logged(client: Client, ada: User) -> None:
    lock(client)
    assert client.post("/sign-in", RIGHT).status_code == 429
    end = f"{PAGE}{AuditEntry.objects.get().details['digest']}/end"
    assert at(staff("carla")).post(end).status_code == 403
    assert client.post("/sign-in", RIGHT).status_code == 429
    doras = at(staff("dora", "delete_attempt"))
    assert doras.get(end).status_code == 405
    assert doras.post(end)["Location"] == PAGE
    row = AuditEntry.objects.get(verb="unlock")
    assert (row.actor, row.subject) == ("dora", "ada")
    assert client.post("/sign-in", RIGHT).status_code == 302
    doras.post(end)
    assert AuditEntry.objects.filter(verb="unlock").count() == 1


def test_after_an_unlocking_the_limit_is_as_high_as_before(client: Client, ada: User) -> None:
    lock(client)
    digest = AuditEntry.objects.get().details["digest"]
    at(staff("dora", "delete_attempt")).post(f"{PAGE}{digest}/end")
    lock(client, BOTH.most)
    assert AuditEntry.objects.filter(verb="lockout").count() == 2
    assert client.post("/sign-in", RIGHT).status_code == 429


def test_nobody_ends_what_is_no_lockout(ada: User) -> None:
    Client().post("/sign-in", WRONG)
    doras = at(staff("dora", "delete_attempt"))
    digest = Attempt.objects.first().digest  # type: ignore[union-attr]
    assert doras.post(f"{PAGE}{digest}/end").status_code == 302
    assert Attempt.objects.count() == 3
    assert not AuditEntry.objects.exists()


def test_others_see_nothing_of_it(client: Client, ada: User) -> None:
    assert client.get(PAGE).status_code == 302
    assert at(ada).get(PAGE).status_code == 403
    assert at(ada).post(f"{PAGE}{'0' * 64}/end").status_code == 403


@pytest.mark.parametrize("door", ["/admin/login/", "/admin/", "/admin/auth/user/"])
def test_the_records_have_no_door_of_their_own(client: Client, door: str) -> None:
    root = User.objects.create_superuser("root", password=RIGHT["password"])
    lock(client, username="root")
    form = {"username": "root", "password": RIGHT["password"], "next": "/admin/"}
    client.post(door, form, follow=True)
    assert "_auth_user_id" not in client.session
    assert root.is_active
