"""The review page: what needs a person's eye, in the order in which it matters."""

import re
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from annotation.analytics.quality import review_figures
from annotation.models import Campaign, ExpertLabel, HitItem, ItemReport, Triplet
from annotation.pipeline.labelling import disagreements
from annotation.web.experts import review
from tests.annotation.support.experts import report, shown
from tests.annotation.web.base.readers import plays, root
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

PAGE = "/admin/campaigns/demo/review/"
EXPERTS = "/campaigns/demo/adjudicate"
TOKEN = re.compile(r'value="\w{64}"')
HOSTILE = "<script>alert(1)</script>\"'{{ 7|add:7 }}"


@pytest.fixture
def campaign() -> Campaign:
    """Three disagreements, each at rank 2: moon's 2 to 1, rain's 1 to 2, tea's 2 to 2."""
    return make_campaign()


def at_rank_2(campaign: Campaign, query: str) -> Triplet:
    return campaign.triplets.get(candidate__query__key=query, candidate__rank=2)


def listed(client: Client) -> list[Triplet]:
    return [one.triplet for one in client.get(PAGE).context["disputed"]]


def test_disagreements_stand_by_their_weight(campaign: Campaign) -> None:
    """0.8 / log2 3, twice for rain, which has no positive; 1 / log2 3 for tea's tie."""
    context = root().get(PAGE).context
    found = [(one.triplet, one.weight, one.decisive, one.split) for one in context["disputed"]]
    assert found == [
        (at_rank_2(campaign, "rain"), 1.0095, True, "2 : 1"),
        (at_rank_2(campaign, "tea"), 0.6309, False, "2 : 2"),
        (at_rank_2(campaign, "moon"), 0.5047, False, "2 : 1"),
    ]


def test_the_only_positive_of_a_query_decides_whether_it_has_one(campaign: Campaign) -> None:
    campaign.triplets.filter(candidate__query__key="moon", candidate__rank=1).update(label=0)
    first = root().get(PAGE).context["disputed"][:2]
    assert [(one.triplet, one.decisive) for one in first] == [
        (at_rank_2(campaign, "moon"), True),
        (at_rank_2(campaign, "rain"), True),
    ]


def test_what_is_still_voted_on_is_no_disagreement_yet(campaign: Campaign) -> None:
    tea = campaign.triplets.filter(pk=at_rank_2(campaign, "tea").pk)
    tea.update(status="open")
    assert tea.get() not in listed(root())


def test_the_list_does_not_tell_which_way_the_votes_went(campaign: Campaign) -> None:
    client = root()
    before = client.get(PAGE).content.decode()
    campaign.triplets.update(positive_votes=F("votes") - F("positive_votes"))
    after = client.get(PAGE).content.decode()
    assert "2 : 1" in before
    assert TOKEN.sub("", after) == TOKEN.sub("", before)


def test_of_many_disagreements_the_stored_list_is_shown(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disagreements, "WEIGHED_AT_ONCE", 2)
    client = root()
    # Before the first count the first ones by key are weighed, which leaves tea out.
    assert {one.candidate.query.key for one in listed(client)} == {"moon", "rain"}
    taken = review_figures.take(campaign).figures["disagreements"]
    names = ["rain", "tea", "moon"]
    assert listed(client) == [at_rank_2(campaign, name) for name in names]
    assert [row[0] for row in taken] == [one.pk for one in listed(client)]


