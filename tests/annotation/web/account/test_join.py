"""Invitation links."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse.members import invite
from annotation.crowd.inhouse.models import Invitation, Member
from tests.annotation.web.stage import PASSWORD, signed_in
from tests.support.pages import Response
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def invitation(*, uses: int = 1) -> str:
    return invite(None, note="", days=7, uses=uses, now=timezone.now())


def account(name: str, password: str = PASSWORD) -> dict[str, str]:
    return {"username": name, "password1": password, "password2": password}


def text(response: Response) -> str:
    return response.content.decode()


def test_a_new_account_is_signed_in_and_can_work_at_once(client: Client) -> None:
    code = invitation()
    assert "Choose a username and a password" in text(client.get(f"/join/{code}"))
    response = client.post(f"/join/{code}", account("zoe"), follow=True)
    assert response.redirect_chain == [("/work", 302)]
    assert "Signed in as zoe" in text(response)
    member = Member.objects.get()
    assert (member.user.username, member.active) == ("zoe", True)
    assert not member.user.is_staff


def test_an_address_that_is_given_counts_once_it_is_confirmed(client: Client) -> None:
    form = account("zoe") | {"email": "zoe@example.org"}
    joined = client.post(f"/join/{invitation()}", form, follow=True)
    assert "A mail to zoe@example.org has a link" in text(joined)
    assert User.objects.get().email == ""
    (message,) = mail.outbox
    assert (message.to, "/mails/confirm/" in str(message.body)) == (["zoe@example.org"], True)


def test_who_is_signed_in_joins_with_one_click(client: Client) -> None:
    code = invitation()
    client.force_login(User.objects.create_user("bob"))
    assert "Join as bob" in text(client.get(f"/join/{code}"))
    assert not Member.objects.exists()
    assert client.post(f"/join/{code}")["Location"] == "/work"
    assert Member.objects.get().user.username == "bob"


def test_a_member_who_opens_a_link_uses_up_nothing(adas: Client) -> None:
    code = invitation()
    assert adas.get(f"/join/{code}")["Location"] == "/work"
    assert adas.post(f"/join/{code}")["Location"] == "/work"
    assert Invitation.objects.get().uses == 0


def test_an_unknown_an_expired_and_a_used_up_invitation_say_so(client: Client) -> None:
    expired, used = invitation(), invitation()
    first = Invitation.objects.order_by("pk")[0]
    Invitation.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    Invitation.objects.exclude(pk=first.pk).update(uses=1)
    sentences = {
        "guessed": "no such invitation",
        expired: "has expired",
        used: "Everybody this invitation was for has joined",
    }
    for code, sentence in sentences.items():
        for response in (client.get(f"/join/{code}"), client.post(f"/join/{code}", account("zoe"))):
            assert response.status_code == 404
            assert sentence in text(response)
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (account("zoe", "1234567"), "too short"),
        (account("zoe", "password"), "too common"),
        (account("zoe", "9876543219"), "entirely numeric"),
        (account("zoezoezoe", "zoezoezoe"), "too similar to the username"),
        (account("zoe") | {"password2": "other"}, "match"),
        (account("ADA"), "already exists"),
        (account("a b<script>"), "Enter a valid username"),
        (account("a\x00b"), "Null characters are not allowed"),
        (account("x" * 151), "at most 150 characters"),
        ({}, "This field is required"),
    ],
)
def test_an_account_that_cannot_be_is_told_why_and_uses_up_nothing(
    client: Client, ada: Member, form: dict[str, str], sentence: str
) -> None:
    response = client.post(f"/join/{invitation()}", form)
    assert response.status_code == 422
    assert sentence in text(response)
    assert "<script>" not in text(response)
    assert User.objects.count() == 1
    assert Invitation.objects.get().uses == 0


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_no_more_join_than_are_invited() -> None:
    code = invitation(uses=2)
    names = ["u1", "u2", "u3", "u4", "u5"]
    answers = together(
        *(lambda name=name: Client().post(f"/join/{code}", account(name)) for name in names)
    )
    assert sorted(answer.status_code for answer in answers) == [302, 302, 404, 404, 404]
    # Who came too late has no account either.
    assert User.objects.count() == Member.objects.count() == Invitation.objects.get().uses == 2


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_one_name_at_once_one_gets_it() -> None:
    code = invitation(uses=9)
    answers = together(*[lambda: Client().post(f"/join/{code}", account("zoe"))] * 4)
    assert sorted(answer.status_code for answer in answers) == [302, 422, 422, 422]
    assert User.objects.count() == Member.objects.count() == Invitation.objects.get().uses == 1


@pytest.mark.django_db(transaction=True)
def test_one_who_joins_in_two_tabs_is_one_member() -> None:
    code = invitation(uses=9)
    user = User.objects.create_user("bob")
    clients = [signed_in(user) for _ in range(3)]
    calls = (lambda client=client: client.post(f"/join/{code}").status_code for client in clients)
    assert together(*calls) == [302, 302, 302]
    assert Member.objects.count() == Invitation.objects.get().uses == 1


def test_the_way_to_sign_in_leads_back_to_the_invitation(client: Client) -> None:
    code = invitation()
    assert f'href="/sign-in?next=/join/{code}"' in text(client.get(f"/join/{code}"))
