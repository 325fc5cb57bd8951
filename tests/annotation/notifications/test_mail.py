"""Mails of events: to whom, in which words, and how they end."""

import re
from datetime import timedelta
from uuid import UUID, uuid5

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse.models import PostedHit
from annotation.models import Campaign, Delivery, Event, Role
from annotation.notifications import digest
from annotation.notifications.deliver import deliver
from annotation.notifications.digest import note_new_work
from annotation.notifications.events import emit, owners
from annotation.notifications.mail import SUBJECTS, compose
from tests.annotation.support.hits import make_campaign
from tests.annotation.web.stage import make_member, offer_hits, signed_in

pytestmark = pytest.mark.django_db

DATA = {
    "labelled": 5, "unresolved": 1, "reasons": ["1 HIT has expired"], "spent_cents": 950,
    "budget_cents": 1000, "open": 3, "release": 2, "job": 1, "kind": "count", "subject": "faq",
    "error": "No room.",
}  # fmt: skip


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org")


@pytest.fixture
def campaign(ada: User) -> Campaign:
    made = make_campaign()
    Role.objects.create(user=ada, campaign=made, name="owner")
    return made


def tell(campaign: Campaign, type: Event.Type = Event.Type.COMPLETE) -> EmailMessage:
    emit(type, DATA, campaign=campaign, people=owners(campaign))
    assert deliver() == 1
    return mail.outbox[-1]


def stop_link(message: EmailMessage) -> str:
    found = re.fullmatch(
        r"<http://127\.0\.0\.1:\d+(/.+)>", message.extra_headers["List-Unsubscribe"]
    )
    assert found
    return found[1]


def test_the_events_of_a_campaign_without_an_owner_go_to_the_superusers() -> None:
    User.objects.create_superuser("root", email="root@example.org")
    campaign = make_campaign()
    assert tell(campaign).to == ["root@example.org"]
    Role.objects.create(
        user=User.objects.create_user("ada", email="ada@example.org"),
        campaign=campaign,
        name="owner",
    )
    assert tell(campaign).to == ["ada@example.org"]


@pytest.mark.parametrize("type", [one for one in SUBJECTS if one != Event.Type.WORK])
def test_an_owner_gets_each_event_of_the_campaign(campaign: Campaign, type: Event.Type) -> None:
    message = tell(campaign, type)
    assert message.to == ["ada@example.org"]
    assert "faq" in message.subject
    assert "{" not in message.subject + str(message.body)
    assert "http://127.0.0.1" in message.body


@pytest.mark.parametrize("change", [{"is_active": False}, {"email": ""}])
def test_who_cannot_get_it_gets_none(campaign: Campaign, ada: User, change: object) -> None:
    emit(Event.Type.COMPLETE, DATA, campaign=campaign, people=[ada])
    User.objects.update(**change)
    assert deliver() == 0
    assert Delivery.objects.get().state == "cancelled"


def test_one_click_stops_mails_of_a_kind_without_a_sign_in(campaign: Campaign) -> None:
    message = tell(campaign)
    assert message.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    stranger = Client(enforce_csrf_checks=True)
    assert "Stop them" in stranger.get(stop_link(message)).content.decode()
    tell(campaign)  # to look at it stops nothing
    answer = stranger.post(stop_link(message), {"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    emit(Event.Type.COMPLETE, DATA, campaign=campaign, people=owners(campaign))
    assert deliver() == 0
    assert len(mail.outbox) == 2
    tell(campaign, Event.Type.BLOCKED)
    assert stranger.post(stop_link(message)[:-3] + "xxx").status_code == 404


def test_an_account_chooses_on_its_page(campaign: Campaign, ada: User) -> None:
    client = signed_in(ada)
    form = {"email": ada.email, "wanted": ["campaign.blocked"]}
    assert client.post("/mails", form).status_code == 302
    page = client.get("/mails").content.decode()
    assert page.count(" checked") == 1
    emit(Event.Type.COMPLETE, DATA, campaign=campaign, people=[ada])
    assert deliver() == 0
    tell(campaign, Event.Type.BLOCKED)


@pytest.mark.parametrize(
    "text", ["x\r\nBcc: eve@example.org", "x\nSubject: y", "x\u2028y\x00\x1b[31m", "x" * 999]
)
def test_what_others_wrote_begins_no_header(ada: User, text: str) -> None:
    data = {"job": 1, "kind": "import", "subject": text, "error": text}
    message = compose(emit(Event.Type.JOB, data, people=[ada]), ada)
    assert message is not None
    assert message.subject.isprintable()
    assert len(message.subject) <= 150
    assert list(message.message().get_all("Bcc", [])) == []
    assert len(message.message().get_all("Subject", [])) == 1


def test_a_mail_server_that_is_away_gets_it_later(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionRefusedError("Connection refused")

    emit(Event.Type.COMPLETE, DATA, campaign=campaign, people=owners(campaign))
    with monkeypatch.context() as patched:
        patched.setattr(EmailMessage, "send", refuse)
        assert deliver() == 0
    later = timezone.now() + timedelta(minutes=1)
    assert deliver(clock=lambda: later) == 1
    errors = [one.error for one in Delivery.objects.get().tries.order_by("pk")]
    assert errors == ["The mail server did not take it: Connection refused", ""]


def test_annotators_hear_of_new_work_once_a_day_and_of_what_they_can_take() -> None:
    now = timezone.now()
    bob, idle = make_member("bob"), make_member("idle", active=False)
    User.objects.filter(pk=bob.user_id).update(email="bob@example.org")
    User.objects.filter(pk=idle.user_id).update(email="idle@example.org")
    assert note_new_work(now) is None
    offer_hits("faq", hits=3)
    event = note_new_work(now)
    assert event
    assert event.data["campaigns"] == [{"campaign": "faq", "tasks": 3}]
    assert deliver() == 1
    (message,) = mail.outbox
    assert message.to == ["bob@example.org"]
    assert "- Judge faq: 3" in message.body
    assert "List-Unsubscribe" in message.extra_headers
    offer_hits("more", hits=1)
    assert note_new_work(now + timedelta(hours=23)) is None
    PostedHit.objects.update(expires_at=now + timedelta(days=9))
    again = note_new_work(now + timedelta(hours=25))
    assert again
    assert again.data["campaigns"] == [{"campaign": "more", "tasks": 1}]


def test_two_workers_at_one_instant_send_one_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    offer_hits("faq")

    def after_the_other(namespace: UUID, name: str) -> UUID:
        """The other worker sends between our look and our writing."""
        monkeypatch.setattr(digest, "uuid5", uuid5)
        assert note_new_work(now)
        return uuid5(namespace, name)

    for number in (1, 2):
        monkeypatch.setattr(digest, "uuid5", after_the_other)
        assert note_new_work(now) is None
        assert Event.objects.filter(type="work.available").count() == number
        offer_hits(f"more{number}")
        now += timedelta(hours=25)
        PostedHit.objects.update(expires_at=now + timedelta(days=1))


def test_nobody_hears_of_work_that_is_gone_or_of_others() -> None:
    bob = make_member("bob")
    User.objects.filter(pk=bob.user_id).update(email="bob@example.org")
    (hit,) = offer_hits("faq")
    cleo = User.objects.create_user("cleo")
    Role.objects.create(user=cleo, campaign=hit.campaign, name="annotator")
    assert note_new_work(timezone.now())
    assert deliver() == 0
    assert Delivery.objects.get().state == "cancelled"
