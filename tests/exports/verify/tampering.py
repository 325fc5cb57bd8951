"""Changes to a release's files, and what the verifier names then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from exports.verify.verify import verify
from retrieval.ranking.records import document


def found(folder: Path, **how: Any) -> str:
    """All differences, of which there must be one."""
    differences = verify(folder, **how).differences
    assert differences
    return "\n".join(differences)


def change_lines(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    rows = [orjson.loads(text) for text in path.read_bytes().splitlines()]
    change(rows)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def change_object(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads(path.read_bytes())
    change(values)
    path.write_bytes(document(values))


def change_table(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def first_query(folder: Path) -> dict[str, Any]:
    return dict(orjson.loads((folder / "train.jsonl").read_bytes().splitlines()[0]))
