"""The judgments of a release, whole queries at a time, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

ROWS = 16_384
COLUMNS = ("query_id", "candidate_id", "worker", "value")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Votes:
    """The valid votes of some whole queries, in the order of the file.

    A row a vote: `value`, `worker` (its number in the `names` given to `read_votes`), `triplet`.
    A row a triplet: its first vote (`start`), its `votes`, those for 1 (`yes`), its `query`.
    """

    value: Ints
    worker: Ints
    triplet: Ints
    start: Ints
    votes: Ints
    yes: Ints
    query: Ints
    query_ids: list[str]  # of each query
    table: pa.Table  # the rows themselves

    def candidate(self, triplet: int) -> str:
        candidate: str = self.table.column("candidate_id")[int(self.start[triplet])].as_py()
        return candidate

    def triplets_of(self, query: int) -> range:
        first, last = np.searchsorted(self.query, [query, query + 1])
        return range(int(first), int(last))

    def yes_among_first(self, votes: int) -> tuple[Ints, Ints]:
        """Of each triplet's first votes at most so many: how many there are, how many are 1."""
        size = np.minimum(self.votes, votes)
        sums = np.concatenate([[0], np.cumsum(self.value)])
        return size, sums[self.start + size] - sums[self.start]


def read_votes(
    path: Path, names: dict[str, int], columns: Sequence[str] = COLUMNS
) -> Iterator[Votes]:
    """`names` numbers the workers, in the order in which they come."""
    left: pa.Table | None = None
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=list(columns)):
            table = pa.Table.from_batches([batch])
            table = table if left is None else pa.concat_tables([left, table])
            whole = _whole_queries(table)
            if whole:
                yield _votes(table.slice(0, whole), names)
            left = table.slice(whole)
    if left is not None and left.num_rows:
        yield _votes(left, names)


def _whole_queries(table: pa.Table) -> int:
    """How many rows belong to queries of which no more can come: all but the last one's."""
    changes = np.flatnonzero(_changes(table, "query_id"))
    return int(changes[-1]) if len(changes) else 0


def _votes(table: pa.Table, names: dict[str, int]) -> Votes:
    table = table.combine_chunks()
    new_query = _changes(table, "query_id")
    new_triplet = new_query | _changes(table, "candidate_id")
    start = np.flatnonzero(new_triplet)
    value = numbers(table, "value")
    query_of_vote = np.cumsum(new_query) - 1
    return Votes(
        value=value,
        worker=_numbered(_array(table, "worker"), names),
        triplet=np.cumsum(new_triplet) - 1,
        start=start,
        votes=np.diff(np.append(start, len(value))),
        yes=np.add.reduceat(value, start),
        query=query_of_vote[start],
        query_ids=_array(table, "query_id").take(np.flatnonzero(new_query)).to_pylist(),
        table=table,
    )


def numbers(table: pa.Table, column: str) -> Ints:
    values: Ints = _array(table, column).to_numpy(zero_copy_only=False).astype(np.int64)
    return values


def _array(table: pa.Table, column: str) -> Any:
    chunked = table.column(column)
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


def _changes(table: pa.Table, column: str) -> NDArray[np.bool_]:
    """True where a row begins another value than the row before; the first one does."""
    values = _array(table, column)
    differs = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    return np.concatenate([[True], differs.to_numpy(zero_copy_only=False)])


def _numbered(workers: Any, names: dict[str, int]) -> Ints:
    encoded = workers.dictionary_encode()
    known = [names.setdefault(name, len(names)) for name in encoded.dictionary.to_pylist()]
    numbers: Ints = np.array(known, dtype=np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    return numbers
