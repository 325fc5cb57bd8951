"""Each figure of stats.json is looked at, wherever it stands."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from exports.layout.files import STATS
from exports.statistics.compute import figures
from exports.verify.findings import Findings
from exports.verify.rebuild.statistics import check_stats, leaves, overlaid
from tests.exports.support.built_releases import finished


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("stats") / "demo-1")


def differences(stated: Any, made: Any) -> list[str]:
    findings = Findings()
    assert check_stats(stated, made, findings, all_known=True) == []
    return list(findings.differences())


def put(values: Any, path: tuple[str, ...], value: object) -> None:
    *before, last = path
    for name in before:
        values = values[int(name)] if isinstance(values, list) else values[name]
    if isinstance(values, list):
        values[int(last)] = value
    else:
        values[last] = value


def test_any_one_changed_figure_is_named_and_no_other(release: Path) -> None:
    stated = json.loads((release / STATS).read_bytes())
    made = figures(release, annotators=release)
    assert differences(stated, made) == []
    paths = [path for path, _ in leaves(stated)]
    assert len(paths) > 200
    for path in paths:
        changed = copy.deepcopy(stated)
        put(changed, path, 0.98765)
        (named,) = differences(changed, made)
        assert named.startswith(f"{STATS}: {'.'.join(path)} is 0.98765, the files make "), path


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        ({"a": {"b": 1}}, "a.b is 1, the files make 2"),
        ({"a": {}}, "a.b is missing, the files make 2"),
        ({"a": {"b": 2, "c": None}}, "a.c is no figure of a release"),
        ({"a": {"b": 2.0}}, "a.b is 2.0, the files make 2"),
        ({"a": {"b": True}}, "a.b is True, the files make 2"),
        ({"a": [2]}, "a.b is missing, the files make 2"),
        ({}, "a.b is missing, the files make 2"),
    ],
)
def test_what_is_missing_too_much_or_of_another_kind_differs(stated: Any, wanted: str) -> None:
    assert f"{STATS}: {wanted}" in differences(stated, {"a": {"b": 2}})


def test_a_list_is_compared_by_its_places() -> None:
    assert differences({"a": [1, 5, 3]}, {"a": [1, 2, 3]}) == [
        f"{STATS}: a.1 is 5, the files make 2"
    ]
    assert differences({"a": [1, 2]}, {"a": [1, 2, 3]}) == [
        f"{STATS}: a.2 is missing, the files make 3"
    ]
    assert differences({"a": None}, {"a": [0.1]}) != []
    assert differences({"a": []}, {"a": []}) == []


def test_without_the_judgments_the_shortest_unknown_paths_are_told() -> None:
    findings = Findings()
    stated = {"a": {"b": 1, "c": {"d": 2, "e": 3}}, "f": {"g": 4, "h": [5]}}
    unknown = check_stats(stated, {"a": {"b": 1}}, findings, all_known=False)
    assert unknown == ["a.c", "f"]
    assert list(findings.differences()) == []


def test_what_is_computed_lies_over_what_is_stated() -> None:
    stated = {"a": {"b": 1, "c": 2}, "d": 3}
    assert overlaid(stated, {"a": {"b": 9}, "e": 4}) == {"a": {"b": 9, "c": 2}, "d": 3, "e": 4}
