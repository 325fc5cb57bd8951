"""What a training takes for a release, and what it refuses before anything is trained."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import UserError
from retrieval.training.data.release_splits import read_release
from tests.retrieval.training.releases import release, write_manifest

Query = dict[str, Any]


def rewritten(folder: Path, split: str, change: Callable[[list[Query]], object]) -> Path:
    """The release with other queries in that split, and a manifest that tells of them."""
    path = folder / f"{split}.jsonl"
    queries = [json.loads(line) for line in path.read_text().splitlines()]
    change(queries)
    path.write_text("".join(json.dumps(query) + "\n" for query in queries))
    write_manifest(folder)
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as refused:
        read_release(folder)
    report = str(refused.value)
    assert report.startswith(f"{folder} is not a complete release (")
    assert "\n" not in report
    return report


def test_a_release_is_read_with_all_its_splits(tmp_path: Path) -> None:
    found = read_release(release(tmp_path / "demo-1", train=5, dev=3, test=2))
    assert found.name == "demo-1"
    assert [len(some) for some in (found.train, found.dev, found.test)] == [5, 3, 2]


def test_a_release_is_named_by_its_campaign_and_number_wherever_it_lies(tmp_path: Path) -> None:
    folder = release(tmp_path / "release")
    assert read_release(folder).name == "release"
    (folder / "release.json").write_text('{"campaign": "faq", "number": 3}')
    assert read_release(folder).name == "faq-3"
    for text in ('{"campaign": "faq"}', "[]", "{", "[" * 100_000):
        (folder / "release.json").write_text(text)
        assert read_release(folder).name == "release"


@pytest.mark.parametrize("split", ["dev", "test"])
def test_what_dev_or_test_ask_too_is_not_learned(tmp_path: Path, split: str) -> None:
    folder = release(tmp_path / "demo-1", train=5, dev=3, test=2)
    held_out = json.loads((folder / f"{split}.jsonl").read_text().splitlines()[0])["query"]
    rewritten(folder, "train", lambda some: some[3].update(query=f" {held_out.upper()}"))
    found = read_release(folder)
    assert len(found.train) == 4
    assert found.asked_again == 1
    assert held_out.upper() not in " ".join(one.query for one in found.train)
    assert read_release(release(tmp_path / "demo-2")).asked_again == 0


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = release(tmp_path / "demo-1")
    (folder / "dev.jsonl").unlink()
    assert "(dev.jsonl: No such file or directory)" in refusal(folder)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_manifest_that_does_not_name_a_split_is_refused(tmp_path: Path, split: str) -> None:
    """Else two releases of other data would have one digest."""
    folder = release(tmp_path / "demo-1")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["files"][f"{split}.jsonl"]
    path.write_text(json.dumps(manifest))
    assert f"manifest.json lacks {split}.jsonl" in refusal(folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "manifest.json lacks files"),
        ('{"files": {"train.jsonl": {"bytes": 1}}}', "manifest.json lacks sha256"),
        ("[]", "manifest.json is no list of files"),
        ('{"files": 1}', "manifest.json is no list of files"),
        ('{"files": {"train.jsonl": null}}', "manifest.json is no list of files"),
        ("{", "manifest.json is no list of files"),
        ("\xff", "manifest.json is no list of files"),
        ("[" * 100_000, "manifest.json is no list of files"),
    ],
    ids=lambda text: text[:40],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    folder = release(tmp_path / "demo-1")
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    assert expected in refusal(folder)


@pytest.mark.parametrize("label", [[1], None, "1", True, 1.0, 2, {}])
def test_a_label_is_the_number_0_or_1_and_nothing_else(tmp_path: Path, label: object) -> None:
    folder = release(tmp_path / "demo-1", dev=2)
    rewritten(folder, "dev", lambda queries: queries[1]["candidates"][0].update(label=label))
    assert "dev.jsonl, line 2: a label is neither 0 nor 1" in refusal(folder)


@pytest.mark.parametrize("name", [["q"], None, 7, {}])
def test_an_id_is_a_text(tmp_path: Path, name: object) -> None:
    folder = release(tmp_path / "demo-1", test=1)
    rewritten(folder, "test", lambda queries: queries[0].update(id=name))
    assert "test.jsonl, line 1: an id is no text" in refusal(folder)
    other = release(tmp_path / "demo-2", test=1)
    rewritten(other, "test", lambda queries: queries[0]["candidates"][0].update(id=name))
    assert "test.jsonl, line 1: an id is no text" in refusal(other)


@pytest.mark.parametrize("field", ["question", "answer"])
def test_a_text_is_a_text(tmp_path: Path, field: str) -> None:
    folder = release(tmp_path / "demo-1")
    rewritten(folder, "train", lambda queries: queries[0]["candidates"][0].update({field: None}))
    assert "train.jsonl, line 1: a text is missing" in refusal(folder)


def test_a_query_stands_once_in_one_split(tmp_path: Path) -> None:
    folder = release(tmp_path / "demo-1")
    rewritten(folder, "test", lambda queries: queries.append(queries[0]))
    assert "the query 'test-0' is in test twice" in refusal(folder)
    other = release(tmp_path / "demo-2")
    rewritten(other, "test", lambda queries: queries[0].update(id="train-0"))
    assert "the query 'train-0' is in train and test" in refusal(other)


def test_a_candidate_stands_once_under_its_query(tmp_path: Path) -> None:
    folder = release(tmp_path / "demo-1")

    def again(queries: list[Query]) -> None:
        queries[2]["candidates"].append(queries[2]["candidates"][0])

    assert "train.jsonl, line 3: a candidate is repeated" in refusal(
        rewritten(folder, "train", again)
    )


def test_a_candidate_may_stand_under_many_queries(tmp_path: Path) -> None:
    folder = release(tmp_path / "demo-1")

    def shared(queries: list[Query]) -> None:
        queries[1]["candidates"][0] = queries[0]["candidates"][0]

    assert len(read_release(rewritten(folder, "train", shared)).train) == 60
