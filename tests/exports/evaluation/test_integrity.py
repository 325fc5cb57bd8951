"""Figures are made of the files that were released, or of none."""

import json
from pathlib import Path

import pytest

from core.errors import UserError
from exports.evaluation.evaluate import evaluate
from exports.evaluation.score_model import queries_of
from exports.evaluation.systems import labels_of
from exports.layout.files import MANIFEST
from exports.layout.manifest import checksums
from tests.exports.support.small_release import small_release, written

RANKINGS = ("a1 a2 a3", "b1 b2 b3", "c1 c2 c3", "d1 d2 d3")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = small_release(tmp_path / "demo-1")
    (folder / MANIFEST).write_text(json.dumps({"files": checksums(folder)}))
    return folder


def evaluated(release: Path, run: Path) -> dict[str, object]:
    return evaluate(run, release, split="test", against="bm25", way="qrc")


def test_a_label_that_was_changed_gives_no_figures(release: Path, tmp_path: Path) -> None:
    run = written(tmp_path / "my.run", *RANKINGS)
    assert evaluated(release, run)["queries"] == {"counted": 4, "dropped": 0}
    path = release / "test.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"label":0', b'"label":1', 1))
    for use in (lambda: evaluated(release, run), lambda: queries_of(release, "test")):
        with pytest.raises(UserError, match=r"test.jsonl is not the file that manifest.json names"):
            use()
    assert len(labels_of(release, "dev")) == 2


def test_a_baseline_that_was_cut_gives_no_figures(release: Path, tmp_path: Path) -> None:
    run = written(tmp_path / "my.run", *RANKINGS)
    path = release / "trec" / "test.bm25.run"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"trec/test.bm25.run is not the file that manifest.json"):
        evaluated(release, run)


def test_a_run_that_was_put_into_the_release_is_a_run(release: Path) -> None:
    run = written(release / "trec" / "mine.run", *RANKINGS)
    assert evaluated(release, run)["queries"] == {"counted": 4, "dropped": 0}


def test_a_folder_without_a_manifest_is_taken_as_it_is(release: Path) -> None:
    (release / MANIFEST).unlink()
    assert len(labels_of(release, "test")) == 4


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": []}', '{"files": {"test.jsonl": 1}}'])
def test_a_manifest_that_is_none_is_told(release: Path, text: str) -> None:
    (release / MANIFEST).write_text(text)
    with pytest.raises(UserError, match=r"is damaged .manifest.json is no list of files.: `quorum"):
        labels_of(release, "test")


def test_a_baseline_that_is_missing_is_told_by_who_reads_it(release: Path, tmp_path: Path) -> None:
    (release / "trec" / "test.bm25.run").unlink()
    with pytest.raises(UserError, match=r"test.bm25.run"):
        evaluated(release, written(tmp_path / "my.run", *RANKINGS))
