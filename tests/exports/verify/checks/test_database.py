"""A release of a campaign in the database, verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import ExpertLabel, Triplet
from exports.building.export import export
from exports.building.options import Options
from exports.verify.verify import verify
from tests.exports.support.campaigns import VERDICTS, make_campaign

pytestmark = pytest.mark.django_db


def test_a_campaigns_release_has_no_difference(tmp_path: Path) -> None:
    """With a discarded worker, a tie that nobody broke, and gold on both."""
    campaign = make_campaign()
    for triplet in Triplet.objects.filter(campaign=campaign):
        ExpertLabel.objects.create(triplet=triplet, expert="ada", label=1, source="sample")
    export(campaign, tmp_path / "release")
    report = verify(tmp_path / "release")
    assert report.differences == []
    assert not any("no gold" in sentence for sentence in report.unchecked)


def test_a_partial_release_has_no_difference(tmp_path: Path) -> None:
    campaign = make_campaign(VERDICTS | {"tea": ["ada+ bob+", "ada+", "ada+ bob-"]})
    export(campaign, tmp_path / "release", options=Options(partial=True))
    assert verify(tmp_path / "release").differences == []
