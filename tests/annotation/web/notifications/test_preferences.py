"""An account's owner chooses where its mails go."""

import re

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from annotation.models import AuditEntry
from annotation.notifications.mail import choose, unwanted_by
from tests.annotation.web.stage import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org")


def test_a_new_address_counts_once_its_owner_opens_the_link(ada: User) -> None:
    client = signed_in(ada)
    for _ in range(2):
        client.post("/mails", {"email": "new@example.org"})
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    assert mail.outbox[-1].to == ["new@example.org"]
    found = re.search(r"http://127\.0\.0\.1:\d+(/mails/confirm/\S+)", str(mail.outbox[-1].body))
    assert found
    assert Client().get(found[1]).status_code == 200
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    assert Client().post(found[1]).status_code == 200
    ada.refresh_from_db()
    assert ada.email == "new@example.org"
    assert Client().post(found[1]).status_code == 404  # used
    assert AuditEntry.objects.get().verb == "change-address"


def test_nobody_s_mailbox_is_flooded_with_links(ada: User) -> None:
    client = signed_in(ada)
    sent = [client.post("/mails", {"email": "new@example.org"}).status_code for _ in range(7)]
    assert sent == [302] * 5 + [422] * 2
    assert len(mail.outbox) == 5


def test_who_only_judges_chooses_among_mails_of_work_alone(ada: User) -> None:
    choose(ada, ["campaign.budget"])
    client = signed_in(ada)
    page = client.get("/mails").content.decode()
    assert "New work" in page
    assert "Budget nearly spent" not in page
    client.post("/mails", {"email": ada.email})
    assert sorted(unwanted_by(ada)) == ["campaign.budget", "work.available"]
    owner = signed_in(User.objects.create_superuser("root"))
    assert "Budget nearly spent" in owner.get("/mails").content.decode()
