"""The first account, by the link that a new site prints."""

from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client

from annotation.access import first_account
from annotation.models import AuditEntry
from tests.annotation.web.stage import PASSWORD
from tests.support.threads import together

pytestmark = pytest.mark.django_db

SENT = {
    "username": "olga",
    "email": "olga@example.org",
    "password1": PASSWORD,
    "password2": PASSWORD,
}


def path() -> str:
    return urlsplit(first_account.link()).path


def test_it_may_do_everything_and_is_signed_in_at_the_first_run_checklist(client: Client) -> None:
    assert "Create the first account" in client.get(path()).content.decode()
    answer = client.post(path(), SENT, follow=True)
    assert answer.redirect_chain == [("/admin/campaigns/", 302)]
    assert "To your first dataset" in answer.content.decode()
    olga = User.objects.get()
    assert (olga.is_superuser, olga.is_staff, olga.email) == (True, True, "olga@example.org")
    assert AuditEntry.objects.get().verb == "first-account"


def test_there_is_one_first_account(client: Client) -> None:
    link = path()
    User.objects.create_superuser("root")
    for answer in client.get(link), client.post(link, SENT):
        assert answer.status_code == 404
        assert "The first account exists: sign in" in answer.content.decode()
    assert User.objects.count() == 1


@pytest.mark.parametrize("age", [0, 86_401])
def test_a_key_of_another_site_or_of_yesterday_makes_no_account(
    client: Client, age: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if age:
        monkeypatch.setattr(first_account, "LASTS", -1)
        link = path()
    else:
        link = f"/first-account/{signing.dumps('', salt='another')}"
    answer = client.post(link, SENT)
    assert answer.status_code == 404
    assert "open the link that it prints" in answer.content.decode()
    assert not User.objects.exists()


def test_what_cannot_be_an_account_is_said_at_its_field(client: Client) -> None:
    answer = client.post(path(), SENT | {"password2": "another", "email": "no address"})
    assert answer.status_code == 422
    assert "Enter a valid email address." in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_twice_at_once_makes_one_account() -> None:
    link = path()
    statuses = sorted(
        answer.status_code for answer in together(*[lambda: Client().post(link, SENT)] * 2)
    )
    assert statuses[0] == 302
    assert statuses[1] in (404, 422)
    assert User.objects.count() == 1
