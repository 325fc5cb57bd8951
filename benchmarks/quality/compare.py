"""Whether a known duplicate is found, in growing corpora (as QBERT's Figure 2b), by each retriever.

The corpora are nested and hold every known duplicate. Encodings are kept in var/bench/quality, so
that a killed run goes on. Intervals: 95 %, by bootstrap over the queries.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import folders
from benchmarks.main_job import machine
from benchmarks.quality.plot import draw, line, table
from benchmarks.quality.search import DEPTH, Rows, Search, dense, hybrid, lexical
from benchmarks.quality.tasks import MINILM, SEED, TASKS, Task, missing
from demo.processes import ROOT

MPNET = folders.WORK / "all-mpnet-base-v2"  # no package has it: put it there
CUTS = (1, 3, 5, DEPTH)
RESAMPLES = 2000


@dataclass(frozen=True)
class Options:
    sizes: tuple[int, ...] = (5_000, 20_000, 60_000, 150_000)
    queries: int = 1000
    # With the answers a CPU encodes some 50 pairs a second, with MPNet as many questions.
    qqa_pairs: int = 150_000
    model: str = MINILM
    mpnet: str | None = str(MPNET) if MPNET.is_dir() else None
    mpnet_pairs: int = 20_000
    device: str = "auto"


SMALL = Options(sizes=(1_000, 2_000), queries=100, qqa_pairs=1_000, mpnet=None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.quality.compare", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    parser.add_argument("--sizes", type=int, nargs="+", default=Options.sizes)
    parser.add_argument("--queries", type=int, default=Options.queries, help="of each task")
    parser.add_argument("--qqa-pairs", type=int, default=Options.qqa_pairs)
    parser.add_argument(
        "--mpnet", metavar="FOLDER", default=Options.mpnet, help="with all-mpnet-base-v2"
    )
    parser.add_argument("--mpnet-pairs", type=int, default=Options.mpnet_pairs)
    parser.add_argument("--device", default=Options.device)
    values = vars(parser.parse_args())
    if paths := missing():
        print(f"{paths[0]} is not here: this benchmark needs the real pairs.", file=sys.stderr)
        return 2
    if values.pop("small"):
        print(json.dumps(run("small")))
        return 0
    options = Options(**values | {"sizes": tuple(values["sizes"])})
    keep({"machine": machine(), **measure(options)})
    return 0


def run(size: str) -> dict[str, Any]:
    if size == "small":
        return measure(SMALL)
    results = measure(Options())
    draw(results["measured"], folders.RESULTS / "quality.svg")
    return results


def keep(results: dict[str, Any]) -> None:
    draw(results["measured"], folders.RESULTS / "quality.svg")
    print(table(results["measured"]))
    folders.keep("retrieval_quality", results)


def measure(options: Options) -> dict[str, Any]:
    measured: list[dict[str, Any]] = []
    for make in TASKS.values():
        task = make(options.queries)
        for retriever, search, most in retrievers(task, options):
            for size in (size for size in options.sizes if size <= most):
                measured.append(scored(task, retriever, size, search(size)))
                print(line(measured[-1]), file=sys.stderr, flush=True)
    folder = MPNET.relative_to(ROOT)
    left_out = [] if options.mpnet else [f"MPNet: it is not in {folder}, nor named by --mpnet"]
    return {
        "options": asdict(options) | {"mpnet": options.mpnet and Path(options.mpnet).name},
        "load_average": os.getloadavg(),
        "left_out": left_out,
        "measured": measured,
    }


def retrievers(task: Task, options: Options) -> Iterator[tuple[str, Search, int]]:
    """Name, search, and the largest corpus that is encoded for it."""
    every = len(task.corpus)
    words = lexical(task, with_answers=False)
    alone = dense(task, "QQ", options.model, options.device)
    yield "BM25 QQ", words, every
    yield "MiniLM QQ", alone, every
    yield "hybrid QQ", hybrid(alone, words), every
    if task.has_answers:
        texts = lexical(task, with_answers=True)
        together = dense(task, "QQA", options.model, options.device)
        yield "BM25 QQA", texts, every
        yield "MiniLM QQA", together, options.qqa_pairs
        yield "hybrid QQA", hybrid(together, texts), options.qqa_pairs
    if options.mpnet:
        mpnet = dense(task, "QQ", options.mpnet, options.device)
        yield "MPNet QQ", mpnet, options.mpnet_pairs


def scored(task: Task, retriever: str, size: int, found: Rows) -> dict[str, Any]:
    """By the cut: of the known duplicates the share found, and of the queries that with one."""
    hits = [
        np.isin(rows, list(known)).cumsum() for rows, known in zip(found, task.known, strict=True)
    ]
    sizes = np.array([len(known) for known in task.known])
    counts = np.array(hits)[:, [cut - 1 for cut in CUTS]]  # queries x cuts
    return {
        "task": task.name,
        "retriever": retriever,
        "pairs": size,
        "queries": len(task.queries),
        "known": int(sizes.sum()),
        "recall": intervals(counts / sizes[:, None]),
        "accuracy": intervals((counts > 0).astype(float)),
    }


def intervals(values: np.ndarray[Any, Any]) -> dict[int, list[float]]:
    """Mean, low and high of each column, by its cut."""
    drawn = np.random.default_rng(SEED).integers(len(values), size=(RESAMPLES, len(values)))
    weights = np.stack([np.bincount(one, minlength=len(values)) for one in drawn]) / len(values)
    means = weights @ values
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    columns = zip(CUTS, values.mean(axis=0), low, high, strict=True)
    return {cut: [round(float(figure), 4) for figure in figures] for cut, *figures in columns}


if __name__ == "__main__":
    sys.exit(main())
