"""A release's table, written as its rows come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from exports.layout.schemas import TABLES

ROWS = 100_000  # of a group: what is in memory at a time

Row = tuple[object, ...]


class TableFile:
    """Groups end at the same rows however these arrive: the same rows make the same bytes."""

    def __init__(self, folder: Path, name: str) -> None:
        self.schema = TABLES[name]
        self._writer = pq.ParquetWriter(folder / name, self.schema, compression="zstd")
        self._waiting = self.schema.empty_table()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and self._waiting.num_rows:
            self._write(self._waiting)
        self._writer.close()

    def add(self, rows: pa.Table) -> None:
        self._waiting = pa.concat_tables([self._waiting, rows])
        while self._waiting.num_rows >= ROWS:
            self._write(self._waiting.slice(0, ROWS))
            self._waiting = self._waiting.slice(ROWS)

    def _write(self, rows: pa.Table) -> None:
        # In one piece: pages would end where pieces do.
        self._writer.write_table(rows.combine_chunks(), row_group_size=ROWS)


def table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
