"""Experts label what they are shown blind."""

import pytest

from annotation.models import AuditEntry, Campaign, ExpertLabel, Triplet
from tests.annotation.api.people import Program, is_problem, person
from tests.annotation.support.hits import make_hit


def test_an_expert_labels_what_they_are_shown_blind(campaign: Campaign) -> None:
    expert = Program(person("dan", campaign, "adjudicator"))
    shown = expert.get("campaigns/faq/expert-labels/next?pile=sample").json()["next"]
    assert sorted(shown) == ["answer", "query", "question", "triplet"]  # no vote, no label
    sent = {"triplet": shown["triplet"], "label": 0, "pile": "sample", "note": "not the same"}
    answer = expert.post("campaigns/faq/expert-labels", sent)
    assert answer.status_code == 201
    assert expert.get(f"campaigns/faq/expert-labels/{answer.json()['id']}").json() == answer.json()
    again = expert.post("campaigns/faq/expert-labels", sent | {"label": 1}).json()
    assert (again["id"], again["label"], again["blind_label"]) == (answer.json()["id"], 1, 0)
    assert ExpertLabel.objects.filter(expert="dan").count() == 1
    logged = [entry.details for entry in AuditEntry.objects.filter(verb="label").order_by("pk")]
    # Not what was said: others who read the log are to decide blind.
    assert logged == [{"pile": "sample", "again": again} for again in (False, True)]


def test_nobody_picks_the_sample_s_triplets_by_the_api(campaign: Campaign) -> None:
    """The label error is computed from these: hand-picked ones could make it what one likes."""
    make_hit(campaign, real=[(f"more {number}", "question", "answer") for number in range(4)])
    campaign.triplets.update(status="labelled", label=1, votes=2, positive_votes=2)
    expert = Program(person("dan", campaign, "adjudicator"))
    drawn = expert.get("campaigns/faq/expert-labels/next?pile=sample").json()["next"]["triplet"]
    for triplet in campaign.triplets.exclude(pk=drawn):
        sent = {"triplet": triplet.pk, "label": 1, "pile": "sample"}
        assert is_problem(expert.post("campaigns/faq/expert-labels", sent), 404)
    assert not ExpertLabel.objects.filter(expert="dan").exists()
    sent = {"triplet": drawn, "label": 1, "pile": "sample"}
    assert expert.post("campaigns/faq/expert-labels", sent).status_code == 201


def test_a_triplet_that_was_drawn_is_taken_though_the_draw_has_changed(campaign: Campaign) -> None:
    make_hit(campaign, real=[(f"more {number}", "question", "answer") for number in range(4)])
    campaign.triplets.update(status="labelled", label=1, votes=2, positive_votes=2)
    dan, eve = (Program(person(name, campaign, "adjudicator")) for name in ("dan", "eve"))
    given = dan.get("campaigns/faq/expert-labels/next?pile=sample").json()
    sent = {"triplet": given["next"]["triplet"], "label": 1, "pile": "sample"}
    # What another expert has met comes last.
    ExpertLabel.objects.create(triplet_id=sent["triplet"], expert="finn", source="sample", label=1)
    assert is_problem(dan.post("campaigns/faq/expert-labels", sent), 404)
    for not_his in (None, "", "x", given["draw"][:-1], given["draw"].swapcase()):
        answer = eve.post("campaigns/faq/expert-labels", {**sent, "draw": not_his})
        assert is_problem(answer, 404)
    assert is_problem(eve.post("campaigns/faq/expert-labels", {**sent, "draw": given["draw"]}), 404)
    answer = dan.post("campaigns/faq/expert-labels", {**sent, "draw": given["draw"]})
    assert answer.status_code == 201


@pytest.mark.parametrize("role", ["owner", "adjudicator"])
def test_what_another_expert_said_is_told_after_one_s_own_label_alone(
    campaign: Campaign, role: str
) -> None:
    cleos = ExpertLabel.objects.get(expert="cleo")
    ExpertLabel.objects.filter(pk=cleos.pk).update(note="the same, I think", blind_label=0)
    dan = Program(person("dan", campaign, role))
    row = f"campaigns/faq/expert-labels/{cleos.pk}"
    lists = [f"campaigns/faq/expert-labels{of}" for of in ("", f"?triplet={cleos.triplet_id}")]
    assert [dan.get(one).json()["results"] for one in lists] == [[], []]
    assert is_problem(dan.get(row), 404)
    Triplet.objects.update(status="unresolved", label=None)
    sent = {"triplet": cleos.triplet_id, "label": 0, "pile": "unresolved"}
    assert dan.post("campaigns/faq/expert-labels", sent).status_code == 201
    report = [{one["expert"] for one in dan.get(path).json()["results"]} for path in lists]
    assert report == [{"cleo", "dan"}] * 2
    assert dan.get(row).json()["note"] == "the same, I think"


def test_an_expert_labels_nothing_that_is_not_of_the_pile(campaign: Campaign) -> None:
    expert = Program(person("dan", campaign, "adjudicator"))
    triplet = Triplet.objects.get().pk
    sent = {"triplet": triplet, "label": 1, "pile": "unresolved"}
    assert is_problem(expert.post("campaigns/faq/expert-labels", sent), 404)
    assert is_problem(expert.post("campaigns/faq/expert-labels", sent | {"triplet": 10**6}), 404)
    assert expert.get("campaigns/faq/expert-labels?expert=dan").json()["results"] == []
