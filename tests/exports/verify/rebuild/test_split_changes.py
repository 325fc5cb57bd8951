"""A published query never moves to another split, whatever a release says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exports.building.assemble import Previous
from exports.layout.files import CHANGED_LABELS, CHANGES, MANIFEST
from exports.layout.manifest import checksum
from tests.exports.support.built_releases import finished, sealed
from tests.exports.support.extracts import random_extract
from tests.exports.verify.tampering import change_object, found


@pytest.mark.parametrize("at_hand", [True, False])
def test_a_moved_query_is_a_difference(at_hand: bool, tmp_path: Path) -> None:
    extract = random_extract(3, queries=18)
    first = finished(tmp_path / "demo-1", extract)
    digest = str(checksum(first / MANIFEST)["sha256"])
    second = finished(tmp_path / "demo-2", extract, previous=Previous(1, digest, first))
    change_object(second / CHANGES, lambda changes: changes["queries"].update(moved=3))
    line = {"query_id": "q7", "candidate_id": None, "change": "query moved"}
    (second / CHANGED_LABELS).write_text(json.dumps(line) + "\n")
    sealed(second)
    named = found(second, previous=first if at_hand else None)
    assert f"{CHANGES}: queries.moved is 3, but a published query never moves" in named
    assert f"{CHANGED_LABELS}, line 1: query 'q7' moved, but a published query" in named
