"""The expert's page: blind before the decision, and never a vote."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.analytics.campaign.progress import progress
from annotation.models import Campaign, ExpertLabel, ItemReport, Judgment, Triplet, Worker
from annotation.pipeline.adjudicate import Pile, What
from tests.annotation.support.experts import (
    ADDRESS,
    at,
    decide,
    expert,
    report,
    show,
    shown,
    unresolved,
)
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

UNRESOLVED = {"tea": ["ada+ bob- third+ fourth-"] * 3, "moon": ["ada+ bob+"] * 3}
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')


@pytest.fixture
def campaign() -> Campaign:
    """Of nine triplets one is unresolved: tea's second."""
    return make_campaign()


@pytest.fixture
def ada(campaign: Campaign) -> Client:
    return at(expert("ada"))


@pytest.fixture
def judged() -> Campaign:
    """Moon's three triplets are labelled Yes; tea's three, with two votes each way, unresolved."""
    return make_campaign(UNRESOLVED)


def test_an_unresolved_triplet_is_shown_with_the_instructions(
    ada: Client, campaign: Campaign
) -> None:
    response = ada.get(ADDRESS)
    assert shown(response) == unresolved(campaign)
    text = response.content.decode()
    for part in ("What about", "tea question 2", "tea answer", "Same meaning, same answer?"):
        assert part in text
    assert "0 of 1 decided by you" in text
    assert response["Cache-Control"].count("no-store") == 1


@pytest.mark.parametrize("what", ["unresolved", "reported", "sample"])
def test_before_the_decision_the_page_is_the_same_whatever_was_voted(
    ada: Client, campaign: Campaign, what: str
) -> None:
    """Votes, labels, workers and reports' words are turned over; not a byte of the page is."""
    triplet = unresolved(campaign)
    report(triplet)
    if what == "sample":
        Triplet.objects.filter(pk=triplet.pk).update(status="labelled", label=1)
        campaign.triplets.exclude(pk=triplet.pk).update(status="open", label=None)
    pages = [TOKEN.sub("", ada.get(ADDRESS, {"what": what}).content.decode())]
    for judgment in Judgment.objects.filter(triplet=triplet):
        judgment.value = 1 - judgment.value
        judgment.save()
    ItemReport.objects.update(reason="offensive", text="other words")
    Worker.objects.filter(worker_id="third").update(worker_id="somebody")
    ExpertLabel.objects.create(triplet=triplet, expert="bob", label=1, source="import", note="x")
    label = 0 if what == "sample" else None
    Triplet.objects.filter(pk=triplet.pk).update(label=label, votes=5, positive_votes=1)
    pages.append(TOKEN.sub("", ada.get(ADDRESS, {"what": what}).content.decode()))
    assert f'value="{triplet.pk}"' in pages[0]
    assert pages[0] == pages[1]


def test_votes_label_and_reports_are_shown_once_decided(ada: Client, campaign: Campaign) -> None:
    triplet = unresolved(campaign)
    report(triplet, "which tea")
    ExpertLabel.objects.create(triplet=triplet, expert="bob", label=0, source="import", note="no!")
    before = ada.get(ADDRESS).content.decode()
    page = ada.get(decide(ada, triplet, 1, note="they ask so")["Location"]).content.decode()
    words = ("You said Yes", "they ask so", "2 Yes, 2 No", "unresolved</small>", "which tea", "no!")
    assert [word for word in words if word not in page] == []
    assert [word for word in words if word in before] == []
    assert "Next" in page


def test_a_label_unlike_ones_own_is_pointed_out(ada: Client, campaign: Campaign) -> None:
    triplet = show(ada, "sample")
    assert triplet
    assert triplet.label is not None
    unlike, word = 1 - triplet.label, "Yes" if triplet.label else "No"
    page = ada.get(decide(ada, triplet, unlike, "sample")["Location"]).content.decode()
    assert f"{word} <small>unlike yours</small>" in page
    page = ada.get(decide(ada, triplet, triplet.label, "sample")["Location"]).content.decode()
    assert "unlike yours" not in page


def test_nobody_sees_votes_by_an_address_alone(ada: Client, campaign: Campaign) -> None:
    triplet = unresolved(campaign)
    ExpertLabel.objects.create(
        triplet=triplet, expert="bob", label=0, source="adjudication", adjudicated=True
    )
    page = ada.get(ADDRESS, {"decided": triplet.pk}).content.decode()
    assert "2 Yes, 2 No" not in page
    assert "bob" not in page


