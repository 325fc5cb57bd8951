import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from retrieval.index.choice import BYTES, GIB, SHARE, choose, free_memory
from retrieval.index.lazy import index_class
from retrieval.models import IndexKind

PAPER = 6_300_000


def chosen(
    pairs: int, memory: float, *, dimension: int = 384, device: str = "cpu", **other: Any
) -> tuple[str, str]:
    options = {"recall": 0.99, **other}
    choice = choose(
        pairs=pairs,
        dimension=dimension,
        device=device,
        memory_bytes=int(memory * GIB),
        **options,
    )
    return choice.kind, choice.dtype


# 6.3M x 384 are 9.01 GiB in float32, 4.51 in float16, and 0.28 for their keys.
@pytest.mark.parametrize(
    ("pairs", "dimension", "gib", "expected"),
    [
        (1, 384, 1, ("exact", "float32")),
        (177_281, 384, 1, ("exact", "float32")),
        (PAPER, 384, 12, ("exact", "float32")),
        (PAPER, 384, 11, ("exact", "float16")),
        (PAPER, 384, 6, ("exact", "float16")),
        (PAPER, 384, 5.9, ("ivf", "float16")),  # a graph takes 4.9 GiB, lists 3.3
        (PAPER, 768, 64, ("hnsw", "float32")),  # an exact search takes a second
        (PAPER, 768, 24, ("hnsw", "float16")),
        (PAPER, 768, 8.5, ("ivf", "float16")),
        (8_000_000, 384, 64, ("hnsw", "float32")),
        (20_000_000, 384, 64, ("ivf", "float32")),
        (20_000_000, 384, 16, ("ivf", "float16")),
    ],
)
def test_on_a_cpu(pairs: int, dimension: int, gib: float, expected: tuple[str, str]) -> None:
    assert chosen(pairs, gib, dimension=dimension) == expected


@pytest.mark.parametrize(
    ("pairs", "gib", "gpu_gib", "expected"),
    [
        (PAPER, 64, 80, ("gpu", "float32")),
        (PAPER, 8, 80, ("gpu", "float16")),
        (PAPER, 64, 7.6, ("gpu", "float32")),  # 4.52 GiB of vectors and 3 to work in
        (PAPER, 64, 7.4, ("exact", "float32")),
        (20_000_000, 64, 16, ("ivf", "float32")),
        (177_281, 1, None, ("gpu", "float32")),
    ],
)
def test_on_a_gpu(pairs: int, gib: float, gpu_gib: float | None, expected: tuple[str, str]) -> None:
    free = None if gpu_gib is None else int(gpu_gib * GIB)
    assert chosen(pairs, gib, device="cuda:0", gpu_bytes=free) == expected


def test_a_recall_of_one_is_promised_by_exact_search_alone() -> None:
    assert chosen(20_000_000, 64, recall=1.0) == ("exact", "float32")
    with pytest.raises(UserError, match=r"index exact takes 15\.2 GiB of the 16\.0 GiB free"):
        chosen(20_000_000, 16, recall=1.0)


@pytest.mark.parametrize("kind", ["exact", "hnsw", "ivf", "pgvector", "milvus"])
def test_what_is_asked_for_is_taken(kind: str) -> None:
    assert chosen(10_000, 4, wanted=kind) == (kind, "float32")
    assert chosen(10_000, 4, wanted=kind, dtype="float16") == (kind, "float16")
    assert chosen(10_000, 4, wanted=kind, device="cuda") == (kind, "float32")


def test_lists_on_a_gpu_take_half_of_what_half_precision_takes_there() -> None:
    """9.1 GiB and 4.6, and 3 to work in."""
    large = {"dimension": 768, "device": "cuda"}
    for kind, gib in (("gpu", 12.1), ("ivf-gpu", 7.6)):
        fits, not_quite = int(gib * GIB), int((gib - 0.1) * GIB)
        assert chosen(PAPER, 64, wanted=kind, gpu_bytes=fits, **large) == (kind, "float32")
        with pytest.raises(UserError, match="on the GPU, which does not fit"):
            chosen(PAPER, 64, wanted=kind, gpu_bytes=not_quite, **large)
    choice = choose(
        pairs=9, dimension=3, device="cuda", memory_bytes=GIB, recall=0.9, wanted="ivf-gpu"
    )
    assert choice.parameters == {"recall": 0.9}


def test_what_cannot_be_had_is_refused_in_a_sentence() -> None:
    for kind in ("gpu", "ivf-gpu"):
        with pytest.raises(UserError, match=f"{kind} needs CUDA, and the device is cpu"):
            chosen(1000, 4, wanted=kind)
    with pytest.raises(UserError, match=r"6,300,000 pairs .* float32: the index exact takes 9\.3"):
        chosen(PAPER, 8, wanted="exact", dtype="float32")
    with pytest.raises(UserError, match=r"3\.3 GiB of the 1\.0 GiB free, which does not fit"):
        chosen(PAPER, 1)
    with pytest.raises(UserError, match=r"and 7\.5 GiB on the GPU, which does not fit"):
        chosen(PAPER, 64, wanted="gpu", device="cuda", gpu_bytes=GIB)


