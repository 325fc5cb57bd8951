"""Encoding real questions and pairs beside what one would write with the library alone.

The ways take turns, so that a machine's other work falls on all of them. Each is told with the
share of its tokens that is padding and the arithmetic done a second on real tokens, beside the
best of large matrix products here. "bare" is the model's forward pass over our batches, made
beforehand: what nothing could be faster than.
"""

import argparse
import gzip
import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import folders
from benchmarks.quality.tasks import MINILM
from retrieval.encoders import encoder as ours
from retrieval.encoders.forward import TYPES, forward
from retrieval.encoders.loading import load_model
from retrieval.encoders.process_pool import usual_processes
from retrieval.encoders.tokens import Inputs, token_batches, tokenised
from retrieval.vectors.types import Vectors

SEED = 1
BATCH = 64
SIZES = {"small": (96, 1), "full": (2_048, 5)}  # texts of each kind, rounds
PRODUCT = {"cpu": 2_048, "cuda": 8_192}  # rows of a square matrix
COMPARED = 256  # texts whose vectors are compared with those of fp32 on the CPU

Way = Callable[[], Vectors]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.retrieval.encoding", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    parser.add_argument("--model", default=MINILM)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--precision", default="fp32", choices=list(TYPES))
    parser.add_argument("--texts", type=int)
    parser.add_argument("--rounds", type=int)
    options = vars(parser.parse_args())
    if paths := folders.missing([folders.PAIRS]):
        print(f"{paths[0]} is not here: this benchmark needs the real pairs.", file=sys.stderr)
        return 2
    size = "small" if options.pop("small") else "full"
    print(json.dumps(run(size, **options), indent=2))
    return 0


def run(
    size: str,
    *,
    model: str = MINILM,
    device: str = "cpu",
    precision: str = "fp32",
    texts: int | None = None,
    rounds: int | None = None,
    square: int | None = None,
) -> dict[str, Any]:
    usual_texts, usual_rounds = SIZES[size]
    pairs = sample(texts or usual_texts)
    subject = Subject(model, device, precision)
    peak = matrix_peak(device, precision, square or PRODUCT[device])
    kinds: dict[str, Inputs] = {"questions": [question for question, _ in pairs], "pairs": pairs}
    return {
        "model": model,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "precision": precision,
        "threads": torch.get_num_threads(),
        "rounds": rounds or usual_rounds,
        "matrix_product_gflops": round(peak / 1e9, 1),
        **{
            kind: subject.compared(inputs, rounds or usual_rounds, peak)
            for kind, inputs in kinds.items()
        },
        "load_average": os.getloadavg(),
    }


def sample(texts: int) -> list[tuple[str, str]]:
    with gzip.open(folders.DATA / folders.PAIRS, "rt") as lines:
        found = [json.loads(line) for line in lines]
    drawn = random.Random(SEED).sample(found, texts)
    return [(row["question"], row["answer"]) for row in drawn]


