"""Workers are shown, and what excluding them would do."""

from annotation.models import Campaign
from tests.annotation.api.people import Program


def test_a_worker_shows_what_they_did_here_and_why_they_are_excluded(
    campaign: Campaign, owner: Program
) -> None:
    sent = {"worker": "faq-worker-0", "reason": "asked to leave", "agreed": True}
    assert owner.post("campaigns/faq/operations/exclude", sent, key="one").status_code == 200
    worker = owner.get("campaigns/faq/workers/faq-worker-0").json()
    assert (worker["submitted"], worker["approved"], worker["excluded"]) == (1, 1, True)
    assert worker["exclusions"][0]["reason"] == "asked to leave"
    assert owner.get("campaigns/faq/workers").json()["results"][0]["excluded"]


def test_the_exclusion_impact_is_what_the_operation_previews(
    campaign: Campaign, owner: Program
) -> None:
    report = owner.get("campaigns/faq/workers/faq-worker-0/exclusion-impact").json()
    assert (report["excluded"], report["votes"], report["cents"]) == (False, 1, 0)
    sent = {"worker": "faq-worker-0", "reason": "asked to leave", "agreed": True}
    owner.post("campaigns/faq/operations/exclude", sent, key="one")
    assert owner.get("campaigns/faq/workers/faq-worker-0/exclusion-impact").json()["excluded"]