def test_the_reason_holds_the_numbers() -> None:
    choice = choose(pairs=PAPER, dimension=768, device="cpu", memory_bytes=24 * GIB, recall=0.99)
    assert choice.reason == (
        "6,300,000 pairs of 768 numbers in float16: the index hnsw takes 7.9 GiB of the 24.0 GiB "
        "free; an exact search takes 0.97 s per question, recall 0.99 is enough."
    )
    assert choice.parameters == {"recall": 0.99}
    choice = choose(pairs=PAPER, dimension=384, device="cuda", memory_bytes=12 * GIB, recall=0.99)
    assert choice.reason == (
        "6,300,000 pairs of 384 numbers in float32: the index gpu takes 288 MiB of the 12.0 GiB "
        "free and 7.5 GiB on the GPU; exact, and the vectors fit on the GPU."
    )


@pytest.mark.parametrize(
    ("pairs", "memory", "sizes", "time"),
    [
        (100, GIB, "less than 1 MiB of the 1.0 GiB free", "under a millisecond"),
        (1_000, 900 * 2**20, "2 MiB of the 900 MiB free", "under a millisecond"),
        (20_000, GIB, "30 MiB of the 1.0 GiB free", "0.0015 s"),
    ],
)
def test_the_reason_of_a_small_set_has_numbers_to_read(
    pairs: int, memory: int, sizes: str, time: str
) -> None:
    choice = choose(pairs=pairs, dimension=384, device="cpu", memory_bytes=memory, recall=0.99)
    assert choice.reason == (
        f"{pairs:,} pairs of 384 numbers in float32: the index exact takes {sizes}; an exact "
        f"search takes {time} per question."
    )


@given(
    pairs=st.integers(1, 10**8),
    dimension=st.integers(1, 4096),
    memory_bytes=st.integers(0, 2**40),
    device=st.sampled_from(["cpu", "cuda", "cuda:1"]),
    gpu_bytes=st.none() | st.integers(0, 2**38),
    recall=st.floats(0, 1),
    wanted=st.sampled_from(["auto", *IndexKind.values]),
    dtype=st.sampled_from(["auto", *BYTES]),
)
def test_it_never_chooses_what_does_not_fit_or_was_not_asked_for(**case: Any) -> None:
    try:
        choice = choose(**case)
    except UserError:
        return
    pairs, dimension = case["pairs"], case["dimension"]
    least = {
        "exact": pairs * dimension * BYTES[choice.dtype],
        "hnsw": pairs * (dimension + 2 * 32 * 4),  # codes and links
        "ivf": pairs * (dimension + 8),
        "ivf-gpu": pairs * (dimension + 8),
    }
    assert least.get(choice.kind, 0) + 32 * pairs <= SHARE * case["memory_bytes"]
    if choice.kind in ("gpu", "ivf-gpu"):
        assert case["device"] != "cpu"
        row = 2 * dimension if choice.kind == "gpu" else dimension
        assert pairs * row <= (case["gpu_bytes"] or 2**63)
    assert choice.kind == case["wanted"] or case["wanted"] == "auto"
    assert choice.dtype == case["dtype"] or case["dtype"] == "auto"
    assert choice.reason.endswith(".")


@pytest.mark.parametrize("kind", IndexKind)
def test_each_kind_has_an_adapter_of_its_name(kind: IndexKind) -> None:
    assert index_class(kind).kind == kind


def test_choosing_loads_neither_faiss_nor_torch() -> None:
    code = (
        "import sys; import retrieval.index.choice; "
        "assert not {'faiss', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def machine(root: Path, available_kb: int, groups: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(
        f"MemTotal: 99999 kB\nMemFree: 5 kB\nMemAvailable:   {available_kb} kB\n"
    )
    (root / "proc/self/cgroup").write_text(groups)
    return root


def group(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def test_without_a_limit_what_the_machine_has_is_free(tmp_path: Path) -> None:
    root = machine(tmp_path, 2000, "0::/\n")
    assert free_memory(root) == 2000 * 1024
    group(root / "sys/fs/cgroup", {"memory.max": "max\n", "memory.current": "7\n"})
    assert free_memory(root) == 2000 * 1024


def test_a_limit_around_the_process_counts_and_cached_files_do_not(tmp_path: Path) -> None:
    root = machine(tmp_path, 2000, "0::/outer/inner\n")
    base = root / "sys/fs/cgroup"
    group(base / "outer/inner", {"memory.max": "max\n"})
    group(
        base / "outer",
        {
            "memory.max": "1000000\n",
            "memory.current": "900000\n",
            "memory.stat": "anon 300000\ninactive_file 500000\n",
        },
    )
    assert free_memory(root) == 600_000


def test_a_limit_of_the_older_kind_counts_too(tmp_path: Path) -> None:
    root = machine(tmp_path, 2000, "5:cpu:/\n4:memory:/box\n0::/\n")
    group(
        root / "sys/fs/cgroup/memory/box",
        {
            "memory.limit_in_bytes": "1000000\n",
            "memory.usage_in_bytes": "1100000\n",
            "memory.stat": "inactive_file 9\ntotal_inactive_file 300000\n",
        },
    )
    assert free_memory(root) == 200_000
    (root / "sys/fs/cgroup/memory/box/memory.usage_in_bytes").write_text("9000000")
    assert free_memory(root) == 0


def test_in_a_container_its_group_is_at_the_root(tmp_path: Path) -> None:
    root = machine(tmp_path, 2000, "4:memory:/docker/abc\n")
    files = {"memory.limit_in_bytes": "500000", "memory.usage_in_bytes": "100000"}
    group(root / "sys/fs/cgroup/memory", {**files, "memory.stat": ""})
    assert free_memory(root) == 400_000


def test_elsewhere_than_on_linux_the_whole_memory_is_free(tmp_path: Path) -> None:
    assert free_memory(tmp_path) >= GIB
    assert 0 < free_memory() <= free_memory(tmp_path)
