"""A release whose aggregator the controls chose, and whose map the audit made: both made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from annotation.models import Account, Aggregation, Assignment, Campaign, ExpertLabel, Judgment
from annotation.pipeline.recompute import fit_to_all
from annotation.protocol.aggregation import calibration
from exports.building.export import export
from exports.building.options import Options
from exports.extract import facts
from exports.layout.manifest import ERRORS
from exports.verify.verify import SURE_MAP, verify
from tests.annotation.support.biased_crowd import biased_crowd
from tests.exports.support.built_releases import sealed
from tests.exports.support.contents import document
from tests.exports.verify.tampering import change_lines, change_object, change_table, found

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch) -> Campaign:
    monkeypatch.setattr(calibration, "LEAST_SAMPLED", 60)
    monkeypatch.setattr(calibration, "MOST_ERROR", 0.1)
    policy = {"candidates_per_query": 5, "train": 8, "dev": 1, "test": 1}
    rules = {"aggregation": "best", "on_failed_control": "pay_and_discard"}
    campaign = biased_crowd("demo", **rules, **policy).campaign
    Account.objects.create(campaign=campaign)
    missed = Judgment.objects.filter(item__control__kind="negative", value=1)
    failed = Assignment.objects.filter(pk__in=missed.values("assignment"))
    failed.update(passed=False, failure="missed")
    for triplet in campaign.triplets.order_by("pk")[:60]:
        label = int(triplet.items.get().position == 0)
        ExpertLabel.objects.create(triplet=triplet, expert="gil", label=label, source="sample")
    fit_to_all(campaign)
    return campaign


@pytest.fixture
def release(campaign: Campaign, tmp_path: Path) -> Path:
    return export(campaign, tmp_path / "release", options=Options(partial=True)).folder


def change_facts(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    change_object(folder / "campaign.json", lambda whole: change(whole["aggregation"][0]))
    sealed(folder)


def test_its_files_choose_the_same(release: Path, campaign: Campaign) -> None:
    stored = Aggregation.objects.get(campaign=campaign)
    [stated] = document(release, "campaign.json")["aggregation"]
    assert stated["aggregator"] == stored.aggregator != "majority"
    assert (stated["known"], stated["sampled"]) == ({"controls": 48, "adjudicated": 0}, 60)
    report = verify(release)
    assert report.differences == []
    assert not any("which aggregator was chosen" in one for one in report.unchecked)

    assert SURE_MAP not in report.unchecked

    def older(stated: dict[str, Any]) -> None:
        """It does not tell how sure the map is."""
        for name in ERRORS:
            stated.pop(name, None)

    change_facts(release, lambda stated: stated.pop("error_correlation"))
    words = "offset_error, slope_error, error_correlation are given together or not at all"
    assert f"campaign.json: {words}" in found(release)
    change_facts(release, older)
    assert "campaign.json: " not in found(release)
    assert SURE_MAP in verify(release).unchecked


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("aggregator", "one coin"),
        ("why", "it foretells hidden controls better than the majority, by 9.000"),
        ("known", {"controls": 48, "adjudicated": 1}),
        ("offset", 0.1),
        ("slope", 0.9),
        ("offset_error", 0.01),
        ("error_correlation", 0.9),
        ("sampled", 61),
        ("sampled", None),
    ],
)
def test_another_choice_or_map_is_named(release: Path, name: str, other: object) -> None:
    change_facts(release, lambda stated: stated.update({name: other}))
    assert f"campaign.json: {name} {other!r}, by the votes, controls and experts' labels" in (
        found(release)
    )


def test_a_map_with_the_chances_that_it_makes_is_not_that_of_the_audit(release: Path) -> None:
    change_facts(release, lambda stated: stated.update(slope=0.0, offset=0.0))

    def even(rows: list[dict[str, Any]]) -> None:
        for query in rows:
            for one in query["candidates"]:
                one["aggregation"]["posterior"] = 0.5

    for split in ("train", "dev", "test"):
        change_lines(release / f"{split}.jsonl", even)
    sealed(release)
    differences = found(release)
    assert "posterior 0.5, by the votes" not in differences  # as the stated map makes them
    assert "slope 0.0, by the votes, controls and experts' labels 1." in differences


def test_an_expert_s_label_turned_over_makes_another_map(release: Path) -> None:
    change_lines(release / "gold.jsonl", lambda rows: rows[0].update(label=1 - rows[0]["label"]))
    sealed(release)
    assert "campaign.json: offset" in found(release)


def test_what_experts_adjudicated_chooses_again(campaign: Campaign, tmp_path: Path) -> None:
    """But for what somebody else judged for the audit."""
    for place, triplet in enumerate(campaign.triplets.order_by("-pk")[:70]):
        label = int(triplet.items.get().position == 0)
        given = {"expert": "zoe", "source": "adjudication", "adjudicated": True}
        ExpertLabel.objects.create(triplet=triplet, label=label, **given)
        if place == 0:
            ExpertLabel.objects.create(triplet=triplet, expert="gil", label=label, source="sample")
    folder = export(campaign, tmp_path / "release", options=Options(partial=True)).folder
    [stated] = document(folder, "campaign.json")["aggregation"]
    assert stated["known"]["adjudicated"] > 50
    assert "what experts adjudicated" in stated["why"]
    assert verify(folder).differences == []
    change_lines(folder / "gold.jsonl", lambda rows: rows[-1].update(label=1 - rows[-1]["label"]))
    sealed(folder)
    assert "campaign.json: why" in found(folder)


def test_answers_to_controls_that_were_turned_over_choose_another(release: Path) -> None:
    def careless(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["given"] = 1 - row["expected"]

    change_table(release / "controls.parquet", careless)
    sealed(release)
    assert "campaign.json: why 'it foretells hidden controls" in found(release)


def test_an_older_release_is_taken_as_stated(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not tell how much was known, and its controls were dealt in another order."""
    monkeypatch.setattr(facts, "AGGREGATION", ("aggregator", "why", "offset", "slope", "sampled"))
    Aggregation.objects.update(why="it foretold them", slope=F("slope") + 0.1)
    report = verify(export(campaign, tmp_path / "release", options=Options(partial=True)).folder)
    assert report.differences == []
    assert any("before it told what they are made by" in one for one in report.unchecked)
