"""From an extract's files to a split's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from exports.layout.files import COUNTS, PLACEMENTS, QUERIES
from exports.splits.assign import SplitAssignment, SplitError, assign_splits, write_splits
from exports.splits.splits import SPLITS
from retrieval.ranking.records import read
from tests.annotation.protocol.steady import steady
from tests.exports.support.extracts import Extract, random_extract
from tests.support.examples import examples

Before = dict[str, str | None]


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Each in one of 60 directions, and the second in that of the first."""
    rows = np.eye(60, dtype=np.float32)[np.arange(len(texts)) % 60]
    rows[1:2] = rows[:1]
    return rows


def split_assignment_of(
    extract: Extract,
    folder: Path,
    *,
    way: str = "clusters",
    before: Before | None = None,
    vectors: bool = False,
) -> SplitAssignment:
    extract.write(folder)
    return assign_splits(folder, way=way, before=before or {}, encode=encode if vectors else None)


def easy(seed: int = 1, queries: int = 60) -> Extract:
    """Enough complete queries for small splits."""
    return random_extract(seed, queries=queries, candidates=3, train=0.8, dev=0.1, test=0.1)


def test_every_query_has_a_row_in_the_order_of_the_ids(tmp_path: Path) -> None:
    extract = easy()
    assignment = split_assignment_of(extract, tmp_path)
    assert [row["id"] for row in assignment.rows] == [query.id for query in extract.queries]
    for row, counted in zip(assignment.rows, extract.counts, strict=True):
        assert list(row) == [
            "id", "split", "cluster", "candidates", "labelled", "complete", "reason",
        ]  # fmt: skip
        assert counted.items() <= row.items()
        assert (row["split"] is None) == (row["reason"] is not None)
    assert {row["split"] for row in assignment.rows} >= set(SPLITS)


def test_near_copies_share_a_cluster_and_a_split(tmp_path: Path) -> None:
    extract = easy()
    assignment = split_assignment_of(extract, tmp_path)
    by_text: dict[str, set[tuple[str, str]]] = {}
    for query, row in zip(extract.queries, assignment.rows, strict=True):
        words = query.query.lower().rstrip("?! ")
        by_text.setdefault(words, set()).add((row["cluster"], row["split"]))
    assert len(by_text) < 55
    assert all(len({cluster for cluster, _ in found}) == 1 for found in by_text.values())
    assert all(len({split for _, split in found if split}) <= 1 for found in by_text.values())


def test_a_positive_joins_two_queries_and_a_negative_does_not(tmp_path: Path) -> None:
    for label in (1, 0):
        extract = easy()
        first, second = extract.queries[:2]
        shared = replace(first.candidates[0], id="f" * 20, label=label)
        for place, query in enumerate((first, second)):
            candidates = [shared, *query.candidates[1:]]
            extract.queries[place] = replace(query, candidates=candidates)
        rows = split_assignment_of(extract, tmp_path / f"{label}").rows
        assert (rows[0]["cluster"] == rows[1]["cluster"]) is bool(label)


def test_vectors_join_what_words_do_not(tmp_path: Path) -> None:
    extract = easy()
    by_words = split_assignment_of(extract, tmp_path)
    by_vectors = split_assignment_of(extract, tmp_path, vectors=True)
    assert by_words.nearness == {"jaccard": 0.7, "cosine": 0.9, "vectors": False}
    assert by_vectors.nearness == {"jaccard": 0.7, "cosine": 0.9, "vectors": True}
    assert by_words.rows[1]["cluster"] == "q001"
    assert by_vectors.rows[1]["cluster"] == "q000"


def test_a_query_without_labels_is_in_no_split(tmp_path: Path) -> None:
    extract = easy()
    extract.queries[3] = replace(extract.queries[3], candidates=[])
    extract.counts[3] |= {"labelled": 0, "complete": False}
    row = split_assignment_of(extract, tmp_path).rows[3]
    assert (row["split"], row["reason"]) == (None, "no candidate has a label")


def test_a_query_whose_candidates_are_all_gone_is_not_complete(tmp_path: Path) -> None:
    """None of none is missing, and yet there is nothing to rank."""
    extract = easy()
    extract.queries[3] = replace(extract.queries[3], candidates=[])
    extract.counts[3] |= {"candidates": 0, "labelled": 0, "complete": True}
    assert split_assignment_of(extract, tmp_path).rows[3]["split"] is None


