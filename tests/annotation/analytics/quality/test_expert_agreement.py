"""What the status of a campaign says of the experts' labels."""

import pytest

from annotation.analytics.campaign.progress import progress
from annotation.analytics.quality.expert_agreement import expert_figures
from annotation.commands.campaign_noun import experts_in_words
from annotation.models import Campaign
from annotation.pipeline.adjudicate import Pile, What
from tests.annotation.support.experts import unresolved
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    """Of nine triplets one is unresolved: tea's second."""
    return make_campaign()


def test_the_status_counts_what_experts_said(campaign: Campaign) -> None:
    """Of nine triplets, one unresolved is adjudicated by two who disagree, two are samples."""
    for name, label in (("ada", 1), ("bob", 0)):
        pile = Pile(campaign, What.UNRESOLVED, name, worker_id=None)
        pile.decide(unresolved(campaign), label, "")
    sample = Pile(campaign, What.SAMPLE, "ada", worker_id=None)
    yes, no = (campaign.triplets.filter(label=label).first() for label in (1, 0))
    assert yes
    assert no
    sample.decide(yes, 1, "")
    sample.decide(no, 1, "")
    found = progress(campaign)["expert"]
    assert isinstance(found, dict)
    assert found.pop("label_error_basis").startswith("labelled triplets whose expert label")
    kinds = found.pop("label_error_kinds")
    # Of eight labels five are negative; one of either kind was judged.
    assert kinds["false_positives"] == {
        "triplets": 1,
        "share": 0.0,
        "interval": [0.0, 0.7935],
        "of_all": 0.0,
        "of_all_interval": [0.0, 0.2975],
    }
    assert kinds["false_negatives"]["share"] == 1.0
    assert kinds["false_negatives"]["of_all"] == 0.625
    assert found == {
        "labels": 4,
        "triplets": 3,
        "unresolved_adjudicated": 1.0,
        "agreement": 0.0,
        "label_error": 0.5,
        # (2 + 2.8415 - 1.96 * sqrt(3.8415 - 2.5 + 4)) / 11.683 to 0.5 + 1.96 / 2.9207 * sqrt(
        # 0.125 + 3.8415 / 16)
        "label_error_interval": [0.0267, 0.9055],
        "label_error_triplets": 2,
        "label_error_reason": None,
    }


def test_a_label_changed_after_the_votes_were_seen_counts_as_it_was_first_given(
    campaign: Campaign,
) -> None:
    """Who sees the crowd's label may come round to it: that would make the error smaller."""
    labelled = campaign.triplets.filter(label=1).first()
    assert labelled
    piles = [Pile(campaign, What.SAMPLE, name, worker_id=None) for name in ("ada", "bob")]
    for pile, label in zip(piles, (0, 1), strict=True):
        pile.decide(labelled, label, "")
    before = expert_figures(campaign)
    assert before.agreement == 0.0
    for label in (1, 0, 1):
        piles[0].decide(labelled, label, "a second look")
    assert expert_figures(campaign) == before
    given = labelled.expert_labels.get(expert="ada")
    assert (given.label, given.blind_label) == (1, 0)


def test_a_note_alone_changes_no_label(campaign: Campaign) -> None:
    pile = Pile(campaign, What.UNRESOLVED, "ada", worker_id=None)
    for note in ("", "why"):
        pile.decide(unresolved(campaign), 1, note)
    given = unresolved(campaign).expert_labels.get()
    assert (given.label, given.blind_label, given.note) == (1, None, "why")


def test_the_status_says_in_a_line_what_experts_said(campaign: Campaign) -> None:
    assert experts_in_words(progress(campaign)["expert"]) is None
    triplet = unresolved(campaign)
    Pile(campaign, What.UNRESOLVED, "ada", worker_id=None).decide(triplet, 1, "")
    first = "1 labels on 1 triplets, 100.0% of the unresolved ones decided"
    assert experts_in_words(progress(campaign)["expert"]) == first
    labelled = campaign.triplets.filter(label=1).first()
    assert labelled
    for name, label in (("ada", 1), ("bob", 1), ("eve", 0)):
        Pile(campaign, What.SAMPLE, name, worker_id=None).decide(labelled, label, "")
    assert experts_in_words(progress(campaign)["expert"]) == (
        "4 labels on 2 triplets, 100.0% of the unresolved ones decided, agreement 33.3%, "
        "label error 0.0% (0.0% to 79.3%) of 1"
    )
