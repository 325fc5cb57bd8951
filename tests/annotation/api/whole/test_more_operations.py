"""Controls and pilots by the API: the pages' own functions, and logged."""

import pytest
from django.contrib.auth.models import User

from annotation.models import AuditEntry, Campaign, Control
from tests.annotation.api.people import Program, is_problem
from tests.worlds.small_campaign import Stage

TEXTS = {"query": "days of a week", "question": "how many days has a week", "answer": "Seven."}
OTHER = {**TEXTS, "answer": "There are seven."}


@pytest.fixture
def root(campaign: Campaign) -> Program:
    return Program(User.objects.create_superuser("root"))


def last() -> tuple[str, str, str]:
    entry = AuditEntry.objects.latest("pk")
    return entry.verb, entry.via, entry.actor


def test_many_controls_are_imported_or_none(root: Program) -> None:
    same = {**TEXTS, "question": TEXTS["query"]}
    refused = root.post("controls/import", {"controls": [TEXTS, same]}, key="one")
    assert is_problem(refused, 400)
    assert list(refused.json()["errors"]) == ["controls.1"]
    assert not Control.objects.filter(campaign=None, query=TEXTS["query"]).exists()
    report = root.post("controls/import", {"controls": [TEXTS, OTHER]}, key="two").json()
    assert (report["read"], report["added"]) == (2, 1)  # the same control in other words
    assert last() == ("import-controls", "api", "root")
    shipped = root.post("controls/import", {"shipped": True}, key="three").json()
    assert (shipped["read"], shipped["pool"] - report["pool"]) == (80, shipped["added"])
    assert is_problem(root.post("controls/import", {}, key="four"), 400)


def test_many_drafts_are_imported_or_none(root: Program, campaign: Campaign) -> None:
    path = "campaigns/faq/control-drafts/import"
    query = campaign.query_set.queries.earliest("pk").text
    draft = {
        "kind": "positive",
        "query": query,
        "question": "in words of a model",
        "answer": "Ten.",
    }
    refused = root.post(path, {"drafts": [draft, draft | {"query": "none"}]}, key="one")
    assert refused.json()["errors"] == {"drafts.1": ["the campaign has no query 'none'"]}
    before = campaign.control_drafts.count()
    assert root.post(path, {"drafts": [draft, draft]}, key="two").json()["added"] == 1
    assert last() == ("import-drafts", "api", "root")
    assert campaign.control_drafts.count() == before + 1


def test_a_campaigns_control_is_its_own(root: Program, campaign: Campaign) -> None:
    control = campaign.controls.get()
    (row,) = root.get("campaigns/faq/controls").json()["results"]
    assert (row["id"], row["kind"], row["rate"]) == (control.pk, "negative", None)
    assert is_problem(root.get(f"controls/{control.pk}"), 404)


def test_a_pilot_is_read_once_it_is_made(stage: Stage) -> None:
    root = Program(User.objects.create_superuser("root"))
    sent = {"pilot": "answers", "triplets": 4, "agreed": True}
    root.post("campaigns/faq/operations/pilot", sent, key="one")
    read = root.get("pilots/answers").json()
    assert [condition["triplets"] for condition in read["conditions"]] == [4, 4]
    assert (read["source"], read["gold"], read["comparison"]) == ("faq", 0, None)
