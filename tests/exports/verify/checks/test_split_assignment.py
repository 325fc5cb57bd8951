"""Splits that the campaign's seed does not draw, whatever else of the release is made to fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from exports.building.changelog import write_changes
from exports.building.options import Options
from exports.card.readme import write_card
from exports.evaluation.baselines import write_runs
from exports.formats.write import write_formats
from exports.layout.files import CAMPAIGN, PLACEMENTS, STATS
from exports.statistics.compute import figures
from exports.verify.verify import verify
from retrieval.ranking.records import document
from tests.exports.support.built_releases import finished, sealed
from tests.exports.support.extracts import random_extract
from tests.exports.verify.tampering import change_lines, change_object, found

SPLITS = ("test", "dev")


def made_to_fit(folder: Path) -> None:
    """All that is made of the records is made of them again."""
    write_formats(folder)
    write_runs(folder)
    write_changes(folder, None)
    (folder / STATS).write_bytes(document(figures(folder, annotators=folder)))
    write_card(folder)
    sealed(folder)


@pytest.mark.parametrize("way", ["clusters", "random"])
def test_two_queries_that_change_places_are_named(way: str, tmp_path: Path) -> None:
    folder = finished(
        tmp_path / "r", random_extract(8, queries=20, shared=0), options=Options(split=way)
    )
    one, other = swapped(folder)
    made_to_fit(folder)
    named = found(folder)
    assert f"{PLACEMENTS}: query '{one}' is in dev, the seed draws it for test" in named
    assert f"{PLACEMENTS}: query '{other}' is in test, the seed draws it for dev" in named


def swapped(folder: Path) -> tuple[str, str]:
    """A query of test and one of dev that are near no other, and as answerable as each other."""
    lines = {split: (folder / f"{split}.jsonl").read_bytes().splitlines(True) for split in SPLITS}
    rows = list(map(orjson.loads, (folder / PLACEMENTS).read_bytes().splitlines()))
    clusters = [row["cluster"] for row in rows]
    alone = {row["id"] for row in rows if clusters.count(row["cluster"]) == 1}
    one, other = (
        next(line for line in lines[split] if orjson.loads(line)["id"] in alone) for split in SPLITS
    )
    for split, goes, comes in zip(SPLITS, (one, other), (other, one), strict=True):
        kept = [line for line in lines[split] if line != goes]
        (folder / f"{split}.jsonl").write_bytes(b"".join(sorted([*kept, comes], key=key)))
    ids = key(one), key(other)
    to = dict(zip(ids, reversed(SPLITS), strict=True))

    def change(found: list[dict[str, Any]]) -> None:
        for row in found:
            row["split"] = to.get(row["id"], row["split"])

    change_lines(folder / PLACEMENTS, change)
    return ids


def key(line: bytes) -> str:
    return str(orjson.loads(line)["id"])


def test_another_seed_draws_other_splits(tmp_path: Path) -> None:
    folder = finished(tmp_path / "r")
    change_object(folder / CAMPAIGN, lambda facts: facts["seeds"].update(split=99))
    made_to_fit(folder)
    assert ", the seed draws it for " in found(folder)


def test_queries_left_out_of_counted_splits_hide_how_answerable_all_are(tmp_path: Path) -> None:
    extract = random_extract(8, queries=30, shared=0, train=5, dev=3, test=3)
    report = verify(finished(tmp_path / "r", extract))
    assert report.differences == []
    assert any("are answerable" in sentence for sentence in report.unchecked)