def test_reported_triplets_make_a_pile_of_their_own(ada: Client, campaign: Campaign) -> None:
    assert "Annotators have not reported" in ada.get(ADDRESS, {"what": "reported"}).content.decode()
    triplet = campaign.triplets.filter(label=0).first()
    assert triplet is not None
    report(triplet)
    assert show(ada, "reported") == triplet
    decide(ada, triplet, 1, "reported")
    assert ExpertLabel.objects.get().source == "adjudication"
    text = ada.get(ADDRESS, {"what": "reported"}).content.decode()
    assert "Nothing left to decide here" in text


def test_a_sample_is_of_labelled_triplets_in_an_order_of_the_experts_own(
    campaign: Campaign,
) -> None:
    orders = []
    for name in ("ada", "bob", "eve"):
        client, order = at(expert(name)), []
        while (triplet := show(client, "sample")) is not None:
            order.append(triplet.pk)
            decide(client, triplet, 1, "sample")
        orders.append(order)
        ExpertLabel.objects.all().delete()
    labelled = campaign.triplets.filter(status="labelled").values_list("pk", flat=True)
    assert [sorted(order) for order in orders] == [sorted(labelled)] * 3
    assert len(set(map(tuple, orders))) == 3


def test_a_pile_that_is_nearly_all_there_is_is_counted_so_far_and_no_farther(
    judged: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = at(expert("ada"))
    monkeypatch.setattr("annotation.pipeline.adjudicate.MOST_COUNTED", 2)
    with CaptureQueriesContext(connection) as asked:
        page = ada.get(f"{ADDRESS}?what=sample").content.decode()
    assert "0 of 2 or more decided by you" in page
    counts = [one["sql"] for one in asked if one["sql"].startswith("SELECT COUNT(")]
    # The other one counts what the expert has decided.
    assert ["LIMIT 2" in sql for sql in counts] == [True, False]


def test_a_decision_is_kept_beside_the_votes_and_touches_nothing_else(
    ada: Client, campaign: Campaign
) -> None:
    def record() -> list[object]:
        return [list(model.objects.order_by("pk").values()) for model in (Triplet, Judgment)]

    before = record()
    response = decide(ada, unresolved(campaign), 1, note=" both\x00 ask <b>it</b> ")
    assert response.status_code == 303
    label = ExpertLabel.objects.get()
    assert (label.expert, label.label, label.source) == ("ada", 1, "adjudication")
    assert label.note == "both ask <b>it</b>"
    assert record() == before
    assert progress(campaign)["unresolved"] == 1


def test_a_label_can_be_changed_and_stays_one(ada: Client, campaign: Campaign) -> None:
    triplet = unresolved(campaign)
    for label in (1, 1, 0):
        decide(ada, triplet, label)
    assert ExpertLabel.objects.get().label == 0
    page = ada.get(ADDRESS).content.decode()
    assert f"decided={triplet.pk}" in page  # the way back to it
    assert "Change to Yes" in ada.get(ADDRESS, {"decided": triplet.pk}).content.decode()


def test_a_change_leaves_how_the_triplet_was_chosen(ada: Client, campaign: Campaign) -> None:
    triplet = show(ada, "sample")
    assert triplet
    decide(ada, triplet, 0, "sample")
    assert decide(ada, triplet, 1, "reported").status_code == 404
    report(triplet)
    assert decide(ada, triplet, 1, "reported").status_code == 303
    assert ExpertLabel.objects.get().source == "sample"


def test_no_triplet_but_the_drawn_one_is_taken_as_one_of_the_sample(
    ada: Client, campaign: Campaign
) -> None:
    """The label error is computed from these: hand-picked ones could make it what one likes."""
    drawn = show(ada, "sample")
    assert drawn
    for triplet in campaign.triplets.exclude(pk=drawn.pk):
        assert decide(ada, triplet, 1, "sample").status_code == 404
        skip = {"triplet": str(triplet.pk), "skip": "1"}
        assert ada.post(f"{ADDRESS}?what=sample", skip).status_code == 404
    assert not ExpertLabel.objects.exists()
    assert decide(ada, drawn, 1, "sample").status_code == 303
    assert ExpertLabel.objects.get().source == "sample"


def test_what_was_skipped_of_the_sample_may_be_decided_later(ada: Client) -> None:
    first = show(ada, "sample")
    assert first
    skip = {"triplet": str(first.pk), "skip": "1"}
    for _ in range(2):  # a double click
        assert ada.post(f"{ADDRESS}?what=sample", skip).status_code == 303
    second = show(ada, "sample")
    assert second != first
    assert [decide(ada, one, 1, "sample").status_code for one in (first, second)] == [303, 303]


def test_a_drawn_triplet_is_taken_though_the_draw_has_changed_meanwhile(
    ada: Client, campaign: Campaign
) -> None:
    """Another expert has decided it: a new draw would begin with one that nobody has."""
    drawn = show(ada, "sample")
    assert drawn
    ExpertLabel.objects.create(triplet=drawn, expert="bob", label=1, source="sample")
    assert Pile(campaign, What.SAMPLE, "ada", worker_id=None).next([]) != drawn
    assert decide(ada, drawn, 1, "sample").status_code == 303


def test_a_label_that_is_none_is_refused(ada: Client, campaign: Campaign) -> None:
    for label in ["", "2", "yes", "1 "]:
        form = {"triplet": str(unresolved(campaign).pk), "label": label}
        assert ada.post(ADDRESS, form).status_code == 422
        assert not ExpertLabel.objects.exists()


def test_a_note_that_is_too_long_is_refused_and_stays_in_the_form(
    judged: Campaign,
) -> None:
    triplet = judged.triplets.filter(status="unresolved").last()
    response = decide(at(expert("ada")), triplet, 1, note="x" * 2_001)
    assert response.status_code == 422
    assert shown(response) == triplet
    page = response.content.decode()
    assert "x" * 2_001 in page
    assert "at most 2,000 characters" in page
    assert not ExpertLabel.objects.exists()


def test_a_change_whose_note_is_too_long_keeps_both_notes(ada: Client, campaign: Campaign) -> None:
    decide(ada, unresolved(campaign), 1, note="short")
    response = decide(ada, unresolved(campaign), 0, note="y" * 2_001)
    assert response.status_code == 422
    assert "y" * 2_001 in response.content.decode()
    assert "You said Yes" in response.content.decode()
    assert ExpertLabel.objects.get().note == "short"


def test_a_note_typed_before_a_skip_is_there_when_the_triplet_comes_back(
    ada: Client, campaign: Campaign
) -> None:
    triplet = unresolved(campaign)
    ada.post(ADDRESS, {"triplet": str(triplet.pk), "skip": "1", "note": "silk is <b>no</b> wool"})
    response = ada.get(ADDRESS)
    assert shown(response) == triplet
    assert "silk is &lt;b&gt;no&lt;/b&gt; wool</textarea>" in response.content.decode()
    decide(ada, triplet, 1)
    assert "silk" not in str(dict(ada.session))


def test_a_triplet_that_is_none_is_refused(ada: Client) -> None:
    for pk in ["", "0", "-1", "x", "9" * 30, "\uff11"]:
        assert ada.post(ADDRESS, {"triplet": pk, "label": "1"}).status_code == 404
        assert ada.get(ADDRESS, {"decided": pk}).status_code == 200


@pytest.mark.parametrize("what", ["sample", "reported"])
def test_a_triplet_of_another_pile_is_not_taken_as_one_of_this(
    ada: Client, campaign: Campaign, what: str
) -> None:
    """A hard one, picked by hand, is no random sample."""
    triplet = unresolved(campaign)
    assert decide(ada, triplet, 1, what).status_code == 404
    assert not ExpertLabel.objects.exists()
    decide(ada, triplet, 1)
    assert decide(ada, triplet, 0, what).status_code == 303
    assert ExpertLabel.objects.get().label == 0


def test_another_campaigns_triplet_is_refused(ada: Client) -> None:
    other = make_campaign({"sea": ["ada+ bob+"] * 3}, name="other")
    assert decide(ada, other.triplets.first(), 1).status_code == 404


def test_what_is_skipped_comes_last_and_then_again_in_turn(judged: Campaign) -> None:
    client, order = at(expert("ada")), []
    for _ in range(7):
        triplet = show(client)
        assert triplet is not None
        order.append(triplet.pk)
        client.post(ADDRESS, {"triplet": str(triplet.pk), "skip": "1"})
    assert len(set(order[:3])) == 3
    assert order == [*order[:3], *order[:3], order[0]]
    assert not ExpertLabel.objects.exists()


def test_two_experts_at_once_each_have_a_label_of_their_own(judged: Campaign) -> None:
    ada, bob = at(expert("ada")), at(expert("bob"))
    triplet = show(ada)
    decide(ada, triplet, 1)
    decide(bob, triplet, 0)
    assert dict(ExpertLabel.objects.values_list("expert", "label")) == {"ada": 1, "bob": 0}


def test_an_expert_gets_first_what_no_other_has_decided(judged: Campaign) -> None:
    ada, bob = at(expert("ada")), at(expert("bob"))
    first = show(bob)
    decide(ada, first, 1)
    seen = []
    for _ in range(3):
        triplet = show(bob)
        decide(bob, triplet, 1)
        seen.append(triplet)
    assert first not in seen[:2]
    assert seen[2] == first
