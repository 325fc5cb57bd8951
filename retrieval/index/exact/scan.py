"""One pass over every row on all cores. Memory: the results and a tile for each thread."""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
from threadpoolctl import ThreadpoolController

from retrieval.index.exact.top_k import TopK, in_half_precision, margin
from retrieval.index.port import Neighbours
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Stored, Vectors

MOST_QUERIES = 512  # of one thread: beyond it a product gains nothing
FEWEST_QUERIES = 64  # below it a product loses, and threads share the rows instead
# Looked at by all queries before the next: where the store is larger than memory, it is read once.
CHUNK_BYTES = 2**28

Block = tuple[int, Stored]  # start and rows
# A search takes all cores, and the number of threads of numpy's library is the whole process's.
_one_search = threading.Lock()


def scan(store: VectorStore, queries: Vectors, width: int, left_out: Mask) -> Neighbours:
    """The best of each query among all rows that are not left out."""
    half = in_half_precision(len(queries), store.identity.dtype)
    positions = np.empty((len(queries), width), np.int64)
    scores = np.empty((len(queries), width), np.float32)
    with _one_search:
        # In half precision torch multiplies, with threads of its own.
        workers = 1 if half else _cores()
        shared = [
            [TopK(queries[some], width, left_out, half=half) for _ in range(splits)]
            for some, splits in _shares(len(queries), workers)
        ]
        threads = _threads(workers, os.getpid())
        with _libraries().limit(limits=1):
            for blocks in _chunks(store):
                _take_all(threads, shared, blocks)
        merged = threads.map(_merged, shared)
        for (some, _), best in zip(_shares(len(queries), workers), merged, strict=True):
            positions[some], scores[some] = best.result()
    return Neighbours(positions, scores, margin(queries, half=half))


def _take_all(
    threads: ThreadPoolExecutor, shared: Sequence[Sequence[TopK]], blocks: Sequence[Block]
) -> None:
    takes = [
        partial(_take, best, blocks, part=part, parts=len(splits))
        for splits in shared
        for part, best in enumerate(splits)
    ]
    jobs = [threads.submit(take) for take in takes[1:]]
    for take in takes[:1]:  # here: one thread less has to wake
        take()
    for job in jobs:
        job.result()


@cache
def _threads(workers: int, process: int) -> ThreadPoolExecutor:
    """They stay: to start them for every question takes long on a busy machine. A process that
    was forked has none of its parent's."""
    return ThreadPoolExecutor(workers, thread_name_prefix="scan")


def _cores() -> int:
    """That numpy's library would use; not while a search limits it."""
    return max((library.num_threads for library in _libraries().lib_controllers), default=1)


@cache
def _libraries() -> ThreadpoolController:
    """numpy's; its own threads would wait for each other at every tile."""
    return ThreadpoolController().select(user_api="blas")


def _shares(queries: int, workers: int) -> Iterator[tuple[slice, int]]:
    """Some queries, and the number of threads that share the rows for them."""
    if queries < workers * FEWEST_QUERIES:
        size, splits = max(queries, 1), workers
    else:
        rounds = -(-queries // (workers * MOST_QUERIES))
        size, splits = -(-queries // (workers * rounds)), 1
    for start in range(0, queries, size):
        yield slice(start, start + size), splits


def _chunks(store: VectorStore) -> Iterator[Sequence[Block]]:
    blocks: list[Block] = []
    held = 0
    for start, rows in store.blocks():
        blocks.append((start, rows))
        held += rows.nbytes
        if held >= CHUNK_BYTES:
            yield blocks
            blocks, held = [], 0
    yield blocks


def _take(best: TopK, blocks: Sequence[Block], *, part: int, parts: int) -> None:
    """An equal part of the blocks' rows, one after the other."""
    total = sum(len(rows) for _, rows in blocks)
    first, last = total * part // parts, total * (part + 1) // parts
    for start, rows in blocks:
        if last > 0 and first < len(rows):
            skip = max(first, 0)
            best.take(start + skip, rows[skip : min(last, len(rows))])
        first, last = first - len(rows), last - len(rows)


def _merged(splits: Sequence[TopK]) -> TopK:
    for other in splits[1:]:
        splits[0].take_from(other)
    return splits[0]
