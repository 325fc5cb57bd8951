"""What changed since the release before: a table made by hand, and rules against a plain oracle."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from exports.building.changelog import write_changes
from exports.splits.splits import SPLITS
from retrieval.ranking.records import CandidateRecord, QueryRecord, line
from tests.support.examples import examples

# Of a release: query -> (split, its labels by candidate).
Contents = Mapping[str, tuple[str, Mapping[str, int]]]

BEFORE: Contents = {
    "q1": ("train", {"c1": 1, "c2": 0, "c3": 1}),
    "q2": ("dev", {"c1": 1}),
    "q3": ("test", {"c1": 0, "c2": 1}),
    "q4": ("test", {"c9": 1}),
}
NOW: Contents = {
    "q0": ("dev", {"c1": 0}),  # new
    "q1": ("train", {"c1": 0, "c2": 0, "c4": 1}),  # c1 flipped, c3 gone, c4 new
    # q2 left
    "q3": ("test", {"c1": 0, "c2": 1}),  # as it was
    "q4": ("train", {"c9": 0}),  # moved, which no build does, and its label flipped
}
COUNTS = {
    "previous": {"queries": 4, "labels": 7},
    "labels": {"added": 2, "changed": 2, "withdrawn": 2},
    "queries": {"added": 1, "withdrawn": 1, "moved": 1},
}
LINES = [  # query, candidate, change, label before, after, split before, after
    ("q1", "c1", "changed", 1, 0, "train", "train"),
    ("q1", "c3", "withdrawn", 1, None, "train", "train"),
    ("q2", None, "query withdrawn", None, None, "dev", None),
    ("q2", "c1", "withdrawn", 1, None, "dev", None),
    ("q4", None, "query moved", None, None, "test", "train"),
    ("q4", "c9", "changed", 1, 0, "test", "train"),
]
FIELDS = [
    "query_id",
    "candidate_id",
    "change",
    "before",
    "after",
    "split_before",
    "split_after",
]


def release(folder: Path, contents: Contents) -> Path:
    folder.mkdir(parents=True)
    for split in SPLITS:
        records = (record(query, contents[query][1]) for query in sorted(contents))
        lines = (line(one) for one in records if contents[one.id][0] == split)
        (folder / f"{split}.jsonl").write_bytes(b"".join(lines))
    return folder


def record(query: str, labels: Mapping[str, int]) -> QueryRecord:
    candidates = [
        CandidateRecord(one, "q", "a", rank, 0.5, label, 2, 0)
        for rank, (one, label) in enumerate(labels.items(), start=1)
    ]
    return QueryRecord(query, "why?", candidates)


def listed(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / "changes.jsonl").read_bytes().splitlines()]


def test_every_kind_of_change_is_counted_and_listed(tmp_path: Path) -> None:
    old, new = release(tmp_path / "1", BEFORE), release(tmp_path / "2", NOW)
    assert write_changes(new, old) == COUNTS
    assert json.loads((new / "changes.json").read_bytes()) == COUNTS
    assert listed(new) == [dict(zip(FIELDS, values, strict=True)) for values in LINES]


def test_in_a_first_release_everything_is_added(tmp_path: Path) -> None:
    folder = release(tmp_path / "1", BEFORE)
    assert write_changes(folder, None) == {
        "previous": None,
        "labels": {"added": 7, "changed": 0, "withdrawn": 0},
        "queries": {"added": 4, "withdrawn": 0, "moved": 0},
    }
    assert (folder / "changes.jsonl").read_bytes() == b""


def test_nothing_changes_where_nothing_changed(tmp_path: Path) -> None:
    old, new = release(tmp_path / "1", BEFORE), release(tmp_path / "2", BEFORE)
    changes: dict[str, Any] = write_changes(new, old)
    assert changes["previous"] == {"queries": 4, "labels": 7}
    assert {*changes["labels"].values(), *changes["queries"].values()} == {0}
    assert listed(new) == []


def test_a_candidate_that_only_changed_its_rank_keeps_its_label(tmp_path: Path) -> None:
    old = release(tmp_path / "1", {"q1": ("train", {"c1": 1, "c2": 0})})
    new = release(tmp_path / "2", {"q1": ("train", {"c2": 0, "c1": 1})})
    write_changes(new, old)
    assert listed(new) == []


def test_the_same_candidate_of_two_queries_is_two_labels(tmp_path: Path) -> None:
    old = release(tmp_path / "1", {"q1": ("dev", {"c1": 1}), "q2": ("dev", {"c1": 1})})
    new = release(tmp_path / "2", {"q1": ("dev", {"c1": 1}), "q2": ("dev", {"c1": 0})})
    write_changes(new, old)
    assert [(one["query_id"], one["candidate_id"]) for one in listed(new)] == [("q2", "c1")]


labels = st.dictionaries(st.sampled_from(["c1", "c2", "c3"]), st.integers(0, 1), min_size=1)
contents = st.dictionaries(
    st.sampled_from([f"q{number}" for number in range(12)]),
    st.tuples(st.sampled_from(SPLITS), labels),
)


@given(contents, contents)
@hypothesis_settings(max_examples=examples(150), deadline=None)
def test_changes_are_those_of_two_plain_dictionaries(
    tmp_path_factory: pytest.TempPathFactory, before: Contents, now: Contents
) -> None:
    folder = tmp_path_factory.mktemp("releases")
    old, new = release(folder / "1", before), release(folder / "2", now)
    changes = write_changes(new, old)
    was, are = flat(before), flat(now)
    both = was.keys() & are.keys()
    kept = before.keys() & now.keys()
    assert changes == {
        "previous": {"queries": len(before), "labels": len(was)},
        "labels": {
            "added": len(are.keys() - was.keys()),
            "changed": sum(was[key] != are[key] for key in both),
            "withdrawn": len(was.keys() - are.keys()),
        },
        "queries": {
            "added": len(now.keys() - before.keys()),
            "withdrawn": len(before.keys() - now.keys()),
            "moved": sum(before[query][0] != now[query][0] for query in kept),
        },
    }
    lines = listed(new)
    differing = {key for key in was if was[key] != are.get(key)}
    assert {
        (one["query_id"], one["candidate_id"]): (one["before"], one["after"])
        for one in lines
        if one["candidate_id"]
    } == {key: (was[key], are.get(key)) for key in differing}
    assert [one["query_id"] for one in lines] == sorted(one["query_id"] for one in lines)
    assert apply(was, lines) == {key: label for key, label in are.items() if key in was}


def flat(contents: Contents) -> dict[tuple[str, str], int]:
    return {
        (query, candidate): label
        for query, (_, labels) in contents.items()
        for candidate, label in labels.items()
    }


def apply(
    labels: Mapping[tuple[str, str], int], lines: list[dict[str, Any]]
) -> dict[tuple[str, str], int]:
    """What is left of the labels of before when the list is carried out."""
    found = dict(labels)
    for one in lines:
        if one["candidate_id"] and one["after"] is None:
            del found[one["query_id"], one["candidate_id"]]
        elif one["candidate_id"]:
            found[one["query_id"], one["candidate_id"]] = one["after"]
    return found


def test_memory_does_not_grow_with_the_releases(tmp_path: Path) -> None:
    peak_of_changes(tmp_path / "first", 300)  # what orjson keeps once, it keeps now
    small, large = (peak_of_changes(tmp_path / f"{number}", number) for number in (30, 300))
    assert large < 1.2 * small


def peak_of_changes(folder: Path, queries: int) -> int:
    """Of releases of so many queries, each of whose labels changed; in bytes."""
    labels = {f"c{number}": number % 2 for number in range(10)}
    flipped = {candidate: 1 - label for candidate, label in labels.items()}
    ids = [f"q{number:04}" for number in range(queries)]
    old = release(folder / "1", dict.fromkeys(ids, ("train", labels)))
    new = release(folder / "2", dict.fromkeys(ids, ("train", flipped)))
    tracemalloc.start()
    try:
        write_changes(new, old)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
