"""Judgments are read in pieces of whole queries, wherever the file's batches end."""

from __future__ import annotations

from pathlib import Path

import pytest

from exports.statistics import votes as reading
from exports.statistics.votes import read_votes
from tests.exports.statistics.tables import write_judgments

CAMPAIGN = {
    "moon": [[("ada", 1), ("bob", 0), ("cleo", 0)], [("ada", 1), ("cleo", 1)]],
    "rain": [[("bob", 0)]],
    "tea": [[("cleo", 1), ("ada", 1)], [("bob", 0), ("ada", 0)], [("ada", 1), ("bob", 0)]],
}


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("row_group", [None, 4])
def test_every_triplet_is_there_once_with_all_its_votes(
    rows: int, row_group: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ROWS", rows)
    path = write_judgments(tmp_path, CAMPAIGN, row_group=row_group)
    names: dict[str, int] = {}
    found: dict[str, list[list[tuple[str, int]]]] = {}
    for votes in read_votes(path, names):
        workers = list(names)
        for number, query in enumerate(votes.query_ids):
            assert query not in found
            found[query] = []
            for triplet in votes.triplets_of(number):
                start, size = int(votes.start[triplet]), int(votes.votes[triplet])
                own = slice(start, start + size)
                said = zip(votes.worker[own].tolist(), votes.value[own].tolist(), strict=True)
                found[query].append([(workers[worker], value) for worker, value in said])
                assert votes.candidate(triplet) == f"{query}-{len(found[query])}"
                assert int(votes.yes[triplet]) == sum(value for _, value in found[query][-1])
    assert found == CAMPAIGN


def test_the_first_votes_are_the_first_that_were_submitted(tmp_path: Path) -> None:
    (votes,) = read_votes(write_judgments(tmp_path, {"moon": CAMPAIGN["moon"]}), {})
    size, yes = votes.yes_among_first(2)
    assert (size.tolist(), yes.tolist()) == ([2, 2], [1, 2])
    size, yes = votes.yes_among_first(5)
    assert (size.tolist(), yes.tolist()) == ([3, 2], [1, 2])


def test_no_judgments_make_no_votes(tmp_path: Path) -> None:
    assert list(read_votes(write_judgments(tmp_path, {}), {})) == []
