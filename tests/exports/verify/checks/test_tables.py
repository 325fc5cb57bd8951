"""Votes that no release may have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from exports.layout.files import (
    ASSIGNMENTS,
    CAMPAIGN,
    CONTROLS,
    JUDGMENTS,
    STATS,
)
from tests.exports.support.built_releases import sealed
from tests.exports.verify.tampering import (
    change_object,
    change_table,
    found,
)


def judgments_of(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    key = row["query_id"], row["candidate_id"]
    return [each for each in rows if (each["query_id"], each["candidate_id"]) == key]


def test_a_vote_added_is_named(release: Path) -> None:
    added: dict[str, Any] = {}

    def add(rows: list[dict[str, Any]]) -> None:
        last = judgments_of(rows, rows[0])[-1]
        added.update(last, position=last["position"] + 1, worker="f" * 20)
        rows.insert(rows.index(last) + 1, added)

    change_table(release / JUDGMENTS, add)
    sealed(release)
    named = found(release)
    triplet = f"query '{added['query_id']}', candidate '{added['candidate_id']}'"
    assert f"{JUDGMENTS}: {triplet}: a vote of an assignment that failed" in named
    assert re.search(rf"^\w+\.jsonl: {triplet}: votes \d yes, \d no, in {JUDGMENTS}", named, re.M)
    assert f"{STATS}: campaign.votes is" in named


def test_a_vote_of_the_same_worker_twice_is_named(release: Path) -> None:
    twice: dict[str, Any] = {}

    def double(rows: list[dict[str, Any]]) -> None:
        one, other = judgments_of(rows, rows[0])[:2]
        other.update(worker=one["worker"], hit=one["hit"])
        twice.update(other)

    change_table(release / JUDGMENTS, double)
    sealed(release)
    triplet = f"query '{twice['query_id']}', candidate '{twice['candidate_id']}'"
    assert f"{JUDGMENTS}: {triplet}: a second vote of the same worker" in found(release)


def test_a_vote_of_an_excluded_worker_is_named(release: Path) -> None:
    worker = pq.read_table(release / JUDGMENTS)["worker"][0].as_py()
    change_object(release / CAMPAIGN, lambda facts: facts["excluded_workers"].append(worker))
    sealed(release)
    named = found(release)
    assert "the vote of an excluded worker" in named
    assert f"{STATS}: campaign.excluded_workers is 1, the files make 2" in named


@pytest.mark.parametrize(
    "fault", [{"passed": False}, {"discarded": True}, {"status": "rejected", "cents": 0}]
)
def test_votes_of_work_that_failed_are_named(fault: dict[str, Any], release: Path) -> None:
    change_table(release / ASSIGNMENTS, lambda rows: rows[0].update(fault))
    sealed(release)
    assert "a vote of an assignment that failed, was discarded or is not in" in found(release)


def test_votes_of_work_that_missed_a_control_are_named(release: Path) -> None:
    change_table(release / CONTROLS, lambda rows: rows[0].update(given=None))
    sealed(release)
    named = found(release)
    assert f"{ASSIGNMENTS}: 1 passed, but a control of each was missed" in named
    assert "a vote of an assignment that failed" in named


def test_judgments_out_of_order_are_named(release: Path) -> None:
    change_table(release / JUDGMENTS, lambda rows: rows.reverse())
    sealed(release)
    assert "queries are not in order" in found(release)


def test_work_without_its_controls_is_named(release: Path) -> None:
    change_table(release / CONTROLS, lambda rows: rows.pop(0))
    sealed(release)
    named = found(release)
    assert f"{CONTROLS}: 1 assignments lack positive controls" in named
    assert "1 assignments that passed have fewer or more votes than their HIT has items" in named


def test_an_assignment_whose_votes_are_gone_is_named(release: Path) -> None:
    change_table(release / ASSIGNMENTS, lambda rows: rows.append({**rows[0], "hit": 99_999}))
    change_table(
        release / CONTROLS,
        lambda rows: rows.extend({**row, "hit": 99_999} for row in rows[:2]),
    )
    sealed(release)
    assert "1 assignments that passed have fewer or more votes" in found(release)


def test_work_is_discarded_where_it_failed_or_its_worker_is_excluded(release: Path) -> None:
    change_object(release / CAMPAIGN, lambda facts: facts.update(excluded_workers=[]))
    sealed(release)
    assert re.search(
        rf"^{ASSIGNMENTS}: HIT \d+: discarded, and nothing says why$", found(release), re.M
    )
