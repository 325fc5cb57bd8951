"""Several processes that encode: on a CPU they need not wait for each other's threads."""

import os
import signal
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from core.errors import UserError
from retrieval.encoders.batches import Batch, Rows
from retrieval.encoders.forward import TYPES, forward
from retrieval.encoders.loading import load_model
from retrieval.vectors.types import Vectors

# Batches under way for each process: the next one is always at hand.
AHEAD = 4
# Each holds the model and its libraries: about half a gigabyte.
MOST = 16


def usual_processes(device: str) -> int:
    """One for each core: measured faster than one with as many threads."""
    return min(torch.get_num_threads(), MOST) if device == "cpu" else 1


class WorkerPool:
    """Started at its first use; ends with its owner, whatever that one dies of."""

    def __init__(self, model: str, precision: str, dimension: int, processes: int) -> None:
        self._model = model
        self._precision = precision
        self._dimension = dimension
        self._processes = processes
        self._executor: ProcessPoolExecutor | None = None

    def run(self, batches: Iterable[Batch]) -> Iterator[tuple[Rows, Vectors]]:
        """The vectors of each batch, in the order in which they get ready."""
        executor = self._executor = self._executor or self._started()
        threads = max(1, torch.get_num_threads() // self._processes)
        waiting: dict[Future[Vectors], Rows] = {}
        try:
            for batch in batches:
                model = (self._model, self._precision, threads)
                with _no_interruption():
                    future = executor.submit(_encode, model, batch.features, self._dimension)
                waiting[future] = batch.rows
                if len(waiting) >= AHEAD * self._processes:
                    yield from _ready(waiting)
            while waiting:
                yield from _ready(waiting)
        except BrokenProcessPool as error:
            self._executor = None
            _let_end(executor)
            raise UserError(
                f"One of the {self._processes} encoding processes died, perhaps out of memory: "
                "run the command again, or with fewer processes."
            ) from error
        finally:
            for future in waiting:
                future.cancel()

    def _started(self) -> ProcessPoolExecutor:
        # Forked, they would inherit locks that torch's threads hold.
        executor = ProcessPoolExecutor(
            self._processes, mp_context=get_context("spawn"), initializer=_follow_the_parent
        )
        # Left to the interpreter's end, an executor finds parts of the library gone.
        weakref.finalize(self, executor.shutdown, cancel_futures=True)
        return executor


def _let_end(executor: ProcessPoolExecutor) -> None:
    """Before Python 3.11.5, as in Debian 12, an executor whose process died while a batch was being
    written for it never ends: this end of the pipe stays open, so the writing waits for a reader
    (https://github.com/python/cpython/issues/94777)."""
    queue: Any = executor._call_queue  # type: ignore[attr-defined]
    if sys.version_info < (3, 11, 5) and queue is not None:
        queue._reader.close()


def _ready(waiting: dict[Future[Vectors], Rows]) -> Iterator[tuple[Rows, Vectors]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


def _encode(model: tuple[str, str, int], features: Mapping[str, Any], dimension: int) -> Vectors:
    return forward(_loaded(*model), features, dimension)


@cache
def _loaded(name: str, precision: str, threads: int) -> SentenceTransformer:
    torch.set_num_threads(threads)
    model, _ = load_model(name, "cpu")
    return model.to(TYPES[precision])


@contextmanager
def _no_interruption() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal, but those that start here hold it back for good:
    their parent decides, and takes them along."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_the_parent() -> None:
    parent = parent_process()
    assert parent is not None
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
