"""A release whose labels are certified, and one of which that cannot be said any more."""

from pathlib import Path

import pytest

from annotation.models import Campaign, ExpertLabel
from core.errors import UserError
from exports.building.export import export
from exports.building.options import Options
from exports.verify.verify import verify
from tests.exports.support.built_releases import sealed
from tests.exports.support.campaigns import MANY, make_campaign
from tests.exports.support.contents import document
from tests.exports.verify.tampering import change_lines, change_object, found

pytestmark = pytest.mark.django_db
WANTED = Options(certify=0.15)


@pytest.fixture
def campaign() -> Campaign:
    """Of 44 labels each was judged by an expert at random, and found right."""
    campaign = make_campaign(MANY, train=9, dev=3, test=3)
    for triplet in campaign.triplets.filter(status="labelled"):
        assert triplet.label is not None
        ExpertLabel.objects.create(
            triplet=triplet, expert="ada", label=triplet.label, source="sample"
        )
    return campaign


def test_a_release_is_certified_by_its_own_files(campaign: Campaign, tmp_path: Path) -> None:
    folder = export(campaign, tmp_path / "release", options=WANTED).folder
    assert document(folder, "release.json")["options"]["certify"] == 0.15
    certificate = document(folder, "stats.json")["certificate"]
    assert certificate.pop("evidence") > 20
    assert certificate == {
        "error": 0.15,
        "confidence": 0.95,
        "holds": True,
        "labels": 44,
        "decided_by_experts": 0,
        "judged_at_random": 44,
        "wrong": 0,
    }
    assert "It is certified that at most 15.0% of the 44 labels are wrong" in (
        folder / "README.md"
    ).read_text(encoding="utf-8")
    assert verify(folder).differences == []


def test_what_does_not_hold_is_no_release(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"audit-plan demo --certify 0.02` says what is missing"):
        export(campaign, tmp_path / "release", options=Options(certify=0.02))
    assert not campaign.releases.exists()


def test_a_certificate_that_the_files_do_not_bear_out_is_a_difference(
    campaign: Campaign, tmp_path: Path
) -> None:
    folder = export(campaign, tmp_path / "release", options=WANTED).folder
    change_lines(folder / "gold.jsonl", lambda rows: rows.__delitem__(slice(10, None)))
    sealed(folder)
    assert "the files do not certify that at most 15.0% of the labels are wrong" in found(folder)


def test_a_release_without_a_certificate_has_no_trace_of_one(
    campaign: Campaign, tmp_path: Path
) -> None:
    folder = export(campaign, tmp_path / "release").folder
    assert "certify" not in document(folder, "release.json")["options"]
    assert "certificate" not in document(folder, "stats.json")
    change_object(folder / "release.json", lambda file: file["options"].update(certify=0.15))
    sealed(folder)
    assert "certificate.holds is missing" in found(folder)