def test_policy_and_seed_are_the_campaigns(tmp_path: Path) -> None:
    extract = random_extract(1, queries=60, candidates=3, train=30, dev=7, test=5)
    rows = split_assignment_of(extract, tmp_path).rows
    sizes = [sum(row["split"] == split for row in rows) for split in SPLITS]
    assert sizes == [30, 7, 5]
    extract.campaign["seeds"] = {"campaign": 7, "sample": 11, "split": 8}
    assert split_assignment_of(extract, tmp_path).rows != rows


def test_what_cannot_be_split_is_refused(tmp_path: Path) -> None:
    extract = random_extract(1, queries=20, candidates=3, train=30, dev=7, test=5)
    with pytest.raises(SplitError, match="the splits want 42 queries, but only 20 have labels"):
        split_assignment_of(extract, tmp_path)


def test_an_extract_whose_files_do_not_agree_is_no_input(tmp_path: Path) -> None:
    extract = easy()
    extract.counts.pop()
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        split_assignment_of(extract, tmp_path)


def test_an_empty_campaign_has_three_empty_splits(tmp_path: Path) -> None:
    assignment = split_assignment_of(random_extract(1, queries=0), tmp_path, vectors=True)
    assert assignment.rows == []
    write_splits(tmp_path, tmp_path, assignment)
    assert all((tmp_path / f"{split}.jsonl").read_bytes() == b"" for split in SPLITS)


def test_the_splits_hold_the_extracts_own_lines(tmp_path: Path) -> None:
    extract = easy()
    assignment = split_assignment_of(extract, tmp_path / "extract")
    (tmp_path / "release").mkdir()
    write_splits(tmp_path / "extract", tmp_path / "release", assignment)
    lines = (tmp_path / "extract" / QUERIES).read_bytes().splitlines(keepends=True)
    for split in SPLITS:
        wanted = [
            line for line, row in zip(lines, assignment.rows, strict=True) if row["split"] == split
        ]
        assert (tmp_path / "release" / f"{split}.jsonl").read_bytes() == b"".join(wanted)
    written = (tmp_path / "release" / PLACEMENTS).read_bytes().splitlines()
    assert [orjson.loads(line) for line in written] == assignment.rows
    assert not (tmp_path / "release" / COUNTS).exists()


def test_a_later_release_moves_no_query(tmp_path: Path) -> None:
    small = easy(queries=60)
    before: Before = {row["id"]: row["split"] for row in split_assignment_of(small, tmp_path).rows}
    more = random_extract(1, queries=90, candidates=3, train=0.8, dev=0.1, test=0.1)
    after = {row["id"]: row for row in split_assignment_of(more, tmp_path, before=before).rows}
    for key, split in before.items():
        assert after[key]["split"] in ({split, None} if split else {None, *SPLITS})
    assert sum(row["split"] == "dev" for row in after.values()) == 9


@settings(steady, max_examples=examples(25))
@given(
    seed=st.integers(0, 10_000),
    way=st.sampled_from(["clusters", "random"]),
    vectors=st.booleans(),
    shared=st.sampled_from([0.0, 0.2, 0.5]),
)
def test_random_campaigns_are_split_by_the_rules(
    tmp_path_factory: pytest.TempPathFactory, seed: int, way: str, vectors: bool, shared: float
) -> None:
    folder = tmp_path_factory.mktemp("campaign")
    extract = random_extract(
        seed, queries=40, candidates=3, shared=shared, train=0.84, dev=0.08, test=0.08
    )
    try:
        assignment = split_assignment_of(extract, folder, way=way, vectors=vectors)
    except SplitError:
        return
    write_splits(folder, folder, assignment)
    where = {row["id"]: row for row in assignment.rows}
    seen: dict[str, str] = {}
    for split in SPLITS:
        for query in read(folder / f"{split}.jsonl"):
            row = where[query.id]
            assert split == "train" or (row["complete"] and len(query.candidates) == 3)
            if way == "clusters":
                assert seen.setdefault(row["cluster"], split) == split
    assert split_assignment_of(extract, folder, way=way, vectors=vectors) == assignment
