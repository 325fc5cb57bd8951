"""The report of what an aggregator that knows the controls would change."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.analytics.quality.aggregation import aggregation_of, reliability_of
from annotation.models import Assignment, Campaign, Exclusion, ExpertLabel, Worker
from annotation.pipeline.labelling.label import relabel
from annotation.pipeline.labelling.vote_table import vote_table
from annotation.protocol.aggregation import calibration
from annotation.protocol.aggregation.table import UNKNOWN
from tests.annotation.commands.test_commands import run, run_json
from tests.annotation.support.annotators import Annotators
from tests.annotation.support.biased_crowd import biased_crowd, submitted
from tests.annotation.support.hits import make_campaign, make_hit
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotators() -> Annotators:
    return biased_crowd()


def say(campaign: Campaign) -> None:
    """An expert judges all triplets without seeing votes."""
    for triplet in campaign.triplets.all():
        item = triplet.items.get()
        label = int(item.position == 0)
        ExpertLabel.objects.create(triplet=triplet, expert="gil", label=label, source="sample")


def test_the_table_has_valid_votes_and_every_reviewed_answer_to_a_control() -> None:
    campaign = make_campaign("small")
    annotators = Annotators(campaign, [make_hit(campaign)])
    submitted(annotators, "ada", 1, [1, 0, 1, 0, 0, 0, 1])
    failed = submitted(annotators, "bob", 1, [1, 1, 0, 1, 1, 1, 1])
    Assignment.objects.filter(pk=failed.pk).update(passed=False, failure="missed")
    out = submitted(annotators, "cem", 1, [1] * 7)
    Exclusion.objects.create(campaign=campaign, worker=out.worker, failures=1, reviewed=1)
    table, triplets, workers, ranks = vote_table(campaign)
    assert ranks is None  # they have no say
    assert table.known.tolist() == [UNKNOWN] * 5 + [1, 0]
    first, second = (Worker.objects.get(worker_id=name) for name in ("ada", "bob"))
    keys = sorted([first.pk, second.pk])
    rows = set(zip(table.item.tolist(), table.worker.tolist(), table.vote.tolist(), strict=True))
    ada, bob = keys.index(first.pk), keys.index(second.pk)
    of_ada = {(item, ada, vote) for item, vote in enumerate([1, 0, 0, 0, 1, 1, 0])}
    assert rows == of_ada | {(5, bob, 0), (6, bob, 1)}
    assert (workers.tolist(), table.workers) == (keys, 3)  # the last one is anybody new
    assert triplets.tolist() == sorted(campaign.triplets.values_list("pk", flat=True))


def test_a_model_that_knows_the_controls_undoes_what_all_workers_do_wrong(
    annotators: Annotators,
) -> None:
    say(annotators.campaign)
    report = aggregation_of(annotators.campaign)
    assert (report.controls, report.answers, report.votes) == (48, 144, 360)
    assert report.choice.name in ("half and half", "two coins")
    majority, chosen = (report.errors[name] for name in ("majority", report.choice.name))
    assert majority is not None
    assert chosen is not None
    assert majority.share > 0.2
    assert chosen.share < majority.share / 2
    assert report.changed == majority.wrong - chosen.wrong  # each change was right
    assert report.with_majority == majority.triplets == 120


def test_without_enough_blind_labels_no_probability_is_shown_and_all_say_why(
    annotators: Annotators, client: Client
) -> None:
    campaign = annotators.campaign
    client.force_login(User.objects.create_superuser("owner"))
    say(campaign)  # 120, where 150 are wanted
    for policy, why in (({}, "labels are majorities"), ({"aggregation": "best"}, "150 at least")):
        campaign.policy_data = policy
        campaign.save()
        relabel(campaign, list(campaign.hits.values_list("pk", flat=True)))
        assert reliability_of(campaign) is None
        result = run_json("campaign", "aggregation-report", "faq")
        assert why in str(result["probabilities"])
        assert (result["expected_calibration_error"], result["reliability"]) == (None, None)
        page = client.get("/admin/campaigns/faq/review/error")
        assert why in text_of(page)
        assert b"chart-reliability" not in page.content


def test_with_enough_of_them_the_diagram_says_how_often_chances_come_true(
    annotators: Annotators, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    monkeypatch.setattr(calibration, "LEAST_SAMPLED", 100)
    monkeypatch.setattr(calibration, "MOST_ERROR", 0.03)
    campaign = annotators.campaign
    campaign.policy_data = {"aggregation": "best"}
    campaign.save()
    say(campaign)
    relabel(campaign, list(campaign.hits.values_list("pk", flat=True)))
    shown = reliability_of(campaign)
    assert shown is not None
    assert sum(one.items for one in shown.bins) == 120
    assert all(one.low <= one.share <= one.high for one in shown.bins)
    assert shown.error < 0.1
    result = run_json("campaign", "aggregation-report", "faq")
    assert result["probabilities"] == "shown"
    assert result["expected_calibration_error"] == pytest.approx(shown.error, abs=1e-4)
    assert str(result["reliability"]).count("came true") == len(shown.bins)
    client.force_login(User.objects.create_superuser("owner"))
    page = client.get("/admin/campaigns/faq/review/error")
    assert "On the 120 that were picked at random" in text_of(page)
    assert b"chart-reliability" in page.content


def test_the_command_says_which_is_chosen_and_why(annotators: Annotators) -> None:
    words = run("campaign", "aggregation-report", "faq")
    assert "it foretells hidden controls better than the majority, by " in words
    result = run_json("campaign", "aggregation-report", "faq")
    assert result["labels_that_would_change"] > 10
    assert "label_error_of_majority" not in result  # no expert has said anything


def test_with_few_controls_it_is_the_majority() -> None:
    campaign = make_campaign("small")
    submitted(Annotators(campaign, [make_hit(campaign)]), "ada", 1, [1, 0, 1, 0, 0, 0, 1])
    result = run_json("campaign", "aggregation-report", "small")
    assert result["chosen"] == "majority"
    assert result["why"] == "fewer than 20 controls of each kind are answered"
    assert result["labels_that_would_change"] == 0


def test_a_campaign_without_votes_has_a_report_too() -> None:
    make_campaign("new")
    result = run_json("campaign", "aggregation-report", "new")
    assert (result["votes"], result["chosen"]) == (0, "majority")
