"""One encoder that learns topics (QT), equivalent questions (QE) and answers (QA), after QBERT.

An experiment that `quorum experiment` runs, with the settings of recipes/qbert: each task alone,
one by one and by turns. Topics are the intents of BANKING77 and CLINC150, of which a few examples
are learned. Equivalent are Quora's pairs, and answers WikiQA's sentences; the release is WikiQA.

Measured on questions of both sets of intents is how often the nearest intent is the right one, and
how often one of the nearest learned questions has the same; and the correlation with the scores of
STS-B, of which nothing is learned.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from benchmarks.control_leak.corpora import BANKING
from benchmarks.models.data import CLINC, STSB, WIKIQA, pairs_to_learn, read, some
from benchmarks.models.splits import Size
from benchmarks.models.systems import Place
from demo.processes import ROOT

PART, RELEASE = "qbert", "wikiqa"
RECIPES = ROOT / "recipes" / "qbert"
INTENTS = {"BANKING77": BANKING, "CLINC150": CLINC}
KINDS = {**dict.fromkeys(INTENTS, "topics"), "QQP": "pairs", "WikiQA": "sentences"}
OBJECTIVES = {"topics": "mnr", "pairs": "contrastive", "sentences": "contrastive"}
COLUMNS = {
    "topics": ("question", "topic"),
    "positives": ("anchor", "positive"),
    "pairs": ("question1", "question2", "is_duplicate"),
    "sentences": ("question", "sentence", "label"),
    "sts": ("sentence1", "sentence2", "score"),
}
# What each learns, and by which recipe: one task alone is a turn without others.
SYSTEMS = {
    "qt": (tuple(INTENTS), "rr"),
    "qe": (("QQP",), "rr"),
    "qa": (("WikiQA",), "rr"),
    "obo": (tuple(KINDS), "obo"),
    "rr": (tuple(KINDS), "rr"),
}
Rows = Sequence[Sequence[object]]


def compared(place: Place) -> dict[str, Any]:
    """What `quorum experiment` tells; stopped, it goes on."""
    folder = place.folder / PART
    (ROOT / folder).mkdir(exist_ok=True)
    for name, kind, rows in _materials(place.size):
        with (ROOT / folder / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t").writerows([COLUMNS[kind], *rows])
    for name, values in _files(place):
        (ROOT / folder / f"{name}.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    words = ["--release", place.release(RELEASE), "--out", folder, "--device", place.device]
    place.stack.quorum("experiment", folder / f"{PART}.yaml", *words)
    [report] = (ROOT / folder).glob("*.json")
    return dict(json.loads(report.read_text()))


def is_of(report: dict[str, Any], training: str) -> bool:
    """What recipes were before they were edited trained models of other names."""
    runs = [run for system in report["systems"] for run in system["runs"]]
    return any(training in run.split("/") for run in runs)


def _materials(size: Size) -> Iterator[tuple[str, str, Rows]]:
    """Each with its kind."""
    for name, path in INTENTS.items():
        of_intent = defaultdict(list)
        for row in read(path):
            of_intent[row["split"], row["intent"].replace("_", " ")].append(row["text"])
        learned, tested = (
            {intent: texts for (split, intent), texts in of_intent.items() if split == wanted}
            for wanted in ("train", "test")
        )
        shots = {intent: some(texts, size.shots) for intent, texts in learned.items()}
        test = some(_each(tested), size.measured)
        yield name, "topics", list(_each(shots))
        yield f"{name}-test", "topics", test
        beside = [(question, one) for question, intent in test for one in shots[intent]]
        yield f"{name}-beside", "positives", beside
    yield "QQP", "pairs", some(pairs_to_learn(), size.learned)
    sentences = ((row["question"], row["sentence"], row["label"]) for row in read(WIKIQA[0]))
    yield "WikiQA", "sentences", some(sentences, size.learned)
    graded = (
        (row["sentence1"], row["sentence2"], row["score_0_5"])
        for row in read(STSB)
        if row["split"] == "test"
    )
    yield "STS-B", "sts", some(graded, size.measured)


def _each(of_intent: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    return ((text, intent) for intent, texts in of_intent.items() for text in texts)


def _files(place: Place) -> Iterator[tuple[str, dict[str, Any]]]:
    """The recipes and the experiment."""
    [base, *_] = place.bases.values()
    trainings = place.trainings
    settings = {
        "base": base,
        "precision": "bf16",
        "seeds": list(trainings.seeds),
        "epochs": trainings.task_epochs,
        "max_length": trainings.max_length,  # the paper's 35 tokens cut WikiQA's sentences
    }
    for system, (names, like) in SYSTEMS.items():
        recipe = yaml.safe_load((RECIPES / f"{like}.yaml").read_text())
        del recipe["pooling"]  # the base's stays: a difference from it is what was learned
        [stage] = recipe["stages"]
        stage["tasks"] = [{"material": one, "objective": OBJECTIVES[KINDS[one]]} for one in names]
        materials = {one: {"kind": KINDS[one], "file": f"{one}.tsv"} for one in names}
        yield system, recipe | settings | {"materials": materials}
    sets: dict[str, dict[str, str]] = {}
    for name in INTENTS:
        sets[name] = {"kind": "topics", "file": f"{name}-test.tsv"}
        sets[f"{name}, questions"] = {"kind": "positives", "file": f"{name}-beside.tsv"}
    sets["STS-B"] = {"kind": "sts", "file": "STS-B.tsv"}
    untrained = {"baseline": {"recipe": "rr.yaml", "untrained": True}}
    yield (
        PART,
        {
            "title": "One encoder of topics, equivalent questions and answers",
            "way": "clean",
            "sets": sets,
            "systems": untrained | {name: {"recipe": f"{name}.yaml"} for name in SYSTEMS},
        },
    )
