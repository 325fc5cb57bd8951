"""All formats in one pass: the same bytes each time, in memory that does not grow."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exports.formats import batch as batches_of
from exports.formats import write
from exports.formats.write import same, write_formats
from exports.layout.schemas import arrow_schema, record_columns
from retrieval.ranking.records import CandidateRecord, DatasetError, QueryRecord, line
from tests.exports.formats.releases import hostile_split, rows, write_release
from tests.exports.support.extracts import random_extract, spread

SCHEMA = arrow_schema(record_columns())
FILES = {
    f"{folder}/{split}{suffix}"
    for split in ("train", "dev", "test")
    for folder, suffix in (
        ("parquet", ".parquet"),
        ("tsv", ".tsv"),
        ("trec", ".qrels"),
        ("trec", ".topics.tsv"),
        ("sentence-transformers/pair", ".jsonl"),
        ("sentence-transformers/triplet", ".jsonl"),
        ("sentence-transformers/n-tuple", ".jsonl"),
    )
}


def test_every_format_has_a_file_of_every_split(tmp_path: Path) -> None:
    folder = spread(random_extract(1), tmp_path / "release")
    before = files(folder)
    write_formats(folder)
    assert files(folder) - before == FILES


def test_an_empty_split_has_its_files_too(tmp_path: Path) -> None:
    assert files(write_release(tmp_path, [])) >= FILES


def test_the_same_splits_make_the_same_bytes(tmp_path: Path) -> None:
    folders = [spread(random_extract(2), tmp_path / name) for name in ("one", "other")]
    for folder in folders:
        write_formats(folder)
    assert content(folders[0]) == content(folders[1])


def test_formats_written_again_replace_those_that_were_there(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "twice", hostile_split())
    write_release(folder, hostile_split()[:3])
    assert content(folder) == content(write_release(tmp_path / "once", hostile_split()[:3]))


def test_progress_counts_the_queries_of_all_splits(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split(), hostile_split()[:2])
    counts: list[int] = []
    write_formats(folder, progress=counts.append)
    assert sum(counts) == len(hostile_split()) + 2


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split())
    with (folder / "train.jsonl").open("ab") as file:
        file.write(b'{"id": "q1"\n')
    number = len(hostile_split()) + 1
    with pytest.raises(DatasetError, match=rf"train\.jsonl, line {number}: no record"):
        write_formats(folder)


def test_row_groups_end_with_the_query_that_fills_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches_of, "ROWS", 15)
    folder = write_release(tmp_path, hostile_split()[:5])  # of 10 candidates each
    metadata = pq.read_metadata(folder / "parquet" / "train.parquet")
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert groups == [20, 20, 10]
    assert pq.read_table(folder / "parquet" / "train.parquet").to_pylist() == rows(folder)


def test_memory_does_not_grow_with_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tracemalloc sees Python's objects; Arrow holds no more than a row group of them."""
    monkeypatch.setattr(batches_of, "ROWS", 600)
    small, large = wide_split(tmp_path / "small", 100), wide_split(tmp_path / "large", 1000)
    write_formats(small)  # what is loaded once, is loaded now
    assert peak(large) < 1.3 * peak(small)


def wide_split(folder: Path, number: int) -> Path:
    folder.mkdir()
    candidates = [
        CandidateRecord(f"c{rank:019}", f"question {rank}", "words " * 9, rank, 0.5, rank % 2, 2, 0)
        for rank in range(1, 31)
    ]
    records = (QueryRecord(f"q{each:05}", "why?", candidates) for each in range(number))
    (folder / "train.jsonl").write_bytes(b"".join(map(line, records)))
    for split in ("dev", "test"):
        (folder / f"{split}.jsonl").touch()
    return folder


def peak(folder: Path) -> int:
    tracemalloc.start()
    try:
        write_formats(folder)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_table_packed_another_way_is_the_same(tmp_path: Path) -> None:
    table = write_release(tmp_path, hostile_split()) / "parquet" / "train.parquet"
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(table), other, compression="snappy", row_group_size=5)
    assert other.read_bytes() != table.read_bytes()
    assert same(table, other)
    assert same(other, table)


