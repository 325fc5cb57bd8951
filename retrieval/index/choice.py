"""Which index, and whether vectors lie in 32 or 16 bits: from the size, the memory and the recall.

Exact where that is affordable; a graph to some millions of pairs beyond it, inverted lists after
that. Pure, but for `free_memory`.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError

# Assumptions, the next three: nothing is measured when an index is chosen.
# What a lone question may wait for an exact search on the CPU, which reads every vector:
# numbers a second at 20 GB of float32 a second, a common bandwidth of a few cores.
QUERY_SECONDS = 0.5
NUMBERS_PER_SECOND = 5_000_000_000
# A graph of so many pairs is built in some hours on a few cores.
GRAPH_PAIRS = 10_000_000
# Of the free memory, that vectors or index may take; a search and the site need some too.
SHARE = 0.8
BYTES = {"float32": 4, "float16": 2}
KEY_BYTES = 48  # a pair's key with its place in the order, and its flag in a mask
LINK_BYTES = 280  # of a row in the graph: 64 links at the bottom and a few above it
ID_BYTES = 8
LEARNT_FROM = 500_000  # rows in float32 at most, while lists or ranges are learnt
MIB = 2**20
GIB = 2**30
GPU_WORKSPACE = 3 * GIB  # scores of a tile and what finds the best of them
ON_GPU = ("gpu", "ivf-gpu")

# Of a control group: its limit, what it takes, and of that, the cache of files.
FILES_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
FILES_V2 = ("memory.max", "memory.current", "inactive_file")


@dataclass(frozen=True)
class Choice:
    kind: str
    dtype: str
    parameters: Mapping[str, object]  # of VectorIndex.build
    reason: str  # one sentence


@dataclass(frozen=True)
class _Case:
    pairs: int
    dimension: int
    device: str
    memory_bytes: int
    gpu_bytes: int | None
    recall: float

    def vectors(self, dtype: str) -> int:
        return self.pairs * (self.dimension * BYTES[dtype] + KEY_BYTES)

    def needed(self, kind: str, dtype: str) -> int:
        """Bytes in memory while the index is built and searched; vectors that only re-scoring
        reads may stay on the disk."""
        if kind == "exact":
            return self.vectors(dtype)
        lists = self.dimension + ID_BYTES  # of ivf-gpu too: what the GPU holds is a copy
        own = {"hnsw": self.dimension + LINK_BYTES, "ivf": lists, "ivf-gpu": lists}
        learning = 4 * self.dimension * min(self.pairs, LEARNT_FROM) if kind in own else 0
        return self.pairs * (KEY_BYTES + own.get(kind, 0)) + learning

    def on_gpu(self, kind: str) -> int:
        """The exact index keeps half precision there, whatever the store does."""
        row = 2 * (self.dimension + 1) if kind == "gpu" else self.dimension + ID_BYTES
        return self.pairs * row + GPU_WORKSPACE

    def fits(self, kind: str, dtype: str) -> bool:
        if kind in ON_GPU and self.gpu_bytes is not None and self.on_gpu(kind) > self.gpu_bytes:
            return False
        return self.needed(kind, dtype) <= SHARE * self.memory_bytes

    def dtype(self, kind: str, dtypes: Sequence[str]) -> str:
        """The first that leaves room for all vectors beside the index, else the smallest."""
        beside = 0 if kind == "exact" else self.needed(kind, dtypes[0])
        for dtype in dtypes:
            if beside + self.vectors(dtype) <= SHARE * self.memory_bytes:
                return dtype
        return dtypes[-1]

    @property
    def seconds(self) -> float:
        """Of an exact search for one question on the CPU."""
        return self.pairs * self.dimension / NUMBERS_PER_SECOND

    @property
    def is_cuda(self) -> bool:
        return self.device.startswith("cuda")


def choose(
    *,
    pairs: int,
    dimension: int,
    device: str,
    memory_bytes: int,
    recall: float,
    wanted: str = "auto",
    dtype: str = "auto",
    gpu_bytes: int | None = None,
) -> Choice:
    """`gpu_bytes`: free on the GPU; None where nobody looked, the adapter then refuses itself.

    Raises UserError for what was asked for and cannot be had, and where nothing fits.
    """
    case = _Case(pairs, dimension, device, memory_bytes, gpu_bytes, recall)
    dtypes = tuple(BYTES) if dtype == "auto" else (dtype,)
    if wanted == "auto":
        return _chosen(case, dtypes)
    if wanted in ON_GPU and not case.is_cuda:
        raise UserError(
            f"An index of the kind {wanted} needs CUDA, and the device is {device}: choose another "
            "kind, or run on a machine with a GPU."
        )
    return _choice(case, wanted, dtypes, "asked for")


def _chosen(case: _Case, dtypes: Sequence[str]) -> Choice:
    if case.is_cuda and case.fits("gpu", case.dtype("gpu", dtypes)):
        return _choice(case, "gpu", dtypes, "exact, and the vectors fit on the GPU")
    took = f"an exact search takes {_duration(case.seconds)} per question"
    if case.recall >= 1:
        return _choice(case, "exact", dtypes, "only an exact index has a recall of 1")
    if case.seconds <= QUERY_SECONDS and case.fits("exact", case.dtype("exact", dtypes)):
        return _choice(case, "exact", dtypes, took)
    slow = took if case.seconds > QUERY_SECONDS else "the vectors do not fit for an exact search"
    if case.pairs <= GRAPH_PAIRS and case.fits("hnsw", case.dtype("hnsw", dtypes)):
        return _choice(case, "hnsw", dtypes, f"{slow}, recall {case.recall:g} is enough")
    return _choice(case, "ivf", dtypes, f"{slow}, recall {case.recall:g} is enough")


def _choice(case: _Case, kind: str, dtypes: Sequence[str], why: str) -> Choice:
    """Refused where it does not fit."""
    dtype = case.dtype(kind, dtypes)
    size = (
        f"{case.pairs:,} pairs of {case.dimension} numbers in {dtype}: the index {kind} takes "
        f"{_size(case.needed(kind, dtype))} of the {_size(case.memory_bytes)} free"
    )
    if kind in ON_GPU:
        size += f" and {_size(case.on_gpu(kind))} on the GPU"
    if not case.fits(kind, dtype):
        raise UserError(
            f"{size}, which does not fit with a margin: use a machine with more memory, "
            "another kind of index (ivf is the smallest here, pgvector and milvus are stored in an "
            "engine of their own), or --store float16."
        )
    parameters: dict[str, object] = {}
    if kind in ("hnsw", "ivf", "ivf-gpu", "pgvector", "milvus"):
        parameters["recall"] = case.recall
    elif kind == "gpu":
        parameters["device"] = case.device
    return Choice(kind, dtype, parameters, f"{size}; {why}.")


def _size(size: int) -> str:
    if size >= GIB:
        return f"{size / GIB:.1f} GiB"
    return f"{size / MIB:.0f} MiB" if size >= MIB else "less than 1 MiB"


def _duration(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 0.001 else "under a millisecond"


def free_memory(root: Path = Path("/")) -> int:
    """Bytes that this process may still take: of the machine, and of the control groups it is in.

    What is cached of files counts as free. `root` is where /proc and /sys lie.
    """
    return min([_free_on_machine(root), *_free_in_groups(root)])


def _free_on_machine(root: Path) -> int:
    path = root / "proc/meminfo"
    if path.is_file() and (match := re.search(r"MemAvailable:\s+(\d+) kB", path.read_text())):
        return int(match[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # not on Linux


def _free_in_groups(root: Path) -> Iterator[int]:
    """Of the process's group and those around it; in a container its own is the outermost."""
    path = root / "proc/self/cgroup"
    for line in path.read_text().splitlines() if path.is_file() else []:
        _, controllers, group = line.split(":", 2)
        if controllers == "memory":
            base, files = root / "sys/fs/cgroup/memory", FILES_V1
        elif not controllers:
            base, files = root / "sys/fs/cgroup", FILES_V2
        else:
            continue
        inner = base / group.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(base):
                yield from _free_in(folder, *files)


def _free_in(folder: Path, limit: str, usage: str, cached: str) -> Iterator[int]:
    if not (folder / limit).is_file():
        return
    most = (folder / limit).read_text().strip()
    if most == "max":
        return
    match = re.search(rf"^{cached} (\d+)", (folder / "memory.stat").read_text(), re.MULTILINE)
    taken = int((folder / usage).read_text()) - int(match[1] if match else 0)
    yield max(0, int(most) - taken)
