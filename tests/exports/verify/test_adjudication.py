"""A release in which experts decided labels: recomputed, and whatever is changed in it is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from annotation.models import Campaign
from annotation.pipeline.adjudicate import Pile, What
from exports.building.export import export
from exports.verify.verify import verify
from retrieval.ranking.records import read
from tests.exports.support.built_releases import sealed
from tests.exports.support.campaigns import MANY, make_campaign
from tests.exports.support.contents import document
from tests.exports.verify.tampering import change_lines, change_object, found

pytestmark = pytest.mark.django_db
# Of tea: the first has two Yes, the second two votes each way and no more to come.
AGREED, UNRESOLVED = ("tea", 1), ("tea", 2)


def say(campaign: Campaign, key: tuple[str, int], what: What, label: int, expert: str) -> None:
    query, rank = key
    triplet = campaign.triplets.get(candidate__query__key=query, candidate__rank=rank)
    Pile(campaign, what, expert, None).decide(triplet, label, "")


def adjudicated(**policy: Any) -> Campaign:
    """One overruled after it was drawn for the sample, one decided that votes leave open."""
    sizes = {"train": 9, "dev": 3, "test": 3}
    campaign = make_campaign(MANY, **{"adjudication": "decide", **sizes, **policy})
    say(campaign, AGREED, What.SAMPLE, 0, "ada")
    say(campaign, AGREED, What.REPORTED, 0, "ada")
    say(campaign, UNRESOLVED, What.UNRESOLVED, 1, "ada")
    say(campaign, ("moon", 1), What.SAMPLE, 1, "bob")
    return campaign


@pytest.fixture
def release(tmp_path: Path) -> Path:
    export(adjudicated(), tmp_path / "release")
    return tmp_path / "release"


def split_with(folder: Path, query: str) -> Path:
    paths = [folder / f"{split}.jsonl" for split in ("train", "dev", "test")]
    return next(path for path in paths if any(one.id == query for one in read(path)))


def of_tea(folder: Path, rank: int, change: Callable[[dict[str, Any]], object]) -> None:
    def at(rows: list[dict[str, Any]]) -> None:
        (tea,) = [row for row in rows if row["id"] == "tea"]
        change(next(one for one in tea["candidates"] if one["rank"] == rank))

    change_lines(split_with(folder, "tea"), at)
    sealed(folder)


def test_each_label_says_what_made_it_and_nothing_differs(release: Path) -> None:
    assert verify(release).differences == []
    (tea,) = [one for one in read(split_with(release, "tea")) if one.id == "tea"]
    told = [(one.label, one.label_source, one.yes, one.no) for one in tea.candidates]
    assert told == [(0, "expert", 2, 0), (1, "expert", 2, 2), (0, "majority", 0, 2)]
    stats = document(release, "stats.json")
    assert stats["label_sources"] == {"majority": 43, "expert": 2, "import": 0}
    assert (stats["campaign"]["unresolved"], stats["campaign"]["labelled"]) == (0, 45)
    # Two were labelled blind, and of one the votes were wrong, whatever its label is now.
    assert stats["campaign"]["label_error"] == 0.5
    assert stats["campaign"]["label_error_triplets"] == 2
    table = pq.read_table(release / "parquet" / f"{split_with(release, 'tea').stem}.parquet")
    assert table.column("label_source").to_pylist().count("expert") == 2
    assert "decided 2 labels" in (release / "README.md").read_text()


def test_an_expert_s_label_turned_over_is_named(release: Path) -> None:
    of_tea(release, 1, lambda one: one.update(label=1))
    assert "label 1, that of gold.jsonl is 0" in found(release)


@pytest.mark.parametrize(
    ("rank", "source", "right"), [(1, "majority", "expert"), (3, "expert", "majority")]
)
def test_a_wrong_source_is_named(release: Path, rank: int, source: str, right: str) -> None:
    of_tea(release, rank, lambda one: one.update(label_source=source))
    assert f"label_source '{source}', it is {right}" in found(release)


def test_a_source_that_is_none_is_named(release: Path) -> None:
    of_tea(release, 1, lambda one: one.update(label_source="oracle"))
    assert "label_source must be majority or expert or import, not 'oracle'" in found(release)


def test_an_adjudication_made_a_measure_is_named_by_the_label(release: Path) -> None:
    def lower(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["adjudicated"] = row["source"] == "adjudication"

    change_lines(release / "gold.jsonl", lower)
    sealed(release)
    assert "label 0, the majority of 2 yes, 0 no is 1" in found(release)


def test_an_adjudication_that_is_none_is_named(release: Path) -> None:
    def deny(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["adjudicated"] = False

    change_lines(release / "gold.jsonl", deny)
    sealed(release)
    assert "came by adjudication, but adjudicated is false" in found(release)


def test_a_decided_triplet_that_is_left_out_is_named(release: Path) -> None:
    path = split_with(release, "tea")

    def drop(rows: list[dict[str, Any]]) -> None:
        (tea,) = [row for row in rows if row["id"] == "tea"]
        tea["candidates"] = [one for one in tea["candidates"] if one["rank"] != 2]

    change_lines(path, drop)
    sealed(release)
    assert "decided by gold.jsonl, but not there" in found(release)


def test_another_policy_is_named(release: Path) -> None:
    measure = {"adjudication": "measure"}
    change_object(release / "campaign.json", lambda facts: facts["policy"].update(measure))
    sealed(release)
    assert "format_version is not that of the retrievers and policy" in found(release)


def test_an_expert_s_label_outlives_its_votes(tmp_path: Path) -> None:
    """Who judged the triplet was excluded: no vote is left, and the label stays."""
    verdicts = MANY | {"tea": ["eve+", "ada+ bob+", "ada- bob-"]}
    campaign = make_campaign(verdicts, adjudication="decide")
    say(campaign, ("tea", 1), What.REPORTED, 1, "ada")
    export(campaign, tmp_path / "release")
    assert verify(tmp_path / "release").differences == []


def test_where_experts_measure_the_data_says_nothing_of_sources(tmp_path: Path) -> None:
    """As it was before experts could decide: no column, no source in a record."""
    export(adjudicated(adjudication="measure"), tmp_path / "release")
    folder = tmp_path / "release"
    assert verify(folder).differences == []
    assert "label_source" not in split_with(folder, "tea").read_text()
    assert "label_source" not in pq.read_schema(folder / "parquet" / "train.parquet").names
    assert document(folder, "manifest.json")["format_version"] == 2
    assert "adjudicated" not in (folder / "gold.jsonl").read_text()
    (tea,) = [one for one in read(split_with(folder, "tea")) if one.id == "tea"]
    assert [one.label for one in tea.candidates] == [1, 0]
