"""The systems that `make bench-models` trains and compares, each on one of its releases.

All is done by the commands that a user has: import, export, train, score, compare. A killed run
goes on: a release, a model and a run that are there are not made again.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.models.data import write_dataset, write_pairs
from benchmarks.models.splits import Size
from demo.processes import ROOT, StackError
from demo.stack import LocalStack

SENTENCES = ("wikiqa", "trecqa")
WAYS = dict.fromkeys(SENTENCES, "clean")
ZERO = "zero-shot"
CONTRASTIVE = "online-contrastive"
SPLITS = ("test", "dev")


@dataclass(frozen=True)
class Trainings:
    """Of every model: what the recipe names beside kind, form and base."""

    seeds: tuple[int, ...] = (1, 2, 3)
    epochs: int = 2
    batch_size: int = 16
    max_length: int = 64
    rates: tuple[float, float] = (2e-5, 5e-5)  # of a retriever and of a selector
    paper: bool = False  # the paper's grid of all of these, and ten epochs

    def recipe(self, kind: str, form: str, base: str, loss: str | None) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": kind, "form": form, "base": base}
        if loss:
            made["loss"] = loss
        if kind == "retriever" and loss != CONTRASTIVE:
            made["hard_negatives"] = 3
        made |= {"seeds": list(self.seeds), "precision": "bf16"}
        if self.paper:
            return made
        return made | {
            "learning_rate": self.rates[kind == "selector"],
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "max_length": self.max_length,
        }


@dataclass(frozen=True)
class System:
    """`kind`: zero-shot, retriever or selector."""

    kind: str
    form: str
    loss: str | None = None
    pairs: bool = False  # duplicate questions are learned first

    @property
    def words(self) -> str:
        first = " after pairs" if self.pairs else ""
        tuned = " tuned" if self.kind == "retriever" else f" {self.kind}"
        return f"{self.form}{tuned}{first}"


RETRIEVERS = (System("retriever", "QQ"), System("retriever", "QQA"))
SYSTEMS: dict[str, Sequence[System]] = {
    "answers": (
        System(ZERO, "QQ"),
        System(ZERO, "QQA"),
        *RETRIEVERS,
        *(System("selector", form) for form in ("QQ", "QA", "QQA", "QAQ")),
    ),
    "duplicates": (
        System(ZERO, "QQ"),
        System("retriever", "QQ"),
        System("retriever", "QQ", pairs=True),
        System("selector", "QQ", pairs=True),
    ),
    "quora": (
        System(ZERO, "QQ"),
        System("retriever", "QQ", CONTRASTIVE),
        System("selector", "QQ"),
    ),
    **dict.fromkeys(SENTENCES, (System(ZERO, "QQ"), System("selector", "QA"))),
}
MPNET = "MPNet"
# Its parts without the paper's grid: it takes eight times MiniLM's work, and these texts are short.
SHORT = ("quora",)
# A query has one candidate or few: its Hit@k tells nothing that a plot could show.
UNRANKED = ("quora",)


@dataclass(frozen=True)
class Place:
    """A data folder, and what is done in it. Paths are told from the project's folder."""

    stack: LocalStack
    size: Size
    trainings: Trainings
    device: str
    bases: dict[str, str]  # name in the tables -> as a recipe names it

    @property
    def folder(self) -> Path:
        return Path(os.path.relpath(self.stack.data, ROOT))

    def systems(self, part: str, base: str) -> Sequence[System]:
        if base == MPNET and part not in SHORT and not self.trainings.paper:
            return ()
        return SYSTEMS[part]

    def compared(self, part: str, plot: Path) -> dict[str, Any]:
        """What `quorum release compare` tells of all systems of the part."""
        release = self._release(part)
        entries = [
            (f"{name} {system.words}", *self._runs(part, release, system, name, base))
            for name, base in self.bases.items()
            for system in self.systems(part, name)
        ]
        words = ["bm25", *(f"{name}={','.join(runs)}" for name, runs, _ in entries)]
        for name, _, dev in entries:
            words += ["--dev-run", f"{name}={','.join(dev)}"]
        words += ["--release", str(release), "--way", WAYS.get(part, "qrc")]
        words += ["--against", entries[0][0]]
        words += [] if part in UNRANKED else ["--plot", str(plot)]
        words += [] if part in SENTENCES else ["--paper"]
        return self._result("release", "compare", *words)

    def _release(self, part: str) -> Path:
        """A release like any other: its labels came with an import."""
        folder = self.folder / "releases-made" / part
        if not (ROOT / folder / "manifest.json").is_file():
            data = self.folder / "datasets" / part
            counts = write_dataset(part, self.size, ROOT / data, self.device)
            (ROOT / data / "counts.json").write_text(json.dumps(counts))
            if not self.stack.result("campaign", "status", part):
                files = [data / f"{split}.jsonl" for split in counts]
                self.stack.quorum("campaign", "import", part, *files)
            self.stack.quorum("release", "build", part, "--out", folder)
        return folder

    def counts(self, part: str) -> dict[str, Any]:
        """Of each split; a release leaves out of train what is near a query of dev or test."""
        found = json.loads((self.stack.data / "datasets" / part / "counts.json").read_text())
        for split, counts in found.items():
            with (self.stack.data / "releases-made" / part / f"{split}.jsonl").open("rb") as file:
                counts["queries_released"] = sum(1 for _ in file)
        return dict(found)

    def _runs(
        self, part: str, release: Path, system: System, name: str, base: str
    ) -> tuple[list[str], list[str]]:
        """Those of test and of dev, one a seed."""
        if system.kind == ZERO:
            both = (self._scored(part, release, system, name, base, split) for split in SPLITS)
            test, dev = ([str(run)] for run in both)
            return test, dev
        model = self._trained(part, release, system, name, base)
        test, dev = (
            [f"{model}/runs/{split}.seed-{seed}.run" for seed in self.trainings.seeds]
            for split in SPLITS
        )
        return test, dev

    def _scored(
        self, part: str, release: Path, system: System, name: str, base: str, split: str
    ) -> Path:
        run = self.folder / "runs" / f"{part}.{split}.{name}.{system.form}.run"
        if not (ROOT / run).is_file():
            (ROOT / run).parent.mkdir(exist_ok=True)
            words = ["--release", release, "--split", split, "--out", run, "--form", system.form]
            self.stack.quorum("release", "score", base, *words, "--device", self.device)
        return run

    def _trained(self, part: str, release: Path, system: System, name: str, base: str) -> Path:
        """The model's folder."""
        model = "-".join([part, name, *system.words.split()]).lower()
        recipe = self.folder / "recipes" / f"{model}.yaml"
        (ROOT / recipe).parent.mkdir(exist_ok=True)
        made = self.trainings.recipe(system.kind, system.form, base, system.loss)
        (ROOT / recipe).write_text(yaml.safe_dump(made, sort_keys=False))
        words = ["--release", release, "--name", model, "--device", self.device]
        words += ["--pairs", self._pairs()] if system.pairs else []
        self.stack.quorum("model", "train", recipe, *words)
        return self.folder / "models" / model

    def _pairs(self) -> Path:
        path = self.folder / "pairs.tsv"
        if not (ROOT / path).is_file():
            write_pairs(self.size, ROOT / path)
        return path

    def _result(self, *words: object) -> dict[str, Any]:
        found = self.stack.result(*words)
        if found is None:
            raise StackError(f"`quorum {' '.join(map(str, words))}` refused: run it to see why")
        return found

    def trained(self, part: str) -> Iterator[dict[str, Any]]:
        """What each training of the part tells of itself."""
        for path in sorted((self.stack.data / "models").glob(f"{part}-*/training.json")):
            report = json.loads(path.read_text())
            names = ("name", "kind", "form", "recipe", "rows", "pairs", "first", "chosen", "grid")
            more = ("trainings", "device", "seconds", "versions")
            report["recipe"]["base"] = Path(report["recipe"]["base"]).name  # not where it lies
            yield {name: report[name] for name in (*names, *more)}
