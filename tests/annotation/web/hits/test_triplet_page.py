"""A triplet's page: its texts, its votes, and how the label follows from them."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import Assignment, Campaign, ExpertLabel, Judgment, Triplet
from tests.annotation.support.experts import report
from tests.annotation.web.base.readers import plays, root
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'{{ 7|add:7 }}"
SAID = "Show the votes and other experts"


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


def triplet_of(campaign: Campaign, query: str, rank: int) -> Triplet:
    return campaign.triplets.get(candidate__query__key=query, candidate__rank=rank)


def address(triplet: Triplet, campaign: str = "demo") -> str:
    return f"/admin/campaigns/{campaign}/triplets/{triplet.pk}"


@pytest.mark.parametrize(
    ("query", "rank", "sentences"),
    [
        ("moon", 2, ["3 of 3 votes count: 2 Yes, 1 No.", "majority makes the label Yes."]),
        ("rain", 2, ["3 of 3 votes count: 1 Yes, 2 No.", "majority makes the label No."]),
        ("rain", 3, ["2 of 3 votes count: 0 Yes, 2 No.", "label No."]),
        ("tea", 2, ["4 of 4 votes count: 2 Yes, 2 No.", "after the maximum of 4 votes"]),
        ("tea", 3, ["2 of 3 votes count: 0 Yes, 2 No.", "label No."]),
    ],
)  # fmt: skip
def test_the_label_is_derived_in_sentences(
    campaign: Campaign, query: str, rank: int, sentences: list[str]
) -> None:
    page = root().get(address(triplet_of(campaign, query, rank))).content.decode()
    assert [sentence for sentence in sentences if sentence not in page] == []
    assert "of before" not in page


def test_each_vote_says_whether_it_counts_and_why_not(campaign: Campaign) -> None:
    votes = root().get(address(triplet_of(campaign, "tea", 3))).context["votes"]
    found = [(str(vote.judgment.worker), vote.judgment.value, vote.void) for vote in votes]
    assert found == [("ada", 0, ""), ("eve", 1, "the worker is excluded"), ("third", 0, "")]
    campaign.exclusions.all().delete()
    votes = root().get(address(triplet_of(campaign, "tea", 3))).context["votes"]
    assert [vote.void for vote in votes] == ["", "a control was missed", ""]
    Assignment.objects.filter(pk=votes[2].judgment.assignment_id).update(passed=None)
    votes = root().get(address(triplet_of(campaign, "tea", 3))).context["votes"]
    assert votes[2].void == "its controls are not reviewed yet"


def test_work_rejected_at_the_crowd_has_no_say(campaign: Campaign) -> None:
    moon = triplet_of(campaign, "moon", 2)
    judgment = Judgment.objects.get(triplet=moon, worker__worker_id="bob")
    judgment.assignment.status = "rejected"
    judgment.assignment.save()
    page = root().get(address(moon)).content.decode()
    assert "No: the work was rejected at the crowd" in page
    assert "2 of 3 votes count: 2 Yes, 0 No." in page
    assert "The stored label is older than" in page


@pytest.mark.parametrize(
    ("votes", "sentence"),
    [([], "2 more votes are needed"), ([1], "1 more vote is needed"), ([1, 0], "1 more vote is")],
)
def test_a_triplet_that_is_open_says_what_it_wants(
    campaign: Campaign, votes: list[int], sentence: str
) -> None:
    moon = triplet_of(campaign, "moon", 1)
    judgments = list(Judgment.objects.filter(triplet=moon).order_by("pk"))
    for judgment, value in zip(judgments, votes, strict=False):
        judgment.value = value
        judgment.save()
    for judgment in judgments[len(votes) :]:
        judgment.delete()
    Triplet.objects.filter(pk=moon.pk).update(
        status="open", label=None, votes=len(votes), positive_votes=sum(votes)
    )
    assert sentence in root().get(address(moon)).content.decode()


def test_an_imported_label_stands_until_there_is_a_majority(campaign: Campaign) -> None:
    tea = triplet_of(campaign, "tea", 2)
    Triplet.objects.filter(pk=tea.pk).update(imported_label=1, status="labelled", label=1)
    page = root().get(address(tea)).content.decode()
    assert "There is no majority, so the triplet keeps its imported label: Yes." in page


def test_texts_experts_reports_and_hits_are_shown(campaign: Campaign) -> None:
    moon = triplet_of(campaign, "moon", 2)
    moon.candidate.found_by = {"dense": 2, "bm25": None}
    moon.candidate.save()
    report(moon, "which moon")
    ExpertLabel.objects.create(
        triplet=moon, expert="cleo", label=0, blind_label=1, source="sample", note="not quite"
    )
    response = root().get(address(moon))
    page = response.content.decode()
    hit = moon.items.get().hit
    for part in (
        "moon answer", "which moon", "cleo", "not quite",
        "Found by meaning", "Found by words (BM25)",
        f"/admin/campaigns/demo/hits/{hit.pk}",
    ):  # fmt: skip
        assert part in page
    assert response.context["found_by"] == [("words (BM25)", None), ("meaning", 2)]


def test_who_may_be_asked_for_a_blind_label_sees_no_votes_at_first(campaign: Campaign) -> None:
    """They are folded away for who adjudicates, until they have said what they think."""
    tea = triplet_of(campaign, "tea", 2)
    ExpertLabel.objects.create(
        triplet=tea, expert="cleo", label=1, source="adjudication", adjudicated=True
    )
    client = plays("manager", campaign, "dan")
    page = client.get(address(tea)).content.decode()
    assert SAID in page
    assert f"/campaigns/demo/adjudicate?what=unresolved&amp;triplet={tea.pk}" in page
    ExpertLabel.objects.create(
        triplet=tea, expert="dan", label=1, source="adjudication", adjudicated=True
    )
    assert SAID not in client.get(address(tea)).content.decode()
    assert SAID not in plays("viewer", campaign).get(address(tea)).content.decode()


@pytest.mark.parametrize(
    ("query", "rank", "pile"),
    [("tea", 2, "unresolved"), ("moon", 2, "disagreement"), ("moon", 1, None)],
)
def test_the_way_to_the_experts_page_leads_to_the_pile_that_has_it(
    campaign: Campaign, query: str, rank: int, pile: str | None
) -> None:
    page = plays("manager", campaign).get(address(triplet_of(campaign, query, rank)))
    assert page.context["pile"] == pile


def test_hostile_texts_stay_texts(campaign: Campaign) -> None:
    moon = triplet_of(campaign, "moon", 2)
    candidate = moon.candidate
    candidate.query.text = candidate.pair.question = candidate.pair.answer = HOSTILE
    candidate.pair.source = candidate.pair.license = HOSTILE
    candidate.query.save()
    candidate.pair.save()
    report(moon, HOSTILE)
    ExpertLabel.objects.create(
        triplet=moon, expert="<b>cleo", label=1, source="sample", note=HOSTILE
    )
    Judgment.objects.filter(triplet=moon)[0].worker.__class__.objects.filter(
        worker_id="ada"
    ).update(worker_id="<b>ada")
    page = root().get(address(moon)).content.decode()
    assert HOSTILE not in page
    assert "<b>" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 7


def test_a_triplet_of_another_campaign_is_not_here(campaign: Campaign) -> None:
    other = make_campaign(name="other")
    foreign = triplet_of(other, "moon", 1)
    assert root().get(address(foreign)).status_code == 404
    assert plays("owner", campaign).get(address(foreign, "other")).status_code == 404


def test_others_do_not_see_it(campaign: Campaign, client: Client) -> None:
    page = address(triplet_of(campaign, "moon", 1))
    assert plays("viewer", campaign).get(page).status_code == 200
    assert plays("annotator", campaign).get(page).status_code == 403
    assert client.get(page).status_code == 302
    assert client.post(page).status_code in {302, 405}


def test_the_page_takes_few_queries(campaign: Campaign, django_assert_max_num_queries: Any) -> None:
    client = plays("adjudicator", campaign)
    with django_assert_max_num_queries(20):
        client.get(address(triplet_of(campaign, "tea", 2)))
