"""Webhooks and events on their pages: a secret is shown once, and what was sent."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import AuditEntry, Webhook
from tests.annotation.support.events import delivered
from tests.annotation.web.stage import signed_in

pytestmark = pytest.mark.django_db
URL = "https://example.org/<quorum>"


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def client(root: User) -> Client:
    return signed_in(root)


def test_the_page_shows_a_secret_once(client: Client) -> None:
    made = client.post("/admin/webhooks/", {"url": URL, "types": ["job.failed"]})
    secret = Webhook.objects.get().secret
    assert secret in made.content.decode()
    page = client.get("/admin/webhooks/").content.decode()
    assert secret not in page
    assert "https://example.org/&lt;quorum&gt;" in page
    new = client.post(f"/admin/webhooks/{Webhook.objects.get().pk}/rotate").content.decode()
    assert secret not in new
    assert Webhook.objects.get().secret in new
    assert [entry.subject for entry in AuditEntry.objects.all()] == ["example.org"] * 2


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"url": "https://10.0.0.1/"}, "no public address"),
        ({"url": "http://example.org/"}, "must begin with https://"),
        ({"url": URL, "types": ["nothing"]}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(
    client: Client, form: dict[str, object], sentence: str
) -> None:
    answer = client.post("/admin/webhooks/", form)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Webhook.objects.exists()


def test_the_log_shows_each_attempt_and_sends_again(client: Client) -> None:
    sent = delivered()
    sent.tries.create(at=sent.event.at, status=503, error="The receiver answered 503.")
    assert "1 delivered" in client.get("/admin/events/").content.decode()
    page = client.get(f"/admin/events/{sent.event_id}").content.decode()
    assert "The receiver answered 503." in page
    client.post(f"/admin/events/deliveries/{sent.pk}/resend")
    sent.refresh_from_db()
    assert sent.state == "pending"
    again = client.post(f"/admin/events/deliveries/{sent.pk}/resend", follow=True)
    assert "still being sent" in again.content.decode()