class Subject:
    """A model, encoding in every way."""

    def __init__(self, name: str, device: str, precision: str) -> None:
        self._model, _ = load_model(name, device)
        self._model.to(TYPES[precision])
        self._device = device
        self._on_cpu = ours.load_encoder(name, "cpu")
        self._encoders = {"ours": ours.load_encoder(name, device, precision=precision)}
        if (processes := usual_processes(device)) > 1:
            # A sample as small as this would be done before they have started.
            ours.POOL_TEXTS = 1
            self._encoders[f"ours_{processes}_processes"] = ours.load_encoder(
                name, device, precision=precision, processes=processes
            )

    def compared(self, inputs: Inputs, rounds: int, peak: float) -> dict[str, Any]:
        ways, batches = self._ways(inputs)
        vectors = {name: way() for name, way in ways.items()}  # warm, and to be compared
        wall, cpu = alternating(ways, rounds)
        lengths = tokenised(self._model, inputs).lengths
        padded = dict.fromkeys(ways, sum(one.features["input_ids"].size for one in batches))
        padded["plain_loop"] = in_chunks(lengths)
        padded["one_call"] = in_chunks(lengths[by_characters(inputs)])
        tokens, work = int(lengths.sum()), self._operations(lengths)
        found = {
            name: {
                "seconds": round(seconds := median(wall[name]), 3),
                "cpu_seconds": round(median(cpu[name]), 3),
                "texts_per_second": round(len(inputs) / seconds, 1),
                "tokens_per_second": round(tokens / seconds),
                "padding_share": round(1 - tokens / padded[name], 4),
                "gflops": round(work / seconds / 1e9, 1),
                "share_of_matrix_product": round(work / seconds / peak, 3),
                "largest_difference": float(np.abs(way - vectors["plain_loop"]).max()),
            }
            for name, way in vectors.items()
        }
        share = median(wall["bare"]) / median(wall["ours"])
        texts = {"texts": len(inputs), "tokens": tokens}
        some: list[Any] = list(inputs[:COMPARED])
        apart = np.abs(np.subtract(vectors["ours"][:COMPARED], self._on_cpu.encode_pairs(some)))
        return texts | {
            "ways": found,
            "ours_of_bare": round(share, 3),
            "largest_difference_from_fp32_on_cpu": float(apart.max()),
        }

    def _ways(self, inputs: Inputs) -> tuple[dict[str, Way], list[Any]]:
        texts = list(inputs)
        dimension = int(self._model.get_embedding_dimension() or 0)
        batches = list(token_batches(self._model, inputs, ours.BUDGETS[self._device]))

        def plain(some: list[Any]) -> Vectors:
            found: Vectors = self._model.encode(
                some, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
            )
            return found

        def loop() -> Vectors:
            parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
            return np.concatenate([plain(part) for part in parts])

        def bare() -> Vectors:
            vectors = np.empty((len(texts), dimension), np.float32)
            for batch in batches:
                vectors[batch.rows] = forward(self._model, batch.features, dimension)
            return vectors

        ways: dict[str, Way] = {"plain_loop": loop, "one_call": lambda: plain(texts), "bare": bare}
        for name, encoder in self._encoders.items():
            ways[name] = lambda encoder=encoder: encoder.encode_pairs(texts)  # type: ignore[misc]
        return ways, batches

    def _operations(self, lengths: NDArray[np.int64]) -> float:
        """Multiplications and additions for these texts: of the layers, and of the attention."""
        weights = sum(
            module.weight.numel()
            for name, module in self._model.named_modules()
            if isinstance(module, torch.nn.Linear) and "pooler" not in name
        )
        config: Any = self._model.config
        attention = 4.0 * config.hidden_size * config.num_hidden_layers
        squares = (lengths.astype(np.float64) ** 2).sum()
        return float(2.0 * weights * lengths.sum() + attention * squares)


def alternating(
    ways: dict[str, Way], rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Wall seconds, and this process's seconds on a CPU, of each way in each round."""
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        names = list(ways) if number % 2 == 0 else list(reversed(ways))
        for name in names:
            began, used = time.perf_counter(), cpu_seconds()
            ways[name]()
            wall[name].append(time.perf_counter() - began)
            cpu[name].append(cpu_seconds() - used)
    return wall, cpu


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_chunks(lengths: NDArray[np.int64]) -> int:
    """Tokens with padding, where every so many texts are a batch."""
    parts = [lengths[start : start + BATCH] for start in range(0, len(lengths), BATCH)]
    return sum(part.size * int(part.max()) for part in parts)


def by_characters(inputs: Inputs) -> NDArray[np.int64]:
    """The order in which the library sorts a call's texts."""
    lengths = [len(one) if isinstance(one, str) else len("".join(one)) for one in inputs]
    return np.argsort([-length for length in lengths])


def matrix_peak(device: str, precision: str, rows: int) -> float:
    """Operations a second of the best of ten large products."""
    left = torch.randn(rows, rows, device=device, dtype=TYPES[precision])
    best = float("inf")
    for _ in range(10):
        began = time.perf_counter()
        product = left @ left
        if product.is_cuda:
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return 2.0 * rows**3 / best


if __name__ == "__main__":
    sys.exit(main())
