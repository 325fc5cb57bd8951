"""Packing measures whether the controls can be told apart, and says what to do about it."""

from pathlib import Path

import pytest

from annotation.analytics.campaign.publication_preview import publication_of
from annotation.analytics.quality.campaign_leak import (
    leak_figures,
    leak_warning,
    measure_leak,
    meetings_warning,
)
from annotation.models import Campaign
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.pack import pack_hits
from core.errors import UserError
from tests.annotation.pipeline.publishing.test_own_controls import add_own, shown
from tests.worlds.small_campaign import retrieved_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(small_database: None, tmp_path: Path) -> Campaign:
    """25 HITs of a triplet and two controls each: of other subjects, as the pool's are."""
    return retrieved_campaign(tmp_path, hit_size=3)


def test_controls_of_other_subjects_are_told_apart_with_a_warning(campaign: Campaign) -> None:
    pack_hits(campaign)
    auc = measure_leak(campaign)
    assert auc is not None
    assert auc > 0.8
    campaign.refresh_from_db()
    assert leak_warning(campaign) == (
        f"Controls can be told apart: AUC {auc:.2f}. Draft controls from the campaign's own "
        "corpus, confirm them, and pack again."
    )
    assert leak_figures(campaign) == {
        "control_auc": auc,
        "warning": f"{leak_warning(campaign)} `quorum campaign draft-controls faq` drafts them.",
    }


def test_with_controls_of_its_own_the_warning_asks_for_more_of_them(campaign: Campaign) -> None:
    add_own(campaign, "positive")
    campaign.control_leak = 0.61
    assert leak_warning(campaign).startswith("Controls can be told apart: AUC 0.61. Confirm more")
    campaign.control_leak = 0.6
    assert leak_warning(campaign) == ""
    assert leak_figures(campaign)["control_auc"] == 0.6


def test_a_campaign_that_is_not_packed_has_no_figure(campaign: Campaign) -> None:
    assert measure_leak(campaign) is None
    assert leak_warning(campaign) == ""
    assert leak_figures(campaign) == {}


def test_of_too_few_hits_it_says_that_nothing_is_measured(
    small_database: None, tmp_path: Path
) -> None:
    """Five, instead of eight."""
    campaign = retrieved_campaign(tmp_path)
    pack_hits(campaign)
    assert measure_leak(campaign) is None
    why = "Too few HITs to measure whether controls can be told apart: 8 are needed."
    assert leak_figures(campaign) == {"note": why}


def test_publishing_says_it_again_without_a_remedy_once_it_is_too_late(campaign: Campaign) -> None:
    pack_hits(campaign)
    set_budget(campaign, 1_000_000)
    campaign.control_leak = 0.97
    campaign.save()
    assert publication_of(campaign, 5).sentences()[-1] == leak_warning(campaign)
    campaign.endpoint = "https://crowd.example"
    assert leak_warning(campaign) == "Controls can be told apart: AUC 0.97."


def test_it_says_how_often_one_person_meets_a_control_and_what_would_help(
    campaign: Campaign,
) -> None:
    """Of each kind five controls for 25 HITs, then ten and thirteen."""
    assert meetings_warning(campaign) == ""
    add_own(campaign, "positive")
    add_own(campaign, "negative")
    often = "Whoever does every HIT meets the same control up to 5 times. To make it 2 at most, "
    lacking = "confirm 8 more positive and 8 more negative controls, and "
    assert meetings_warning(campaign) == f"{often}{lacking}pack."
    pack_hits(campaign)
    assert meetings_warning(campaign) == f"{often}{lacking}pack again."
    for number in (1, 2):
        add_own(campaign, "positive", number)
    assert "confirm 8 more negative controls, and pack again." in meetings_warning(campaign)
    for number in (1, 2):
        add_own(campaign, "negative", number)
    assert meetings_warning(campaign) == f"{often}pack again."
    assert leak_figures(campaign)["warning"] == meetings_warning(campaign)
    pack_hits(campaign, again=True)
    assert meetings_warning(campaign) == ""


def test_once_it_is_published_nothing_would_help(campaign: Campaign) -> None:
    add_own(campaign, "positive")
    add_own(campaign, "negative")
    campaign.endpoint = "https://crowd.example"
    assert meetings_warning(campaign) == ""


def test_hits_are_packed_again_with_new_controls_until_they_are_published(
    campaign: Campaign,
) -> None:
    pack_hits(campaign)
    own = add_own(campaign, "positive") + add_own(campaign, "negative")
    assert pack_hits(campaign).already
    packed = pack_hits(campaign, again=True)
    assert (packed.hits, packed.triplets, packed.already) == (25, 25, False)
    assert {control.pk for control in shown(campaign)} == {control.pk for control in own}
    campaign.endpoint = "https://crowd.example"
    campaign.save()
    with pytest.raises(UserError, match="faq is published: its HITs stay as they are"):
        pack_hits(campaign, again=True)
