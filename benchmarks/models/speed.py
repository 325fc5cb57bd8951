"""Training and scoring of ours beside a plain script (`plain`), in alternating rounds.

Real questions, MiniLM, the same data, batches and lengths. A training counts from the loaded
libraries to the trained model: loading, one epoch, its evaluation and checkpoint. The ratio is
ours over the plain script in samples a second, of the medians; the target is 0.9. Both train a
model of their own each round, from the same base; both score with the same trained weights.
"""

import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder, SentenceTransformer

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks import folders
from benchmarks.models import plain
from benchmarks.models.data import pairs_to_learn
from benchmarks.quality.tasks import MINILM
from benchmarks.retrieval.encoding import alternating
from retrieval.encoders.bundled import bundled_folder
from retrieval.encoders.cross_encoder.load import load_selector
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.score_candidates import score_with_encoder
from retrieval.ranking.records import CandidateRecord, QueryRecord
from retrieval.training.loop.fit import Plan, fit
from retrieval.training.loop.setup import save, setup_of
from retrieval.training.recipes.recipe import Recipe, Settings, parse_recipe

TARGET = 0.9
LENGTH = 64  # tokens
BATCH = 16
RATE = 2e-5
WARMUP = 0.1
RECIPES = {
    "a selector": {"kind": "selector"},
    "a retriever": {"kind": "retriever", "loss": "online-contrastive"},
    "a retriever by the ranking loss": {"kind": "retriever", "loss": "multiple-negatives-ranking"},
}

Rows = Sequence[tuple[str, str, int]]
Pairs = Sequence[tuple[str, str]]
Scoring = Callable[[Pairs], list[float]]
Way = Callable[[], Any]


@dataclass(frozen=True)
class Scale:
    trained: int = 512  # rows to learn from
    dev: int = 64
    scored: int = 1_024
    selected: int = 500  # candidates of one question
    rounds: int = 3
    base: str = MINILM


SMALL = Scale(trained=32, scored=64, rounds=1)


def run(size: str, *, device: str, model: str = MINILM) -> dict[str, Any]:
    scale = replace(SMALL if size == "small" else Scale(), base=model)
    return measured(folders.fresh("speed"), device, scale)


def measured(folder: Path, device: str, scale: Scale) -> dict[str, Any]:
    rows, rounds = list(pairs_to_learn()), scale.rounds
    bench = Bench(rows, scale, folder, device)
    ways = {
        f"training {what}": compared(bench.trainings(recipe), scale.trained, rounds)
        for what, report in RECIPES.items()
        for recipe in [parse_recipe({"form": "QQ", "base": scale.base, **report})]
    }
    pairs = [(query, question) for query, question, _ in rows[: scale.scored]]
    for kind, scorings in (("selector", bench.selector()), ("retriever", bench.retriever())):
        ours, other = (partial(way, pairs) for way in scorings)
        report = compared({"ours": ours, "plain": other}, scale.scored, rounds)
        apart = np.abs(np.subtract(ours(), other())).max()
        ways[f"scoring by a {kind}"] = report | {"largest_difference": float(apart)}
    return {
        "model": scale.base,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "rounds": rounds,
        "batch_size": BATCH,
        "max_length": LENGTH,
        "target_ratio": TARGET,
        "ways": ways,
        "load_average": os.getloadavg(),
    }


def compared(ways: dict[str, Way], samples: int, rounds: int) -> dict[str, Any]:
    for way in ways.values():
        way()  # warm: what is loaded once falls on neither
    wall, _ = alternating(ways, rounds)
    rates = {name: samples / median(seconds) for name, seconds in wall.items()}
    return {
        "samples": samples,
        "seconds": {name: [round(one, 3) for one in found] for name, found in wall.items()},
        "samples_per_second": {name: round(rate, 1) for name, rate in rates.items()},
        "ratio": round(rates["ours"] / rates["plain"], 3),
    }


def in_words(found: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{name}: ours {one['samples_per_second']['ours']:,} samples/s, "
        f"plain {one['samples_per_second']['plain']:,}, ratio {one['ratio']}"
        for name, one in found["ways"].items()
    )


