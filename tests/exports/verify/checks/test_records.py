"""Queries, candidates and splits that no release may have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from exports.layout.files import (
    CONTROLS,
    JUDGMENTS,
    PLACEMENTS,
    STATS,
)
from exports.layout.schemas import control_digest
from exports.splits.splits import SPLITS
from retrieval.ranking.records import read
from tests.exports.support.built_releases import finished, sealed
from tests.exports.support.extracts import random_extract
from tests.exports.verify.tampering import (
    change_lines,
    change_table,
    first_query,
    found,
)


def test_a_control_smuggled_in_is_named(release: Path) -> None:
    query = first_query(release)
    candidate = query["candidates"][1]
    digest = control_digest(query["query"], candidate["question"])
    change_table(release / CONTROLS, lambda rows: rows[0].update(control=digest))
    sealed(release)
    named = found(release)
    assert f"query '{query['id']}', candidate '{candidate['id']}': a control" in named
    assert f"{STATS}: controls.inside_release is 0, the files make 1" in named


def test_a_query_in_two_splits_is_named(release: Path) -> None:
    text = (release / "train.jsonl").read_bytes().splitlines(keepends=True)[0]
    lines = [text, *(release / "test.jsonl").read_bytes().splitlines(keepends=True)]
    lines.sort(key=lambda each: orjson.loads(each)["id"])
    (release / "test.jsonl").write_bytes(b"".join(lines))
    sealed(release)
    named = found(release)
    query = orjson.loads(text)["id"]
    assert re.search(
        rf"^test\.jsonl, line \d+: query '{query}' is in train\.jsonl, too$", named, re.M
    )
    assert f"query '{query}': {PLACEMENTS} has it in train" in named


def test_a_cluster_in_two_splits_is_named(release: Path) -> None:
    def join(rows: list[dict[str, Any]]) -> None:
        one = next(row for row in rows if row["split"] == "train")
        other = next(row for row in rows if row["split"] == "test")
        other["cluster"] = one["cluster"]

    change_lines(release / PLACEMENTS, join)
    sealed(release)
    assert re.search(
        r"^train\.jsonl and test\.jsonl: cluster '\w+' is in both$", found(release), re.M
    )


def test_near_duplicates_in_two_clusters_are_named(tmp_path: Path) -> None:
    folder = finished(tmp_path / "r", random_extract(6, queries=25, shared=0.6))

    def part(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["cluster"] = row["id"]

    change_lines(folder / PLACEMENTS, part)
    sealed(folder)
    assert "are near-duplicates in different clusters" in found(folder)


def test_the_same_question_and_the_same_positive_in_two_splits_are_named(release: Path) -> None:
    source = next(
        query for query in read(release / "train.jsonl") if any(c.label for c in query.candidates)
    )
    positive = next(each for each in source.candidates if each.label)

    def copy(rows: list[dict[str, Any]]) -> None:
        rows[0]["query"] = source.query.upper() + " ?"
        rows[0]["candidates"][0] |= {"id": positive.id, "label": 1}

    change_lines(release / "dev.jsonl", copy)
    sealed(release)
    named = found(release)
    assert f"train.jsonl and dev.jsonl: positive {positive.id} is in both" in named
    assert "train.jsonl and dev.jsonl: the text 'how do i" in named


def test_a_label_kept_back_is_named(release: Path) -> None:
    query = first_query(release)

    def drop(rows: list[dict[str, Any]]) -> None:
        del rows[0]["candidates"][-1]

    change_lines(release / "train.jsonl", drop)
    sealed(release)
    kept_back = query["candidates"][-1]["id"]
    named = found(release)
    assert f"candidate '{kept_back}': labelled by {JUDGMENTS}, but not there" in named
    assert f"candidates, {PLACEMENTS} says {len(query['candidates'])}" in named


def test_a_test_query_without_all_its_candidates_is_named(release: Path) -> None:
    def drop(rows: list[dict[str, Any]]) -> None:
        del rows[0]["candidates"][-1]

    change_lines(release / "test.jsonl", drop)
    sealed(release)
    assert "4 candidates, in test it must have all 5" in found(release)


@pytest.mark.parametrize("text", ["question", "answer"])
def test_a_text_that_is_not_the_one_judged_is_named(text: str, release: Path) -> None:
    change_lines(
        release / "train.jsonl",
        lambda rows: rows[0]["candidates"][0].update({text: "Is it another one?"}),
    )
    sealed(release)
    assert "not the id of its question and answer" in found(release)


def test_scores_that_rise_and_ranks_beyond_the_candidates_are_named(release: Path) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[0]["candidates"][-1].update(rank=99, score=1.0)

    change_lines(release / "train.jsonl", change)
    sealed(release)
    named = found(release)
    assert "scores rise with the ranks" in named
    assert "rank 99 of 5 candidates" in named


def test_a_cluster_that_nothing_brought_together_is_named(release: Path) -> None:
    def merge(rows: list[dict[str, Any]]) -> None:
        first = {split: next(row for row in rows if row["split"] == split) for split in SPLITS}
        for row in rows:
            row["cluster"] = first[row["split"]]["id"] if row["split"] else row["cluster"]

    change_lines(release / PLACEMENTS, merge)
    sealed(release)
    assert "are in one cluster, and nothing makes them near" in found(release)


def test_a_cluster_has_the_name_of_its_first_query(release: Path) -> None:
    change_lines(release / PLACEMENTS, lambda rows: [row.update(cluster="z") for row in rows[-1:]])
    sealed(release)
    assert f"{PLACEMENTS}: cluster 'z' is named after another" in found(release)
