"""A forgotten password, and invitations by mail."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client
from knox.models import AuthToken
from kombu.exceptions import OperationalError
from pytest_django import Settings

from annotation.crowd.inhouse.models import Invitation
from annotation.jobs.mails import mail_password_reset
from annotation.models import AuditEntry
from tests.annotation.web.stage import PASSWORD, signed_in, staff

pytestmark = pytest.mark.django_db
RESET, NEW = "/password/reset", {"new_password1": PASSWORD, "new_password2": PASSWORD}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(arguments: tuple[str], **_: object) -> None:
        mail_password_reset(*arguments)

    monkeypatch.setattr(mail_password_reset, "apply_async", run)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org", password="forgotten long ago")


def ask(client: Client, email: str) -> tuple[int, str]:
    answer = client.post(RESET, {"email": email}, headers={"Host": "localhost"})
    page = client.get("/sign-in").content.decode() if answer.status_code == 302 else ""
    return answer.status_code, re.sub(r'value="[^"]*"', "", page)


def link_in(message: EmailMessage) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+(/\S+)", str(message.body).split("\n\n")[1])
    assert found
    return found[1]


def test_a_link_leads_to_a_new_password_once(ada: User, client: Client) -> None:
    AuthToken.objects.create(ada)
    assert ask(client, "ADA@example.org")[0] == 302
    (message,) = mail.outbox
    assert message.to == ["ada@example.org"]
    form = client.get(link_in(message))
    assert client.get(form["Location"]).status_code == 200
    assert client.post(form["Location"], NEW)["Location"] == "/sign-in"
    assert client.login(username="ada", password=PASSWORD)
    assert not AuthToken.objects.exists()
    assert AuditEntry.objects.get().verb == "reset-password"
    again = Client().get(link_in(message)).content.decode()
    assert "does not work any more" in again


def test_the_answer_does_not_tell_whether_there_is_an_account(ada: User) -> None:
    User.objects.create_user("eve", email="eve@example.org", password=PASSWORD, is_active=False)
    answers = [ask(Client(), f"{name}@example.org") for name in ("ada", "eve", "nobody")]
    assert answers[0] == answers[1] == answers[2]
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_it_is_asked_for_three_times_an_hour(ada: User, name: str) -> None:
    client = Client()
    statuses = [ask(client, f"{name}@example.org")[0] for _ in range(4)]
    assert statuses == [302, 302, 302, 429]


def test_many_addresses_are_not_tried_from_one_place() -> None:
    client = Client()
    statuses = [ask(client, f"{number}@example.org")[0] for number in range(21)]
    assert statuses == [302] * 20 + [429]


def test_without_a_queue_it_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_password_reset, "apply_async", refusing(OperationalError))
    assert ask(client, "ada@example.org")[0] == 503


def refusing(error: type[Exception]) -> Callable[..., None]:
    def refuse(*_: object, **__: object) -> None:
        raise error("away")

    return refuse


def invited(email: str = "bob@example.org", uses: int = 1) -> str:
    carla = signed_in(staff("carla", "add_invitation"))
    form = {"note": "", "email": email, "days": "7", "uses": str(uses)}
    return carla.post("/team", form).content.decode()


def join(uses: int) -> User:
    invited(uses=uses)
    link = link_in(mail.outbox[-1])
    new = {"username": "bob", "password1": PASSWORD, "password2": PASSWORD}
    assert Client().post(link, new).status_code == 302
    return User.objects.get(username="bob")


@pytest.mark.parametrize(("uses", "address"), [(1, "bob@example.org"), (2, "")])
def test_who_was_invited_by_mail_gets_mail_there(uses: int, address: str) -> None:
    assert join(uses).email == address
    assert mail.outbox[-1].to == ["bob@example.org"]


def test_where_no_mail_goes_out_the_link_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmailMessage, "send", refusing(ConnectionRefusedError))
    page = invited()
    assert "did not take it" in page
    assert "/join/" in page
    assert Invitation.objects.get().email == "bob@example.org"


@pytest.mark.parametrize("email", ["bob@example.org\r\nBcc: eve@example.org", "bob", "a@b@c"])
def test_what_is_no_address_is_refused(email: str) -> None:
    assert "Enter a valid email address" in invited(email)
    assert mail.outbox == []


def test_without_a_mail_server_nothing_is_said_to_be_mailed(
    ada: User, client: Client, settings: Settings
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert "printed on the console of the site" in ask(client, "ada@example.org")[1]
    owner = signed_in(staff("dora", "add_invitation"))
    page = owner.post("/team", {"note": "", "email": "eve@example.org", "days": "7", "uses": "1"})
    words = page.content.decode()
    assert "No mail server is set: copy the link, and send it yourself." in words
    assert "Copy the link</button>" in words
    assert "was mailed" not in words
    moved = signed_in(ada).post("/mails", {"email": "new@example.org"}, follow=True)
    assert "This site has no mail server" in moved.content.decode()
    events = signed_in(User.objects.create_superuser("root")).get("/admin/events/")
    assert "No mail server is set" in events.content.decode()
