"""Hugging Face's library loads the JSONL and the Parquet files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.exports.formats.releases import hostile_split, rows, write_release

Load = Callable[[str, dict[str, Path]], Any]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(kind: str, files: dict[str, Path]) -> Any:
        from datasets import load_dataset  # noqa: PLC0415

        paths = {split: str(path) for split, path in files.items()}
        return load_dataset(kind, data_files=paths, cache_dir=str(tmp_path / "cache"))

    return load


def test_parquet_splits_are_rows_of_triplets(tmp_path: Path, load: Load) -> None:
    split = hostile_split()
    folder = write_release(tmp_path / "release", split, split[:5], split[5:9])
    names = ("train", "dev", "test")
    found = load("parquet", {name: folder / "parquet" / f"{name}.parquet" for name in names})
    for name in names:
        assert found[name].to_list() == rows(folder, name)
    types = {name: feature.dtype for name, feature in found["train"].features.items()}
    assert types["rank"] == "int16"
    assert types["label"] == "int8"
    assert types["score"] == "float64"


@pytest.mark.parametrize("scored", [True, False])
def test_jsonl_splits_are_queries_with_their_candidates(
    tmp_path: Path, load: Load, scored: bool
) -> None:
    split = hostile_split(scored=scored)
    folder = write_release(tmp_path / "release", split, split[:5], split[5:9])
    names = ("train", "dev", "test")
    found = load("json", {name: folder / f"{name}.jsonl" for name in names})
    for name in names:
        assert found[name].to_list() == records(folder / f"{name}.jsonl")


def test_a_split_without_queries_is_refused_so_that_it_must_be_left_out(
    tmp_path: Path, load: Load
) -> None:
    """What the loading code of a release asks before it loads: see exports.formats.loading_code."""
    folder = write_release(tmp_path / "release", hostile_split())
    with pytest.raises(ValueError, match="corresponds to no data"):
        load("parquet", {"dev": folder / "parquet" / "dev.parquet"})


def records(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]
