"""How near dev and test are to train, from a release's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from exports.layout.files import PLACEMENTS, RELEASE
from exports.splits.assign import assign_splits, write_splits
from exports.splits.shingles import shingles
from exports.splits.similarity import similarity
from exports.splits.splits import SPLITS
from retrieval.ranking.records import QueryRecord, line, read
from tests.exports.support.extracts import Extract, random_extract, spread

EMPTY = {"n": 0, "counts": [0] * 10, "mean": None, "max": None}


def release(extract: Extract, folder: Path, *, way: str = "clusters") -> Path:
    """What of a release the figures of similarity are made of."""
    extract.write(folder)
    write_splits(folder, folder, assign_splits(folder, way=way, before={}, encode=None))
    options = {"partial": False, "split": way, "judgments": True}
    (folder / RELEASE).write_text(json.dumps({"options": options}))
    return folder


def by_hand(folder: Path, texts: Mapping[str, list[str]], way: str) -> Path:
    """A release of these texts, each a cluster of its own, without candidates."""
    random_extract(1, queries=1).write(folder)
    rows = []
    for split in SPLITS:
        records = [
            QueryRecord(f"{split}{n}", text, []) for n, text in enumerate(texts.get(split, []))
        ]
        (folder / f"{split}.jsonl").write_bytes(b"".join(map(line, records)))
        rows += [
            {"id": record.id, "split": split, "cluster": record.id, "complete": split != "train"}
            for record in records
        ]
    (folder / PLACEMENTS).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    (folder / RELEASE).write_text(json.dumps({"options": {"split": way}}))
    return folder


@pytest.mark.parametrize("way", ["clusters", "random"])
def test_each_held_out_query_counts_by_its_nearest_in_train(tmp_path: Path, way: str) -> None:
    """abcdefg has 7 trigrams, abcdefghi 9, and 6 of them are the same."""
    texts = {
        "train": ["abcdefghi", "zzz"],
        "dev": ["abcdefg", "ABCDEFGHI?"],
        "test": ["qqq", "abcdefg!"],
    }
    found = similarity(by_hand(tmp_path, texts, way))
    assert found["measure"] == "Jaccard of character trigrams"
    assert found["edges"] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert found[way] == {
        "n": 4,
        "counts": [1, 0, 0, 0, 0, 0, 2, 0, 0, 1],
        "mean": 0.55,
        "max": 1.0,
    }
    assert found["clusters_of_queries"] == 6
    assert found["largest_cluster"] == 1


@pytest.mark.parametrize("texts", [{}, {"train": ["a"]}, {"dev": ["a"], "test": ["b"]}])
def test_where_there_is_nothing_to_compare_nothing_is_counted(
    tmp_path: Path, texts: dict[str, list[str]]
) -> None:
    found = similarity(by_hand(tmp_path, texts, "clusters"))
    assert found["clusters"] == found["random"] == EMPTY


def test_a_split_by_clusters_has_no_pair_over_the_threshold_and_a_random_one_has(
    tmp_path: Path,
) -> None:
    extract = random_extract(
        3, queries=150, candidates=3, shared=0.6, train=0.7, dev=0.15, test=0.15
    )
    found = similarity(release(extract, tmp_path))
    assert sum(found["clusters"]["counts"][7:]) == 0
    assert sum(found["random"]["counts"][7:]) > 10
    assert found["clusters"]["max"] < 0.7 < found["random"]["max"] == 1
    assert found["clusters"]["n"] == found["random"]["n"] == 45
    assert found["largest_cluster"] > 1


def test_each_way_of_one_release_is_what_a_release_of_that_way_has(tmp_path: Path) -> None:
    """All queries are complete here, so that both ways place them all."""
    extract = random_extract(4, queries=80, candidates=3, train=0.7, dev=0.15, test=0.15)
    for place, query in enumerate(extract.queries):
        candidates = query.candidates or extract.queries[0].candidates[:1]
        count = {"candidates": len(candidates), "labelled": len(candidates), "complete": True}
        extract.queries[place] = replace(query, candidates=candidates)
        extract.counts[place] |= count
    ways = {way: similarity(release(extract, tmp_path / way, way=way)) for way in
            ("clusters", "random")}  # fmt: skip
    assert ways["clusters"] == ways["random"]


def test_a_way_that_the_released_queries_do_not_allow_counts_nothing(tmp_path: Path) -> None:
    """Every query of dev is near the incomplete one of train."""
    folder = by_hand(tmp_path, {"train": ["tea"], "dev": ["tea?"]}, "random")
    rows = [orjson.loads(row) for row in (folder / PLACEMENTS).read_bytes().splitlines()]
    text = b"".join(orjson.dumps(row | {"cluster": "one"}) + b"\n" for row in rows)
    (folder / PLACEMENTS).write_bytes(text)
    found = similarity(folder)
    assert found["random"]["counts"] == [0] * 9 + [1]
    assert found["clusters"] == EMPTY
    assert (found["clusters_of_queries"], found["largest_cluster"]) == (1, 2)


def test_a_release_is_counted_as_it_was_split_whatever_the_rules_would_make(
    tmp_path: Path,
) -> None:
    folder = spread(random_extract(5, queries=40), tmp_path)
    texts = {
        split: [shingles(query.query) for query in read(folder / f"{split}.jsonl")]
        for split in SPLITS
    }
    highest = [
        max(len(one & other) / len(one | other) for other in texts["train"])
        for one in texts["dev"] + texts["test"]
    ]
    found: dict[str, Any] = similarity(folder)["random"]
    assert found["n"] == len(highest) == sum(found["counts"])
    assert found["mean"] == round(sum(highest) / len(highest), 4)
