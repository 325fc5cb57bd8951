"""Instructions are saved as a new version."""

import pytest
from django.contrib.auth.models import User

from annotation.models import AuditEntry, Campaign
from tests.annotation.api.people import Program, is_problem


@pytest.fixture
def root(campaign: Campaign) -> Program:
    return Program(User.objects.create_superuser("root"))


def test_instructions_are_saved_on_the_version_that_was_read(
    root: Program, campaign: Campaign
) -> None:
    path = "campaigns/faq/instructions"
    newest = root.get(path).json()["results"][0]["version"]
    sent = {"text": "# New\n\nRead twice.", "based_on": newest}
    made = root.post(path, sent, key="one")
    assert (made.status_code, made.json()["version"]) == (201, newest + 1)
    assert root.get(made.headers["Location"]).json()["text"] == sent["text"]
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.via, entry.actor) == ("instructions", "api", "root")
    overtaken = root.post(path, {"text": "# Another", "based_on": newest}, key="two")
    assert is_problem(overtaken, 409)
    assert f"Version {newest + 1} was saved meanwhile" in overtaken.json()["detail"]
    assert is_problem(root.post(path, {**sent, "based_on": newest + 1}, key="three"), 422)
