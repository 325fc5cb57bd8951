"""Controls, wording, pilots and pairs by the API: the pages' own functions, and logged."""

import pytest
from django.contrib.auth.models import User

from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry, Campaign, Control, Role
from retrieval.jobs.queue import run, waiting_jobs
from retrieval.models import QaPair
from tests.annotation.api.people import Program, is_problem
from tests.worlds.small_campaign import Stage

TEXTS = {"query": "days of a week", "question": "how many days has a week", "answer": "Seven."}
OTHER = {**TEXTS, "answer": "There are seven."}


@pytest.fixture
def root(campaign: Campaign) -> Program:
    return Program(User.objects.create_superuser("root"))


def work_off() -> None:
    for job in waiting_jobs():
        run(job.pk, "here", HANDLERS)


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


def test_a_campaigns_control_is_its_own(root: Program, campaign: Campaign) -> None:
    control = campaign.controls.get()
    (row,) = root.get("campaigns/faq/controls").json()["results"]
    assert (row["id"], row["kind"], row["rate"]) == (control.pk, "negative", None)
    assert is_problem(root.get(f"controls/{control.pk}"), 404)


def test_instructions_are_saved_on_the_version_that_was_read(
    root: Program, campaign: Campaign
) -> None:
    path = "campaigns/faq/instructions"
    newest = root.get(path).json()["results"][0]["version"]
    sent = {"text": "# New\n\nRead twice.", "based_on": newest}
    made = root.post(path, sent, key="one")
    assert (made.status_code, made.json()["version"]) == (201, newest + 1)
    assert root.get(made.headers["Location"]).json()["text"] == sent["text"]
    assert last() == ("instructions", "api", "root")
    overtaken = root.post(path, {"text": "# Another", "based_on": newest}, key="two")
    assert is_problem(overtaken, 409)
    assert f"Version {newest + 1} was saved meanwhile" in overtaken.json()["detail"]
    assert is_problem(root.post(path, {**sent, "based_on": newest + 1}, key="three"), 422)


def test_the_pairs_of_a_source_come_in_the_order_of_its_ids(root: Program) -> None:
    texts = {"answer": "So.", "source": "made"}
    for name in ("b", "a", "d 2", "c/1"):
        QaPair.objects.create(
            question=name, source_id=name, question_key=name, pair_key=name, **texts
        )
    found, link = [], "pairs?source=made&page_size=2"
    while link:
        page = root.get(link).json()
        found += [row["source_id"] for row in page["results"]]
        link = page["next"]
    assert found == ["a", "b", "c/1", "d 2"]


def test_a_pilot_is_priced_then_made_and_told(stage: Stage) -> None:
    root = Program(User.objects.create_superuser("root"))
    sent = {"source": "faq", "name": "answers", "triplets": 4, "agreed": False}
    report = root.post("pilots", sent).json()["sentences"]
    assert report[0].startswith("4 triplets of faq are drawn and copied")
    assert Campaign.objects.count() == 1
    made = root.post("pilots", sent | {"agreed": True}, key="one")
    assert (made.status_code, made.json()["shown"]) == (201, "answers-with")
    read = root.get(made.headers["Location"]).json()
    assert [condition["triplets"] for condition in read["conditions"]] == [4, 4]
    assert (read["source"], read["gold"], read["comparison"]) == ("faq", 0, None)
    owners = Role.objects.filter(user__username="root", name="owner")
    assert {role.campaign.name for role in owners if role.campaign} == {
        "answers-with",
        "answers-without",
    }
    assert last() == ("pilot", "api", "root")


def test_the_exclusion_impact_is_what_the_operation_previews(
    campaign: Campaign, owner: Program
) -> None:
    report = owner.get("campaigns/faq/workers/faq-worker-0/exclusion-impact").json()
    assert (report["excluded"], report["votes"], report["cents"]) == (False, 1, 0)
    sent = {"worker": "faq-worker-0", "reason": "asked to leave", "agreed": True}
    owner.post("campaigns/faq/operations/exclude", sent, key="one")
    assert owner.get("campaigns/faq/workers/faq-worker-0/exclusion-impact").json()["excluded"]


def test_counted_figures_become_charts_with_their_rows(campaign: Campaign, owner: Program) -> None:
    assert owner.get("campaigns/faq/charts").json() == []
    assert owner.get("campaigns/faq/workforce").json() == {"at": None, "figures": None}
    job = owner.post("campaigns/faq/jobs/snapshot", key="one")
    assert job.status_code == 202
    work_off()
    keys = [chart["key"] for chart in owner.get("campaigns/faq/charts").json()]
    assert keys[:2] == ["labels", "agreement"]
    votes = owner.get("campaigns/faq/charts/votes").json()
    assert dict(zip(votes["labels"], votes["series"][0]["values"], strict=True))["2"] == 1
    assert owner.get("campaigns/faq/snapshots").json()["results"][0]["figures"]["labelled"] == 1
    (row,) = owner.get("campaigns/faq/worker-figures").json()["results"]
    assert (row["worker"], row["submitted"]) == ("faq-worker-0", 1)
    assert is_problem(owner.get("campaigns/faq/charts/none"), 404)


def test_the_votes_on_a_triplet_say_which_of_them_count(campaign: Campaign, owner: Program) -> None:
    path = f"campaigns/faq/triplets/{campaign.triplets.get().pk}/votes"
    (vote,) = owner.get(path).json()["votes"]
    assert (vote["worker"], vote["value"], vote["void"]) == ("faq-worker-0", 1, "")
    campaign.hits.get().assignments.update(passed=False, failure="missed")
    report = owner.get(path).json()
    assert report["votes"][0]["void"] == "a control was missed"
    assert report["derivation"][0] == "0 of 1 votes count: 0 Yes, 0 No."