def test_what_was_settled_since_is_left_out(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    review_figures.take(campaign)
    monkeypatch.setattr(disagreements, "WEIGHED_AT_ONCE", 1)
    rain = at_rank_2(campaign, "rain")
    campaign.triplets.filter(pk=rain.pk).update(positive_votes=0)
    assert listed(root()) == [at_rank_2(campaign, name) for name in ("tea", "moon")]


def test_unresolved_triplets_lead_to_their_pages(campaign: Campaign) -> None:
    response = root().get(PAGE)
    tea = at_rank_2(campaign, "tea")
    assert response.context["unresolved"] == [tea]
    assert f"/admin/campaigns/demo/triplets/{tea.pk}" in response.content.decode()


def test_reported_items_are_listed_with_what_was_said(campaign: Campaign) -> None:
    moon = at_rank_2(campaign, "moon")
    first = report(moon, HOSTILE)
    control = HitItem.objects.filter(hit=first.item.hit, triplet=None).earliest("pk")
    ItemReport.objects.create(assignment=first.assignment, item=control, reason="unclear")
    response = root().get(PAGE)
    assert [one.triplet for one in response.context["reported"]] == [None, moon.pk]
    page = response.content.decode()
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page


def test_each_table_says_how_much_of_its_list_it_shows(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    for query in ("moon", "rain"):
        report(at_rank_2(campaign, query), "unclear")
    unresolved = campaign.triplets.filter(candidate__query__key="tea", candidate__rank__gt=1)
    unresolved.update(status="unresolved", label=None)
    whole = root().get(PAGE).content.decode()
    assert "The first" not in whole
    assert "All unresolved triplets" not in whole
    monkeypatch.setattr(review, "PART_SIZE", 1)
    short = root().get(PAGE)
    page = short.content.decode()
    assert [len(short.context[name]) for name in ("disputed", "unresolved", "reported")] == [1] * 3
    assert "The first 1 of 3 in the list." in page
    assert "All unresolved triplets" in page
    assert "The first 1 are shown." in page


def test_a_campaign_without_votes_needs_nobody(campaign: Campaign) -> None:
    campaign.triplets.update(status="open", label=None, votes=0, positive_votes=0)
    page = root().get(PAGE).content.decode()
    for sentence in ("No unresolved triplets", "No disagreements", "No reports"):
        assert sentence in page


@pytest.mark.parametrize(
    ("role", "may_label"),
    [("owner", True), ("manager", True), ("adjudicator", True), ("viewer", False)],
)
def test_whoever_sees_the_campaign_sees_what_needs_a_look(
    campaign: Campaign, role: str, may_label: bool
) -> None:
    response = plays(role, campaign).get(PAGE)
    assert response.status_code == 200
    assert (f"{EXPERTS}?what=disagreement" in response.content.decode()) is may_label


def test_others_do_not(campaign: Campaign, client: Client) -> None:
    elsewhere = make_campaign(name="other")
    assert plays("viewer", elsewhere).get(PAGE).status_code == 404
    assert plays("annotator", campaign).get(PAGE).status_code == 403
    assert client.get(PAGE)["Location"] == f"/sign-in?next={PAGE}"


def test_the_page_takes_few_queries(campaign: Campaign, django_assert_max_num_queries: Any) -> None:
    client = plays("adjudicator", campaign)
    report(at_rank_2(campaign, "moon"))
    with django_assert_max_num_queries(20):
        client.get(PAGE)


def test_experts_are_shown_disagreements_in_that_order(campaign: Campaign) -> None:
    client = plays("adjudicator", campaign)
    met = []
    for _ in range(3):
        triplet = shown(client.get(EXPERTS, {"what": "disagreement"}))
        assert triplet
        met.append(triplet)
        form = {"triplet": triplet.pk, "label": "1"}
        assert client.post(f"{EXPERTS}?what=disagreement", form).status_code == 303
    assert met == [at_rank_2(campaign, name) for name in ("rain", "tea", "moon")]
    assert shown(client.get(EXPERTS, {"what": "disagreement"})) is None
    # What was chosen for being hard says nothing of how often the crowd errs elsewhere.
    assert set(ExpertLabel.objects.values_list("source", flat=True)) == {"adjudication"}


def test_an_expert_may_take_one_of_the_pile_by_its_number(campaign: Campaign) -> None:
    client, moon = plays("adjudicator", campaign), at_rank_2(campaign, "moon")
    asked = {"what": "disagreement", "triplet": moon.pk}
    response = client.get(EXPERTS, asked)
    assert shown(response) == moon
    assert "2 Yes" not in response.content.decode()
    agreed = campaign.triplets.get(candidate__query__key="moon", candidate__rank=1)
    assert shown(client.get(EXPERTS, {**asked, "triplet": agreed.pk})) != agreed
    assert shown(client.get(EXPERTS, {**asked, "triplet": "x"})) == at_rank_2(campaign, "rain")


def test_nobody_picks_the_triplets_of_a_random_sample(campaign: Campaign) -> None:
    client = plays("adjudicator", campaign)
    drawn = shown(client.get(EXPERTS, {"what": "sample"}))
    for triplet in campaign.triplets.filter(status="labelled"):
        assert shown(client.get(EXPERTS, {"what": "sample", "triplet": triplet.pk})) == drawn
        if triplet != drawn:
            form = {"triplet": triplet.pk, "label": "1"}
            assert client.post(f"{EXPERTS}?what=sample", form).status_code == 404
    assert not ExpertLabel.objects.exists()
