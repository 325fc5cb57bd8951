"""`python -m exports.verify DIR`: clean on a release, and naming whatever is changed in one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from exports.building.assemble import Previous
from exports.building.options import Options
from exports.layout.files import (
    CAMPAIGN,
    CARD,
    MANIFEST,
    STATS,
)
from exports.layout.manifest import checksum
from exports.verify.verify import Report, render, verify
from tests.exports.support.built_releases import finished, sealed
from tests.exports.support.extracts import Extract, random_extract
from tests.exports.verify.tampering import change_object, found
from tests.support.examples import cases

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("verify") / "demo-1")


@pytest.fixture
def release(whole: Path, tmp_path: Path) -> Path:
    """A copy to be tampered with."""
    return Path(shutil.copytree(whole, tmp_path / "demo-1"))


WHOLE = [(s, j, way) for s in (1, 2) for j in (True, False) for way in ("clusters", "random")]


@pytest.mark.hypothesis
@pytest.mark.parametrize(("seed", "judgments", "way"), cases(WHOLE, (WHOLE[0], WHOLE[-1])))
def test_a_whole_release_has_no_difference(
    seed: int, judgments: bool, way: str, tmp_path: Path
) -> None:
    extract = random_extract(seed, queries=20, shared=0.3)
    folder = finished(tmp_path / "r", extract, options=Options(split=way, judgments=judgments))
    report = verify(folder)
    assert report.differences == []
    assert report.checked > 300
    details = " ".join(report.unchecked)
    assert ("judgments were left out" in details) is not judgments
    assert ("at random" in details) is (way == "random")
    assert "embeddings" in details


def test_without_the_judgments_the_figures_that_need_them_are_listed(tmp_path: Path) -> None:
    report = verify(finished(tmp_path / "r", options=Options(judgments=False)))
    (details,) = [sentence for sentence in report.unchecked if sentence.startswith(STATS)]
    for name in ("agreement", "controls", "campaign.votes", "workers.gini"):
        assert f" {name}" in details
    assert "robust" not in details


def test_what_changed_since_the_release_before_is_checked_where_that_is_at_hand(
    tmp_path: Path,
) -> None:
    extract = random_extract(3, queries=18)
    first = finished(tmp_path / "demo-1", extract)
    digest = str(checksum(first / MANIFEST)["sha256"])
    second = finished(tmp_path / "demo-2", extract, previous=Previous(1, digest, first))
    assert verify(second, previous=first).differences == []
    report = verify(second)
    assert report.differences == []
    assert any("--previous" in sentence for sentence in report.unchecked)

    change_object(second / "changes.json", lambda changes: changes["labels"].update(added=77))
    sealed(second)
    assert "changes.json: line " in found(second, previous=first)
    (first / MANIFEST).write_bytes((first / MANIFEST).read_bytes() + b" ")
    assert "previous.manifest_sha256" in found(second, previous=first)


def imported(extract: Extract) -> Extract:
    """The same labels as if they were imported: no votes, no scores, queries of any length."""
    queries = [
        replace(
            query,
            candidates=[
                replace(each, yes=0, no=0, score=None, label_source="import")
                for each in query.candidates[: 2 + n % 4]
            ],
        )
        for n, query in enumerate(extract.queries)
    ]
    counts = [
        {
            "id": query.id,
            "candidates": len(query.candidates),
            "labelled": len(query.candidates),
            "complete": True,
        }
        for query in queries
    ]
    labels = sum(len(query.candidates) for query in queries)
    made = Extract(queries, counts)
    _one_vote_against(made, extract)
    facts = {
        **extract.campaign,
        "queries": {**extract.campaign["queries"], "origin": "import"},
        "retriever": None,
        "triplets": {"triplets": labels, "labelled": labels, "open": 0, "unresolved": 0},
        "excluded_workers": [],
        "rejection_reasons": dict.fromkeys(extract.campaign["rejection_reasons"], 0),
        "cost_cents": 0,
        "bonus_cents": 0,
    }
    made.campaign = facts
    return made


def _one_vote_against(made: Extract, extract: Extract) -> None:
    """A single vote makes no label: the imported one stands, whatever the vote says."""
    query = made.queries[0]
    first, *others = query.candidates
    made.queries[0] = replace(query, candidates=[replace(first, label=0, yes=1), *others])
    vote = {**extract.judgments[0], "query_id": query.id, "candidate_id": first.id, "value": 1}
    made.judgments.append(vote)
    made.assignments.append({**extract.assignments[0], "cents": 0})
    made.controls += extract.controls[:2]


def test_imported_labels_are_whole_and_told_to_be_unchecked(tmp_path: Path) -> None:
    folder = finished(tmp_path / "r", imported(random_extract(4, queries=20)))
    report = verify(folder)
    assert report.differences == []
    assert any("labels came with the dataset" in sentence for sentence in report.unchecked)
    assert any("no gold" in sentence for sentence in report.unchecked)


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    return subprocess.run(
        [sys.executable, "-m", "exports.verify", *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_command_needs_neither_settings_nor_a_database(whole: Path) -> None:
    code = f"""
