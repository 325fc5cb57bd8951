"""Croissant's own library reads what we write."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exports.card.croissant import croissant
from exports.card.readme import write_card
from exports.layout.files import CROISSANT, MANIFEST
from exports.splits.splits import SPLITS
from tests.exports.card.releases import ready

WARNINGS = ["datePublished"]  # a release holds no clock time


def described(folder: Path) -> Any:
    from mlcroissant import Dataset  # noqa: PLC0415

    write_card(folder)
    return Dataset(jsonld=folder / CROISSANT)


def written(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / CROISSANT).read_bytes())
    return values


def as_text(value: object) -> object:
    return value.decode() if isinstance(value, bytes) else value


def records(dataset: Any, name: str) -> list[dict[str, object]]:
    return [
        {key.partition("/")[2]: as_text(value) for key, value in record.items()}
        for record in dataset.records(name)
    ]


def test_mlcroissant_finds_no_error_and_warns_of_nothing_but_the_date(tmp_path: Path) -> None:
    issues = described(ready(tmp_path / "demo-1")).metadata.ctx.issues
    assert list(issues.errors) == []
    assert len(issues.warnings) == len(WARNINGS)
    assert all(word in str(issues.report()) for word in WARNINGS)


@pytest.mark.parametrize("split", SPLITS)
def test_the_records_of_a_split_are_its_triplets(tmp_path: Path, split: str) -> None:
    folder = ready(tmp_path / "demo-1")
    table = pq.read_table(folder / "parquet" / f"{split}.parquet")
    assert table.num_rows > 0
    assert records(described(folder), split) == table.to_pylist()


@pytest.mark.parametrize("name", ["judgments", "assignments"])
def test_the_records_of_the_annotators_are_their_tables(tmp_path: Path, name: str) -> None:
    folder = ready(tmp_path / "demo-1")
    rows = pq.read_table(folder / f"{name}.parquet").to_pylist()
    assert records(described(folder), name) == rows


def test_without_the_judgments_there_is_no_record_of_them(tmp_path: Path) -> None:
    options = {"partial": False, "split": "clusters", "judgments": False}
    folder = ready(tmp_path / "demo-1", release={"options": options})
    described(folder)
    assert [each["name"] for each in written(folder)["recordSet"]] == list(SPLITS)


def test_an_empty_split_has_no_records(tmp_path: Path) -> None:
    assert records(described(ready(tmp_path / "demo-1", empty=("dev",))), "dev") == []


def test_each_file_has_its_checksum_and_size(tmp_path: Path) -> None:
    folder = ready(tmp_path / "demo-1")
    write_card(folder)
    listed = {each["contentUrl"]: each for each in written(folder)["distribution"]}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(listed) == there - {CROISSANT}
    for path, each in listed.items():
        content = (folder / path).read_bytes()
        assert each["sha256"] == hashlib.sha256(content).hexdigest()
        assert each["contentSize"] == f"{len(content)} B"


def test_the_manifest_which_comes_last_is_not_listed(tmp_path: Path) -> None:
    folder = ready(tmp_path / "demo-1")
    write_card(folder)
    before = croissant(folder)
    (folder / MANIFEST).write_text("{}")
    assert croissant(folder) == before


def test_licences_are_those_of_the_sources(tmp_path: Path) -> None:
    sources = [
        {"source": "b", "license": "MIT", "pairs": 1},
        {"source": "a", "license": "", "pairs": 1},
        {"source": "c", "license": "CC0-1.0", "pairs": 1},
    ]
    folder = ready(tmp_path / "demo-1", campaign={"sources": sources})
    assert described(folder).metadata.license == ["CC0-1.0", "MIT"]


def test_the_corpus_is_named(tmp_path: Path) -> None:
    description = described(ready(tmp_path / "demo-1")).metadata.description
    assert description.endswith("Its pairs are of the corpus coffee (source: tests).")


def test_texts_of_any_kind_come_back_as_they_were(tmp_path: Path) -> None:
    hostile = 'NA\t"quoted"\n<b>&amp;</b> $x$ 日本 \u2028 {"@id": "x"}'
    folder = ready(tmp_path / "demo-1")
    path = folder / "parquet" / "train.parquet"
    table = pq.read_table(path)
    rows = [row | {"answer": hostile} for row in table.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    assert [row["answer"] for row in records(described(folder), "train")] == [hostile] * len(rows)
