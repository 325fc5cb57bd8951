"""Programs get of webhooks and events what the pages show."""

import pytest
from django.contrib.auth.models import User

from tests.annotation.api.people import Program
from tests.annotation.support.events import delivered

pytestmark = pytest.mark.django_db
URL = "https://example.org/<quorum>"


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


def test_programs_get_the_same(root: User) -> None:
    program = Program(root)
    made = program.post("webhooks", {"url": URL}).json()
    assert made["secret"].startswith("whsec_")
    assert program.post("webhooks", {"url": URL}).status_code == 422
    (row,) = program.get("webhooks").json()["results"]
    assert "secret" not in row
    assert program.post(f"webhooks/{row['id']}/rotate").json()["secret"] != made["secret"]
    assert program.post(f"webhooks/{row['id']}/disable").json()["active"] is False
    sent = delivered()
    found = program.get(f"events/{sent.event_id}").json()
    assert found["message_id"] == sent.event.message_id
    assert [one["state"] for one in found["deliveries"]] == ["done"]
