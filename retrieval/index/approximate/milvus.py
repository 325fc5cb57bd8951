"""Vectors in Milvus: an HNSW index over a collection of the rows, in float32.

A table is the collection whose name begins with the table's and that is whole; it never changes
then. Milvus has no transactions, and indexes what is added to a graph in its own time: so a version
with other shards has another table. The graph is built last, and a collection without one is not
searched: a killed build leaves nothing that is taken for an index, and the next one starts again.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pymilvus import DataType, MilvusClient
from pymilvus.exceptions import MilvusException

from core.errors import UserError
from retrieval.index.approximate.engine_index import EngineIndex
from retrieval.index.approximate.milvus_server import SOON, asked, connect, server_address
from retrieval.index.port import Neighbours
from retrieval.index.tuning import sample
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

INSERT_BYTES = 2**22  # of vectors; Milvus takes up to 64 MB
COMPARED = 32  # rows, of a collection that is to be whole
POLL_SECONDS = 0.5
MOST_RESULTS = 16_384  # of a query: Milvus's own limit
# That one expression names: Milvus reads it as text, and takes up to 64 MB. They are written out,
# not handed over beside it: milvus-lite knows no such parameters.
MOST_EXCLUDED = 50_000


class MilvusIndex(EngineIndex):
    kind: ClassVar[str] = "milvus"
    prefix: ClassVar[str] = "quorum_"
    results_per_call: ClassVar[int] = 50_000

    def __init__(self, store: VectorStore, parameters: Mapping[str, object]) -> None:
        super().__init__(store, parameters)
        self._client = connect()
        self._collection = ""
        self._filters = [""]

    @classmethod
    def drop(cls, tables: set[str]) -> None:
        client = connect()
        with asked():
            for table in tables:
                _drop(client, table)

    def _fill(self) -> None:
        with asked():
            if self._is_whole():
                return
            _drop(self._client, self._table)
            # milvus-lite takes no name again that a killed process had begun with.
            self._collection = f"{self._table}_{secrets.token_hex(4)}"
            self._create()
            self._insert()
            self._client.flush(self._collection)
            self._index()
            self._client.load_collection(self._collection)
        self._require_rows()

    def _require_rows(self) -> None:
        with asked():
            whole = self._is_whole()
        if not whole:
            raise UserError(
                f"The collection {self._table} of Milvus at {server_address()} does not hold the "
                f"{len(self._store):,} vectors of this index, or not their graph: run `quorum "
                "index build` to load them again, or let QUORUM_MILVUS name the one that has them."
            )

    def _exclude(self, left_out: Mask) -> None:
        self._filters = list(filters(left_out))

    def _nearest(
        self, queries: Vectors, width: int, positions: Positions, scores: NDArray[np.float32]
    ) -> None:
        """Of the nearest that each filter lets through, the nearest."""
        for allowed in self._filters:
            near = self._near(queries, width, allowed)
            rows = np.hstack([positions, near.positions])
            values = np.hstack([scores, near.scores])
            best = np.argsort(-values, axis=1, kind="stable")[:, :width]
            positions[:] = np.take_along_axis(rows, best, axis=1)
            scores[:] = np.take_along_axis(values, best, axis=1)

    def _near(self, queries: Vectors, width: int, allowed: str) -> Neighbours:
        limit = min(width, MOST_RESULTS)
        with asked():
            results = self._client.search(
                self._collection,
                data=list(queries),
                anns_field="vector",
                filter=allowed,
                limit=limit,
                search_params={"metric_type": "IP", "params": {"ef": self._effort(limit)}},
                output_fields=["position"],
                **SOON,
            )
        positions = np.full((len(queries), limit), -1, np.int64)
        scores = np.full((len(queries), limit), -np.inf, np.float32)
        for number, hits in enumerate(results):
            positions[number, : len(hits)] = [hit["position"] for hit in hits]
            scores[number, : len(hits)] = [hit["distance"] for hit in hits]
        return Neighbours(positions, scores)

    def _is_whole(self) -> bool:
        """One is there, which is searched from now on."""
        for name in _begun(self._client, self._table):
            self._collection = name
            if self._has_graph_and_rows():
                return True
        return False

    def _has_graph_and_rows(self) -> bool:
        """All of them by their number; of some, the vectors are compared."""
        store = self._store
        if not self._client.list_indexes(self._collection, **SOON):
            return False
        self._client.load_collection(self._collection)
        [counted] = self._asked_for("", "count(*)")
        if counted["count(*)"] != len(store):
            return False
        some = sample(store, COMPARED)
        answer = self._asked_for(f"position in {some.tolist()}", "vector") if len(some) else []
        held = {row["position"]: row["vector"] for row in answer}
        rows = dict(zip(some.tolist(), store.rows(some), strict=True))
        return held.keys() == rows.keys() and all(
            np.array_equal(np.float32(held[at]), rows[at]) for at in rows
        )

    def _asked_for(self, allowed: str, field: str) -> list[dict[str, Any]]:
        """Of the rows as they are now, whatever was written last."""
        rows: list[dict[str, Any]] = self._client.query(
            self._collection,
            filter=allowed,
            output_fields=[field],
            consistency_level="Strong",
            **SOON,
        )
        return rows

    def _create(self) -> None:
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("position", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self._store.identity.dimension)
        self._client.create_collection(self._collection, schema=schema)

    def _insert(self) -> None:
        step = max(1, INSERT_BYTES // (4 * self._store.identity.dimension))
        for start, rows in self._store.blocks():
            for first in range(0, len(rows), step):
                vectors = rows[first : first + step].astype(np.float32)
                numbered = enumerate(vectors, start + first)
                self._client.insert(
                    self._collection,
                    [{"position": position, "vector": vector} for position, vector in numbered],
                )

    def _index(self) -> None:
        """Ends when the graph is built."""
        options = {
            "M": int(str(self.parameters["m"])),
            "efConstruction": int(str(self.parameters["ef_construction"])),
        }
        graph = self._client.prepare_index_params()
        # The client takes the outer braces away, and milvus-lite looks for the inner ones.
        nested = {"params": options}
        graph.add_index("vector", index_type="HNSW", metric_type="IP", params=nested)
        # Its own way to wait for the end asks for what milvus-lite does not know.
        self._client.create_index(self._collection, graph, sync=False)
        while self._graph_is_pending():
            time.sleep(POLL_SECONDS)

    def _graph_is_pending(self) -> bool:
        graph = self._client.describe_index(self._collection, "vector", **SOON)
        if graph["state"] == "Failed":
            raise MilvusException(message=f"no graph was built: {graph}")
        return bool(graph["state"] != "Finished")


def filters(left_out: Mask) -> Iterator[str]:
    """Expressions that together let through what is not left out, each of a range of positions."""
    excluded = np.flatnonzero(left_out)
    if not len(excluded):
        yield ""
        return
    edges = [0, *excluded[MOST_EXCLUDED::MOST_EXCLUDED].tolist(), len(left_out)]
    for part, (first, end) in enumerate(pairwise(edges)):
        named = excluded[part * MOST_EXCLUDED : (part + 1) * MOST_EXCLUDED].tolist()
        if len(named) < end - first:
            yield f"position >= {first} and position < {end} and position not in {named}"


def _begun(client: MilvusClient, table: str) -> list[str]:
    """Collections of the table: whole, or of builds that were killed."""
    return [name for name in client.list_collections(**SOON) if name.startswith(table)]


def _drop(client: MilvusClient, table: str) -> None:
    for name in _begun(client, table):
        client.drop_collection(name)
