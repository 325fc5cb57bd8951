"""A plan after a campaign whose labels experts have judged."""

from typing import Any

import pytest

from annotation.models import Account, Campaign
from annotation.pipeline.labelling.label import write_labels
from tests.annotation.analytics.quality.test_aggregation import say
from tests.annotation.commands.test_commands import refused, run, run_json
from tests.annotation.support.biased_crowd import biased_crowd

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    """Its workers see a duplicate in a third of the items that are none, and miss nothing."""
    made = biased_crowd().campaign
    Account.objects.create(campaign=made)
    write_labels(made)
    say(made)
    return made


@pytest.mark.usefixtures("campaign")
def test_the_cheapest_that_meets_what_is_wanted_is_named() -> None:
    result: Any = run_json("campaign", "plan", "faq", "--error", "0.25", "--people", "9")
    assert result["triplets_judged_by_experts"] == 120
    assert result["share_of_positives"] == 0.2
    assert result["wrong_votes_on_negatives"] == pytest.approx(0.35, abs=0.06)
    assert result["wrong_votes_on_positives"] < 0.02
    made = result["choices"]
    assert len([one for one in made if one["choice"].startswith("majority")]) == 7
    assert len([one for one in made if one["choice"].endswith("sure")]) == 4
    enough = [one for one in made if one["error"] <= 0.25]
    assert result["choice"] == min(enough, key=lambda one: one["cents"])
    dear = ("--budget", str(result["choice"]["cents"] / 100 - 0.01))
    poor: Any = run_json("campaign", "plan", "faq", "--error", "0.25", "--people", "9", *dear)
    assert poor["choice"] is None
    own, came = result["own_policy"], result["came"]
    low, high = came["error_interval"]
    assert low < own["error"] < high
    words = run("campaign", "plan", "faq", "--error", "0.25", "--people", "9")
    assert f"The cheapest that meets this is {result['choice']['choice']}: a policy with" in words
    assert f"so far                      label error {came['error']:.2%} (" in words
    assert "None of these meets it" in run("campaign", "plan", "faq", "--error", "0.001")


def test_without_experts_nothing_is_planned() -> None:
    biased_crowd()
    assert "Experts have judged 0 negatives blindly in faq, and 20 are needed" in refused(
        "campaign", "plan", "faq", "--error", "0.1"
    )
