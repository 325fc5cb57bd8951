"""Packing measures whether the controls can be told apart, and says what to do about it."""

from pathlib import Path

import pytest

from annotation.analytics.quality.campaign_leak import leak_figures, leak_warning, measure_leak
from annotation.models import Campaign
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
    assert leak_figures(campaign) == {"control_auc": 0.6}


def test_a_campaign_that_is_not_packed_has_no_figure(campaign: Campaign) -> None:
    assert measure_leak(campaign) is None
    assert leak_warning(campaign) == ""


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
