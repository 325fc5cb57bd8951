"""Where a file and the one that should be there differ, in words."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exports.layout.manifest import versions
from exports.verify.rebuild.compare_files import first_difference, other_quorum, other_versions


@pytest.mark.parametrize(
    ("stated", "made", "words"),
    [
        (b"a\nb\n", b"a\nc\n", "line 2 is 'b', the other files make 'c'"),
        (b"a\n", b"a\nc\n", "line 2 is missing"),
        (b"a\nb\n", b"a\n", "line 2 is one too many"),
        (b"\xff\n", b"a\n", "line 1 is '\N{REPLACEMENT CHARACTER}', the other files make 'a'"),
        (b"x" * 200_000 + b"y", b"x" * 200_000 + b"z", "line 4 is "),
    ],
)
def test_the_first_line_that_differs_is_told(
    stated: bytes, made: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "stated.md").write_bytes(stated)
    (tmp_path / "made.md").write_bytes(made)
    found = first_difference(tmp_path / "stated.md", tmp_path / "made.md")
    assert found.startswith(words)
    assert len(found) < 400


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"a": [1, 2, 4]}, "row 3: a is 4, the other files make 3"),
        ({"a": [1, 2]}, "row 3 is missing"),
        ({"a": [1, 2, 3, 4]}, "row 4 is one too many"),
        ({"b": [1, 2, 3]}, "row 1: a is None, the other files make 1"),
    ],
)
def test_the_first_row_that_differs_is_told(
    stated: dict[str, list[int]], words: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table(stated), tmp_path / "stated.parquet")
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "made.parquet")
    assert first_difference(tmp_path / "stated.parquet", tmp_path / "made.parquet") == words


def test_a_table_that_cannot_be_read_differs_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "stated.parquet").write_bytes(b"PAR1")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "made.parquet")
    words = first_difference(tmp_path / "stated.parquet", tmp_path / "made.parquet")
    assert words.startswith("cannot be read")


def test_libraries_of_another_version_are_told() -> None:
    assert other_versions(versions()) == []
    older = {**versions(), "numpy": "0.1", "quorum": "0.0.1", "unheard-of": 5}
    (report,) = other_versions(older)
    assert report.startswith("numpy 0.1 (here ")
    (report,) = other_versions({"numpy": [1, 2]})
    assert report.startswith("numpy ")


def test_another_version_of_quorum_is_told_with_both() -> None:
    here = versions()["quorum"]
    assert other_quorum(versions()) is None
    assert other_quorum({}) is None
    assert other_quorum({"quorum": "0.0.1"}) == f"0.0.1 (here {here})"