def flip_a_label(table: Path) -> None:
    found = pq.read_table(table).to_pylist()
    found[-1]["label"] = 1 - found[-1]["label"]
    write_rows(table, found)


def lose_the_last_row(table: Path) -> None:
    write_rows(table, pq.read_table(table).to_pylist()[:-1])


def swap_two_rows(table: Path) -> None:
    first, second, *others = pq.read_table(table).to_pylist()
    write_rows(table, [second, first, *others])


def write_rows(table: Path, found: list[dict[str, object]]) -> None:
    pq.write_table(pa.Table.from_pylist(found, SCHEMA), table)


def rename_a_column(table: Path) -> None:
    names = ["id", *SCHEMA.names[1:]]
    pq.write_table(pq.read_table(table).rename_columns(names), table)


def widen_a_column(table: Path) -> None:
    wide = pq.read_table(table).to_pandas().astype({"rank": "int64"})
    wide.to_parquet(table, index=False)


def cut_it_short(table: Path) -> None:
    table.write_bytes(table.read_bytes()[:-100])


def tear_its_middle(table: Path) -> None:
    content = bytearray(table.read_bytes())
    content[40:120] = bytes(80)
    table.write_bytes(content)


@pytest.mark.parametrize(
    "change",
    [
        flip_a_label,
        lose_the_last_row,
        swap_two_rows,
        rename_a_column,
        widen_a_column,
        cut_it_short,
        tear_its_middle,
    ],
)
def test_a_table_that_says_anything_else_is_not_the_same(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    table = write_release(tmp_path, hostile_split()) / "parquet" / "train.parquet"
    other = tmp_path / "other.parquet"
    shutil.copy(table, other)
    assert same(table, other)
    change(other)
    assert not same(table, other)
    assert not same(other, table)


def test_a_label_flipped_in_any_row_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "ROWS", 7)
    table = write_release(tmp_path, hostile_split()[:3]) / "parquet" / "train.parquet"
    found = pq.read_table(table).to_pylist()
    for number, row in enumerate(found):
        flipped = [*found[:number], row | {"label": 1 - row["label"]}, *found[number + 1 :]]
        write_rows(tmp_path / "other.parquet", flipped)
        assert not same(table, tmp_path / "other.parquet")


def test_other_files_are_the_same_byte_by_byte_whatever_their_times(tmp_path: Path) -> None:
    one, other = tmp_path / "one.tsv", tmp_path / "other.tsv"
    for path, content in ((one, b"a\tb\n"), (other, b"a\tb\n")):
        path.write_bytes(content)
        os.utime(path, (1, 1))
    assert same(one, other)
    other.write_bytes(b"a\tc\n")
    os.utime(other, (1, 1))
    assert not same(one, other)


@pytest.mark.parametrize("start", [b"a\tb\n", b"a\tb\nc"])  # a whole piece, a piece and more
def test_a_file_that_is_the_start_of_another_is_not_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(write, "PIECE", 4)
    one, other = tmp_path / "one.tsv", tmp_path / "other.tsv"
    one.write_bytes(start)
    other.write_bytes(start + b"\n")
    assert not same(one, other)
    assert not same(other, one)


def test_one_flipped_label_of_the_jsonl_shows_in_every_table(tmp_path: Path) -> None:
    split = hostile_split()
    last = split[-1]
    flipped = replace(last.candidates[0], label=1 - last.candidates[0].label)
    changed = [*split[:-1], replace(last, candidates=[flipped, *last.candidates[1:]])]
    one = write_release(tmp_path / "one", split)
    other = write_release(tmp_path / "other", changed)
    for path in ("parquet/train.parquet", "tsv/train.tsv", "trec/train.qrels"):
        assert not same(one / path, other / path)
    assert same(one / "trec/train.topics.tsv", other / "trec/train.topics.tsv")


def files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found}


def content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files(folder)}
