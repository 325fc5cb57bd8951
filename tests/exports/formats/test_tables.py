"""Parquet and TSV say what the JSONL says, to pyarrow, pandas and the csv module."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from retrieval.ranking.records import QueryRecord
from tests.exports.formats.releases import hostile_split, queries, rows, write_release
from tests.support.examples import examples

TEXTS = ["query_id", "query", "candidate_id", "question", "answer"]
NUMBERS = ["rank", "score", "label", "yes", "no"]


@given(queries())
@hypothesis_settings(max_examples=examples(40), deadline=None)
def test_parquet_and_tsv_hold_the_triplets_of_the_jsonl(
    tmp_path_factory: pytest.TempPathFactory, split: list[QueryRecord]
) -> None:
    folder = write_release(tmp_path_factory.mktemp("release"), split)
    wanted = rows(folder)
    assert pq.read_table(folder / "parquet" / "train.parquet").to_pylist() == wanted
    assert by_csv(folder / "tsv" / "train.tsv") == wanted
    assert by_pandas(folder / "tsv" / "train.tsv") == wanted


def test_every_hostile_text_comes_back(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split())
    wanted = rows(folder)
    assert len(wanted) > 300
    assert read_parquet(folder, "train").to_dict("records") == wanted
    assert by_csv(folder / "tsv" / "train.tsv") == wanted
    assert by_pandas(folder / "tsv" / "train.tsv") == wanted


def test_columns_are_small_numbers_and_only_a_score_may_be_missing(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split(scored=False))
    table = pq.read_table(folder / "parquet" / "train.parquet")
    types = {column.name: str(column.type) for column in table.schema}
    assert types == dict.fromkeys(TEXTS, "string") | {
        "rank": "int16",
        "score": "double",
        "label": "int8",
        "yes": "int16",
        "no": "int16",
    }
    assert [column.name for column in table.schema if column.nullable] == ["score"]
    assert table["score"].null_count == table.num_rows == len(by_csv(folder / "tsv" / "train.tsv"))


def test_a_missing_score_is_an_empty_field_and_a_missing_text_an_empty_text(tmp_path: Path) -> None:
    split = hostile_split(scored=False)
    folder = write_release(tmp_path, [query for query in split if query.query == ""])
    first = (folder / "tsv" / "train.tsv").read_bytes().split(b"\n")[1]
    assert first.split(b"\t")[1] == b'""'
    assert first.split(b"\t")[6] == b""


def test_a_split_without_queries_is_a_table_without_rows(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split())
    frame = read_parquet(folder, "dev")
    assert list(frame.columns) == TEXTS + NUMBERS
    assert len(frame) == 0
    assert by_csv(folder / "tsv" / "dev.tsv") == by_pandas(folder / "tsv" / "dev.tsv") == []
    assert (folder / "tsv" / "dev.tsv").read_text().count("\t") == 9


def by_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [typed(row) for row in csv.DictReader(file, delimiter="\t", strict=True)]


def typed(row: dict[str, str]) -> dict[str, Any]:
    numbers = {name: int(row[name]) for name in ("rank", "label", "yes", "no")}
    score = float(row["score"]) if row["score"] else None
    return row | numbers | {"score": score}


def read_parquet(folder: Path, split: str) -> Any:
    import pandas as pd  # noqa: PLC0415

    return pd.read_parquet(folder / "parquet" / f"{split}.parquet")


def by_pandas(path: Path) -> list[dict[str, Any]]:
    import pandas as pd  # noqa: PLC0415

    frame = pd.read_csv(
        path,
        sep="\t",
        dtype=dict.fromkeys(TEXTS, "str"),
        keep_default_na=False,
        na_values={"score": [""]},
    )
    found: list[Any] = frame.to_dict("records")
    return [row | {"score": None if pd.isna(row["score"]) else row["score"]} for row in found]