import runpy, sys
sys.argv = ["verify", {str(whole)!r}]
try:
    runpy.run_module("exports.verify", run_name="__main__")
finally:
    print([name for name in ("django", "torch", "sqlite3") if name in sys.modules])
"""
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, "no difference" in done.stdout) == (0, True)
    assert "checking figures" in done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_command_exits_1_on_a_difference_and_prints_one_object_if_asked(release: Path) -> None:
    (release / CARD).write_text("# Demo\n")
    done = command(release, "--json")
    assert done.returncode == 1
    report = Report(**json.loads(done.stdout))
    assert any(each.startswith(f"{CARD}: line 1 is") for each in report.differences)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "is no folder"),
        ({}, "is no release, it holds no manifest.json"),
        ({MANIFEST: b"{"}, "cannot be read"),
        ({MANIFEST: b"[]"}, "is no manifest of a release"),
        ({MANIFEST: b'{"format": "zip"}'}, "is no manifest of a release"),
        ({MANIFEST: b"[" * 100_000}, "cannot be read"),
    ],
)
def test_what_is_no_release_is_refused_in_one_sentence(
    content: dict[str, bytes] | None, sentence: str, tmp_path: Path
) -> None:
    refused = tmp_path / "folder"
    if content is not None:
        refused.mkdir()
        for name, text in content.items():
            (refused / name).write_bytes(text)
    with pytest.raises(UserError, match=re.escape(sentence)):
        verify(refused)


def test_a_file_is_no_release(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = command(tmp_path / "file")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_a_manifest_that_is_a_link_is_refused(release: Path, tmp_path: Path) -> None:
    (release / MANIFEST).rename(tmp_path / "real")
    (release / MANIFEST).symlink_to(tmp_path / "real")
    with pytest.raises(UserError, match="is no manifest of a release"):
        verify(release)


def test_one_difference_is_not_many() -> None:
    one, two = (Report(["x"] * number, [], 5) for number in (1, 2))
    assert "\n1 difference:\n" in render(Path("r"), one)
    assert render(Path("r"), one).startswith(f"r: {one.checked:,} checks of its files, labels and")
    assert "\n2 differences:\n" in render(Path("r"), two)


def test_what_is_missing_is_said_to_be_missing(release: Path) -> None:
    change_object(release / CAMPAIGN, lambda facts: facts.pop("policy"))
    sealed(release)
    report = verify(release)
    assert report.differences == [f"{CAMPAIGN}: policy is missing"]
    assert any(f"{CAMPAIGN} is missing or damaged" in each for each in report.unchecked)


def test_a_policy_that_is_none_is_why_nothing_was_made_again(release: Path) -> None:
    change_object(release / CAMPAIGN, lambda facts: facts.update(policy={"x": 1}))
    sealed(release)
    report = verify(release)
    assert all("cannot be read" not in each for each in report.differences)
    assert any(f"{CAMPAIGN} is missing or damaged" in each for each in report.unchecked)
