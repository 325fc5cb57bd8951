"""HITs, assignments and votes are shown."""

import pytest
from django.utils import timezone

from annotation.models import Campaign
from tests.annotation.api.campaign import campaign_at_work
from tests.annotation.api.people import Program, is_problem
from tests.annotation.support.hits import NEGATIVE, POSITIVE


def test_a_hit_shows_its_items_with_the_controls_among_them(
    campaign: Campaign, owner: Program
) -> None:
    hit = owner.get("campaigns/faq/hits/1").json()
    assert (hit["number"], hit["state"], hit["max_assignments"]) == (1, "planned", 2)
    kinds = [item["kind"] for item in hit["items"]]
    assert sorted(kinds) == ["negative", "positive", "triplet"]
    shown = {item["kind"]: item for item in hit["items"]}
    assert shown["positive"]["query"] == POSITIVE[0]
    assert (shown["positive"]["expected"], shown["negative"]["expected"]) == (1, 0)
    assert shown["negative"]["question"] == NEGATIVE[1]
    assert (shown["triplet"]["label"], shown["triplet"]["status"]) == (1, "labelled")


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({}, "planned"),
        ({"crowd_id": "H1"}, "open"),
        ({"crowd_id": "H1", "expires_at": timezone.now()}, "expired"),
        ({"crowd_id": "H1", "closed_at": timezone.now()}, "expired"),
        ({"crowd_id": "H1", "gone": True}, "expired"),
        ({"crowd_id": "H1", "max_assignments": 1}, "full"),
        ({"crowd_id": "H1", "fault": "unreadable"}, "faulty"),
    ],
)
def test_a_hit_is_in_one_state(
    campaign: Campaign, owner: Program, facts: dict[str, object], state: str
) -> None:
    campaign.hits.update(**facts)
    assert owner.get("campaigns/faq/hits/1").json()["state"] == state
    report = owner.get(f"campaigns/faq/hits?state={state}").json()["results"]
    assert [row["state"] for row in report] == [state]


def test_an_assignment_shows_its_judgments(campaign: Campaign, owner: Program) -> None:
    rows = owner.get("campaigns/faq/assignments?worker=faq-worker-0").json()["results"]
    assert [(row["hit"], row["status"], row["passed"]) for row in rows] == [(1, "approved", True)]
    work = owner.get(f"campaigns/faq/assignments/{rows[0]['id']}").json()
    assert [judgment["value"] for judgment in work["judgments"]] == [1, 1, 1]
    assert owner.get("campaigns/faq/assignments?status=rejected").json()["results"] == []


def test_an_assignment_of_another_campaign_is_not_there(campaign: Campaign, owner: Program) -> None:
    other = campaign_at_work("other").hits.get().assignments.get()
    assert is_problem(owner.get(f"campaigns/faq/assignments/{other.pk}"), 404)
    assert is_problem(owner.get("campaigns/faq/workers/other-worker-0"), 404)


def test_labels_are_the_triplets_that_have_one(campaign: Campaign, owner: Program) -> None:
    triplet = campaign.triplets.get()
    row = owner.get("campaigns/faq/labels").json()["results"][0]
    assert (row["triplet"], row["label"], row["positive_votes"]) == (triplet.pk, 1, 2)
    assert owner.get("campaigns/faq/labels?label=0").json()["results"] == []
    assert owner.get(f"campaigns/faq/triplets/{triplet.pk}").json()["question"] == "question"
    assert is_problem(owner.get("campaigns/faq/labels?label=2"), 400)


def test_the_votes_on_a_triplet_say_which_of_them_count(campaign: Campaign, owner: Program) -> None:
    path = f"campaigns/faq/triplets/{campaign.triplets.get().pk}/votes"
    (vote,) = owner.get(path).json()["votes"]
    assert (vote["worker"], vote["value"], vote["void"]) == ("faq-worker-0", 1, "")
    campaign.hits.get().assignments.update(passed=False, failure="missed")
    report = owner.get(path).json()
    assert report["votes"][0]["void"] == "a control was missed"
    assert report["derivation"][0] == "0 of 1 votes count: 0 Yes, 0 No."
