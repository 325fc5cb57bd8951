"""An account's owner chooses where its mails go."""

import re

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from annotation.models import AuditEntry
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