class Bench:
    """Both learn the same rows, and score by the same weights."""

    def __init__(self, rows: Rows, scale: Scale, folder: Path, device: str) -> None:
        trained, read = scale.trained, scale.trained + scale.dev
        self._labelled = _examples(_labelled(rows[:read]), trained)
        same = [row for row in rows if row[2]]
        self._positive = _examples(_positive(same[:read]), trained)
        self._name = scale.base
        self._folder = folder
        self._device = device
        self._base = str(bundled_folder(scale.base) or scale.base)

    def trainings(self, recipe: Recipe) -> dict[str, Way]:
        is_selector = recipe.kind == "selector"
        train = plain.train_cross_encoder if is_selector else plain.train_bi_encoder

        def other() -> Any:
            rows = self._examples(recipe)
            return train(self._base, *rows, self._settings(rows[0]), LENGTH, self._device)

        return {"ours": partial(self._fitted, recipe), "plain": other}

    def selector(self) -> tuple[Scoring, Scoring]:
        """Both from a folder that a training of ours left."""
        recipe = parse_recipe({"kind": "selector", "form": "QQ", "base": self._name})
        folder = self._folder / "selector"
        shutil.rmtree(folder, ignore_errors=True)
        save(recipe, self._fitted(recipe), folder)
        ours = load_selector(folder, self._device)
        other = CrossEncoder(str(folder), max_length=LENGTH, device=self._device)
        return (
            lambda pairs: ours.score_all([(query, question, "") for query, question in pairs]),
            lambda pairs: plain.score_by_cross_encoder(other, pairs),
        )

    def retriever(self) -> tuple[Scoring, Scoring]:
        """Both the base itself."""
        ours = load_encoder(self._name, self._device)
        other = SentenceTransformer(self._base, device=self._device)

        def scored(pairs: Pairs) -> list[float]:
            records = [_record(number, *pair) for number, pair in enumerate(pairs)]
            found = score_with_encoder(ours, "QQ", records)
            return [score for _, scores in found for _, score in scores]

        return scored, lambda pairs: plain.score_by_bi_encoder(other, pairs)

    def _fitted(self, recipe: Recipe) -> Any:
        place = self._fresh("ours")
        plan = self._plan(recipe)
        setup = setup_of(recipe, recipe.last, plan.settings, self._name, self._device)
        [name] = setup.make_losses
        train, dev = self._examples(recipe)
        return fit(setup, {name: train}, {name: dev}, plan, place, order={}).model

    def _examples(self, recipe: Recipe) -> tuple[Dataset, Dataset]:
        return self._positive if recipe.last.tasks[0].is_ranked else self._labelled

    def _settings(self, train: Dataset) -> dict[str, Any]:
        steps = math.ceil(len(train) / BATCH)
        return plain.settings_of(
            self._fresh("plain"),
            rate=RATE,
            batch_size=BATCH,
            warmup=math.ceil(steps * WARMUP),
            device=self._device,
        )

    def _plan(self, recipe: Recipe) -> Plan:
        return Plan(
            settings=Settings(RATE, BATCH, LENGTH),
            epochs=1,
            patience=recipe.last.patience,
            warmup=WARMUP,
            precision="fp32",
            seed=1,
            device=self._device,
        )

    def _fresh(self, name: str) -> Path:
        shutil.rmtree(self._folder / name, ignore_errors=True)
        return self._folder / name


def _examples(rows: Dataset, trained: int) -> tuple[Dataset, Dataset]:
    """What is learned, and what tells when to stop."""
    return rows.select(range(trained)), rows.select(range(trained, len(rows)))


def _labelled(rows: Rows) -> Dataset:
    queries, candidates, labels = zip(*rows, strict=True)
    columns = {"query": queries, "candidate": candidates, "label": map(float, labels)}
    return Dataset.from_dict({name: list(column) for name, column in columns.items()})


def _positive(rows: Rows) -> Dataset:
    queries, candidates, _ = zip(*rows, strict=True)
    return Dataset.from_dict({"anchor": list(queries), "positive": list(candidates)})


def _record(number: int, query: str, question: str) -> QueryRecord:
    candidate = CandidateRecord(str(number), question, "", rank=1, score=None, label=0, yes=0, no=0)
    return QueryRecord(str(number), query, [candidate])
