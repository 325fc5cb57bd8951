"""The systems that `make bench-models` trains and compares, each on one of its releases.

All is done by the commands that a user has: import, export, train, score, compare. A killed run
goes on: a release, a model and a run that are there are not made again.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.models.data import write_corpus, write_dataset, write_pairs, write_sentences
from benchmarks.models.splits import Size
from demo.processes import ROOT, StackError
from demo.stack import LocalStack
from retrieval.encoders.loading import load_model

SENTENCES = ("wikiqa", "trecqa", "selqa")
WAYS = dict.fromkeys(SENTENCES, "clean")
BM25 = "bm25"
ZERO = "zero-shot"
CONTRASTIVE = "contrastive"
STUDENTS = "students"  # a part
PAIRS, RANKS, SELQA = "pairs", "ranks", "SelQA"  # what may be learned before a release
SPLITS = ("test", "dev")
# Of a training; those without materials, sets or teachers have none.
TOLD = (
    "name",
    "kind",
    "form",
    "recipe",
    "rows",
    "queries_left_out",
    "pairs",
    "materials",
    "sets",
    "teachers",
    "first",
    "chosen",
    "grid",
    "trainings",
    "device",
    "seconds",
    "versions",
)


@dataclass(frozen=True)
class Trainings:
    """Of every model: what the recipe names beside kind, form, base, and what it learns."""

    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    epochs: int = 2
    student_epochs: int = 6  # half the layers under a new head learn nothing in two
    batch_size: int = 16
    max_length: int = 64
    rates: tuple[float, float] = (2e-5, 5e-5)  # of a retriever and of a selector
    rank_steps: int = 1_000
    rank_length: int = 128  # of five pairs, one after the other
    task_epochs: int = 3  # of the tasks that one encoder learns; their paper has five
    paper: bool = False  # the paper's grid of all of these, and ten epochs

    def settings(self, kind: str, part: str) -> dict[str, Any]:
        made = {"seeds": list(self.seeds), "precision": "bf16"}
        if self.paper:
            return made
        return made | {
            "learning_rate": self.rates[kind == "selector"],
            "epochs": self.student_epochs if part == STUDENTS else self.epochs,
            "batch_size": self.batch_size,
            "max_length": self.max_length,
        }

    def of_ranks(self, part: str) -> dict[str, Any]:
        """The stage that learns them; students read the query too, which is easier to learn."""
        form = {"form": "QRANK"} if part == STUDENTS else {}
        stage: dict[str, Any] = {"tasks": [{"material": RANKS} | form]}
        if self.paper:
            return stage
        return stage | {"max_length": self.rank_length, "max_steps": self.rank_steps}


@dataclass(frozen=True)
class System:
    """`kind`: zero-shot, retriever or selector."""

    kind: str
    form: str
    objective: str | None = None
    first: str | None = None  # the material that is learned before the release
    taught: bool = False  # by MiniLM's untrained retriever, beside the labels

    @property
    def words(self) -> str:
        tuned = " tuned" if self.kind == "retriever" else f" {self.kind}"
        first = f" after {self.first}" if self.first else ""
        return f"{self.form}{tuned}{first}{' taught' if self.taught else ''}"

    def task(self, material: str, teacher: str) -> dict[str, Any]:
        made: dict[str, Any] = {"material": material}
        if self.objective:
            made["objective"] = self.objective
        elif self.kind == "retriever":
            made["hard_negatives"] = 3
        if self.taught:
            made |= {"objective": {"distil-hinton": {"lambda": 0.5}}, "teacher": teacher}
        return made


RETRIEVERS = (System("retriever", "QQ"), System("retriever", "QQA"))
SYSTEMS: dict[str, Sequence[System]] = {
    "answers": (
        System(ZERO, "QQ"),
        System(ZERO, "QQA"),
        *RETRIEVERS,
        *(System("selector", form) for form in ("QQ", "QA", "QQA", "QAQ")),
        System("selector", "QAQ", first=RANKS),
        System("selector", "QAQ", taught=True),
        System("selector", "QAQ", first=RANKS, taught=True),
    ),
    "duplicates": (
        System(ZERO, "QQ"),
        System("retriever", "QQ"),
        System("retriever", "QQ", first=PAIRS),
        System("selector", "QQ", first=PAIRS),
    ),
    "quora": (
        System(ZERO, "QQ"),
        System("retriever", "QQ", CONTRASTIVE),
        System("selector", "QQ"),
        System("selector", "QQ", taught=True),
    ),
    STUDENTS: (
        System("selector", "QQ"),
        System("selector", "QQ", first=RANKS),
        System("selector", "QQ", taught=True),
        System("selector", "QQ", first=RANKS, taught=True),
    ),
    **dict.fromkeys(
        ("wikiqa", "trecqa"),
        (System(ZERO, "QQ"), System("selector", "QA"), System("selector", "QA", first=SELQA)),
    ),
    "selqa": (System(ZERO, "QQ"), System("selector", "QA")),
}
MPNET = "MPNet"
STUDENT = "MiniLM-3"  # every second layer of MiniLM
# Its parts without the paper's grid: it takes eight times MiniLM's work, and these texts are short.
SHORT = ("quora",)
# A query has one candidate or few: its Hit@k tells nothing that a plot could show.
UNRANKED = ("quora",)


def fewer_layers(name: str, folder: Path) -> str:
    """A model of every second layer of the one named, in the folder."""
    model, _ = load_model(name, "cpu")
    body: Any = model[0].auto_model
    body.encoder.layer = body.encoder.layer[::2]
    body.config.num_hidden_layers = len(body.encoder.layer)
    model.save_pretrained(str(folder))
    return str(folder)


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
        if part == STUDENTS:  # beside their teacher
            return SYSTEMS[part] if base in (STUDENT, MPNET) else (System(ZERO, "QQ"),)
        return () if base == STUDENT else SYSTEMS[part]

    def _every(self, part: str) -> list[tuple[str, System]]:
        return [(name, one) for name in self.bases for one in self.systems(part, name)]

    def compared(self, part: str, plot: Path) -> dict[str, Any]:
        """What `quorum release compare` tells of all systems of the part."""
        words = [] if part in UNRANKED else ["--plot", str(plot)]
        words += [] if part in SENTENCES else ["--paper"]
        return self._compared(part, self._every(part), BM25, *words)

    def beside_bm25(self, part: str) -> dict[str, Any]:
        """The same systems, each against BM25."""
        return self._compared(part, self._every(part), BM25, against=BM25)

    def best(self, part: str) -> dict[str, Any]:
        """Of each training the one model that it tells to use, which has the lowest loss on dev:
        against the first system, and against BM25."""
        return {
            f"beside_{against or 'first'}": self._compared(
                part, self._every(part), BM25, against=against, best=True
            )
            for against in ("", BM25)
        }

    def beside_plain(self, part: str) -> dict[str, Any]:
        """Of each that learns something before the labels or beside them: against the same one
        without it."""
        found: dict[str, Any] = {}
        for name in self.bases:
            more = defaultdict(list)
            for system in self.systems(part, name):
                more[replace(system, first=None, taught=False)].append((name, system))
            for plain, systems in more.items():
                if len(systems) > 1 and (name, plain) in systems:
                    found[f"{name} {plain.words}"] = self._compared(part, systems)
        return found

    def _compared(
        self,
        part: str,
        systems: Sequence[tuple[str, System]],
        *others: str,
        against: str = "",
        best: bool = False,
    ) -> dict[str, Any]:
        """Each with the name of its base, against the first where nothing else is said."""
        release = self.release(part)
        words = [*others, "--release", str(release), "--way", WAYS.get(part, "qrc")]
        words += ["--against", against or f"{systems[0][0]} {systems[0][1].words}"]
        for name, system in systems:
            test, dev = self._runs(part, release, system, name, self.bases[name], best)
            own = f"{name} {system.words}"
            words += [f"{own}={','.join(test)}", "--dev-run", f"{own}={','.join(dev)}"]
        return self._result("release", "compare", *words)

    def release(self, part: str) -> Path:
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
        self, part: str, release: Path, system: System, name: str, base: str, best: bool
    ) -> tuple[list[str], list[str]]:
        """Those of test and of dev, one a seed or that of the best one."""
        if system.kind == ZERO:
            both = (self._scored(part, release, system, name, base, split) for split in SPLITS)
            test, dev = ([str(run)] for run in both)
            return test, dev
        model = self._trained(part, release, system, name, base)
        training = json.loads((ROOT / model / "training.json").read_text())
        seeds = [training["best"]] if best else self.trainings.seeds
        test, dev = (
            [f"{model}/runs/{split}.seed-{seed}.run" for seed in seeds] for split in SPLITS
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
        [teacher, *_] = self.bases.values()
        tasks = [system.task("release", teacher)]
        materials = {}
        if system.first == RANKS:
            base = str(self._learned_ranks(part, release, system, name, base))
        elif system.first is not None:
            tasks.insert(0, system.task(system.first, teacher))
            materials = {system.first: self._material(system.first)}
        recipe = {"kind": system.kind, "form": system.form, "base": base}
        recipe |= self.trainings.settings(system.kind, part) | {"materials": materials}
        return self._model(model, recipe | {"stages": [{"tasks": [one]} for one in tasks]}, release)

    def _learned_ranks(
        self, part: str, release: Path, system: System, name: str, base: str
    ) -> Path:
        """The model that all systems of the part start from that learn ranks first."""
        recipe: dict[str, Any] = {"kind": system.kind, "form": system.form, "base": base}
        recipe |= self.trainings.settings(system.kind, part) | {"seeds": [self.trainings.seeds[0]]}
        recipe |= {"materials": {RANKS: self._material(RANKS)}}
        recipe |= {"stages": [self.trainings.of_ranks(part)]}
        model = self._model(f"{part}-{name}-{RANKS}".lower(), recipe, release)
        [one] = json.loads((ROOT / model / "training.json").read_text())["trainings"]
        return model / str(one["model"])

    def _model(self, name: str, recipe: dict[str, Any], release: Path) -> Path:
        path = self.folder / "recipes" / f"{name}.yaml"
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_text(yaml.safe_dump(recipe, sort_keys=False))
        words = ["--release", release, "--name", name, "--device", self.device]
        self.stack.quorum("model", "train", path, *words)
        return self.folder / "models" / name

    def _material(self, name: str) -> dict[str, str]:
        """As a recipe names it."""
        folder = ROOT / self.folder / "materials"
        folder.mkdir(exist_ok=True)
        kind, file, make = {
            PAIRS: ("pairs", "pairs.tsv", write_pairs),
            SELQA: ("sentences", "selqa.tsv", write_sentences),
            RANKS: ("ranks", "ranks", self._write_ranks),
        }[name]
        path = folder / file
        whole = path / "manifest.json" if kind == RANKS else path
        if not whole.exists():
            make(self.size, path)
        return {"kind": kind, "file": f"../materials/{file}"}  # from the recipes' folder

    def _write_ranks(self, size: Size, path: Path) -> None:
        """Of questions of real pairs, as the untrained retriever ranks the others."""
        pairs = path.with_suffix(".jsonl")
        write_corpus(2 * size.ranks, pairs)
        self.stack.quorum("corpus", "import", pairs, "--source", RANKS)
        self.stack.result("corpus", "create", RANKS, "--source", RANKS)  # without what parts import
        of = ("--corpus", RANKS)
        self.stack.quorum("index", "build", *of, "--model", size.retriever, "--form", "QQ")
        self.stack.quorum("material", "ranks", path, *of, "--sample", size.ranks)

    def _result(self, *words: object) -> dict[str, Any]:
        found = self.stack.result(*words)
        if found is None:
            raise StackError(f"`quorum {' '.join(map(str, words))}` refused: run it to see why")
        return found

    def trained(self, part: str) -> Iterator[dict[str, Any]]:
        """What each training of the part tells of itself."""
        for path in sorted((self.stack.data / "models").glob(f"{part}-*/training.json")):
            report = json.loads(path.read_text())
            report["recipe"]["base"] = Path(report["recipe"]["base"]).name  # not where it lies
            yield {name: report[name] for name in TOLD if name in report}
