"""An experiment: systems that are trained alike, measured on one release, and set beside what a
paper prints.

    title: Question reranking, Table 1
    source: Question Reranking, Table 1    # of the paper's figures, if there are any
    against: public                        # what the others are tested against
    teachers:                              # models that recipes name, trained first
      teacher: ../reranking/teacher.yaml
    sets:                                  # what else is measured: materials, by `material measure`
      STS: {kind: sts, file: $QUORUM_DATA/materials/sts-test.tsv}
      QQP: {kind: pairs, file: qqp-test.tsv, dev: qqp.tsv, by: accuracy}
    systems:
      public: {recipe: ../reranking/public.yaml, paper: {P@1: [50.82, 0.38], STS: {Pearson: 85.4}}}
      before: {recipe: ../reranking/public.yaml, untrained: true}
      ranks: {recipe: ../reranking/qr.yaml, stages: 1}
      electra: {recipe: ../reranking/qr.yaml, sizes: {paper: {base: google/electra-base}}}
      bing: {lacks: a search engine of the web, paper: {P@1: 35}}
    counts:                                # of the paper's data
      train: {queries: 11711, candidates: 338448}
    sizes:                                 # settings in place of the recipes' own
      paper: {base: microsoft/deberta-v3-base, last: {epochs: 2}}

An experiment of answers asks the database questions whose answers are known:

    questions: {NQ: $QUORUM_DATA/materials/nq.jsonl}     # see `model evaluate-answers`
    systems:
      all: {recipe: search.yaml, selector: selector.yaml, paper: {NQ: 50.5}}
      untuned: {recipe: search.yaml, selector: selector.yaml, untuned: true}  # without last stages
      words: {recipe: search.yaml, selector: selector.yaml, search: bm25}

A system that `lacks` something is not run: its line and the paper's figures stand in the table. Of
a recipe, `stages` are the first so many. What a size names holds in all stages, and `last` in the
last one alone; its `base` may be one for each kind of model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.errors import UserError
from exports.evaluation.pair_metrics import PAIRWISE
from exports.experiments.sizes import LAMBDA, LAST, SIZES
from retrieval.ranking.metrics import METRICS, WAYS, Way
from retrieval.ranking.thresholds import BY, By
from retrieval.registry.training_record import NAME
from retrieval.training.data.release_splits import SPLITS
from retrieval.training.recipes import settings
from retrieval.training.recipes.materials import KINDS, Source, located
from retrieval.training.recipes.recipe import MOST_STAGES, OF_STAGE, load_yaml
from retrieval.training.recipes.settings import Fault, Values, known_only

KNOWN = (
    "title",
    "source",
    "against",
    "way",
    "by",
    "teachers",
    "sets",
    "questions",
    "systems",
    "counts",
    "sizes",
)
COUNTED = ("queries", "candidates")
MAY_CHANGE = ("base", "precision", "seeds", LAMBDA, LAST, *OF_STAGE)
ACCURACY = "Accuracy"  # of answers
MOST_PERCENT = 1_000
SEARCHES = ("neural", "bm25")

Figure = tuple[float, float | None]  # in percent, with the deviation
Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class MeasuredSet:
    name: str
    source: Source
    dev: Path | None  # where thresholds are chosen
    by: By
    among: int | None


@dataclass(frozen=True)
class Answering:
    """Beside the recipe of its retriever."""

    selector: Path | None  # its recipe
    search: str  # of SEARCHES
    untuned: bool  # neither learns the last stage of its recipe


@dataclass(frozen=True)
class System:
    name: str
    recipe: Path | None
    lacks: str  # why it is not run; else empty
    untrained: bool  # the recipe's base as it is
    stages: int | None  # of the recipe; None: all
    answering: Answering | None
    sizes: Mapping[str, Mapping[str, Any]]
    paper: Figures  # of the release
    paper_of_sets: Mapping[str, Figures]


@dataclass(frozen=True)
class Experiment:
    name: str  # of its file
    title: str
    source: str
    against: str
    way: Way
    by: By
    teachers: Mapping[str, Path]
    sets: tuple[MeasuredSet, ...]
    questions: Mapping[str, Path]  # with known answers; empty unless it is an experiment of answers
    systems: tuple[System, ...]
    counts: Mapping[str, Mapping[str, int]]  # the paper's, by split
    sizes: Mapping[str, Mapping[str, Any]]

    def settings(self, size: str, system: System | None = None) -> dict[str, Any]:
        """In place of the recipes' own; UserError where there is no such size."""
        if size not in self.sizes:
            raise UserError(
                f"{self.name} has no size {size!r}: choose one of {', '.join(self.sizes)}."
            )
        own = {} if system is None else system.sizes.get(size, {})
        return {**self.sizes[size], **own}


def read_experiment(path: Path) -> Experiment:
    """UserError names what is wrong in the file."""
    values = load_yaml(path, "experiment")
    try:
        return _parsed(values, path)
    except Fault as fault:
        raise UserError(f"The experiment {path}: {fault}.") from fault


def _parsed(values: object, path: Path) -> Experiment:
    given = known_only(values, KNOWN)
    systems = _mapping(given, "systems", "their names to recipes")
    if not systems:
        raise Fault("systems must map their names to recipes")
    if not NAME.fullmatch(path.stem):
        raise Fault("its file must be named by lowercase letters, digits, dots, dashes")
    folder = path.parent
    sets = tuple(
        _set(str(name), of, folder)
        for name, of in _mapping(given, "sets", "their names to materials").items()
    )
    questions = {
        str(name): located(folder, _text(f"questions {name}", file))
        for name, file in _mapping(given, "questions", "names to files").items()
    }
    for name, of in systems.items():
        if not NAME.fullmatch(str(name)) and not (isinstance(of, Mapping) and "lacks" in of):
            raise Fault(
                f"the system {settings.render(name)} must be named by lowercase letters, digits, "
                "dots, dashes: models are named by it"
            )
    if questions and (sets or given.get("teachers")):
        raise Fault("an experiment of answers has neither sets nor teachers")
    kinds = {one.name: one.source.kind for one in sets}
    parsed = tuple(
        _answering(str(name), of, folder, tuple(questions))
        if questions
        else _system(str(name), of, folder, kinds)
        for name, of in systems.items()
    )
    run = tuple(one.name for one in parsed if not one.lacks)
    if not run:
        raise Fault("each of its systems lacks something: name a recipe for one")
    teachers = _mapping(given, "teachers", "the names that recipes use to recipes")
    return Experiment(
        name=path.stem,
        title=_text("title", given.get("title")),
        source=_text("source", given["source"]) if "source" in given else "",
        against=settings.one_of("against", given.get("against", run[0]), run),
        way=settings.one_of("way", given.get("way", "qrc"), tuple(WAYS)),  # type: ignore[arg-type]
        by=settings.one_of("by", given.get("by", "f1"), tuple(BY)),  # type: ignore[arg-type]
        teachers={str(name): folder / _text(name, of) for name, of in teachers.items()},
        sets=sets,
        questions=questions,
        systems=parsed,
        counts={
            settings.one_of("a split of counts", split, SPLITS): _counts(str(split), of)
            for split, of in _mapping(given, "counts", "splits to counts").items()
        },
        sizes={**SIZES, **_sizes(given)},
    )


def _counts(split: str, values: object) -> dict[str, int]:
    given = known_only(values, COUNTED, f"the counts of {split}")
    return {
        str(name): settings.whole(f"{name} of {split}", number, 0, 2**31 - 1)
        for name, number in given.items()
    }


def _sizes(given: Values) -> dict[str, dict[str, Any]]:
    """Of a known size, what is named replaces what is usual."""
    return {
        str(size): {**SIZES.get(str(size), {}), **_size(of, f"the size {size}")}
        for size, of in _mapping(given, "sizes", "their names to settings").items()
    }


def _size(values: object, where: str) -> dict[str, Any]:
    given: dict[str, Any] = dict(known_only(values, MAY_CHANGE, where))
    if LAST in given:
        given[LAST] = dict(known_only(given[LAST], OF_STAGE, f"{LAST} of {where}"))
    return given


def _set(name: str, values: object, folder: Path) -> MeasuredSet:
    given = known_only(values, ("kind", "file", "dev", "by", "among"), f"the set {name}")
    kind = settings.one_of(f"the kind of {name}", given.get("kind"), tuple(KINDS))
    dev, among = given.get("dev"), given.get("among")
    return MeasuredSet(
        name,
        Source(kind, located(folder, _text(f"file of {name}", given.get("file")))),
        None if dev is None else located(folder, _text(f"dev of {name}", dev)),
        settings.one_of(f"by of {name}", given.get("by", "f1"), tuple(BY)),  # type: ignore[arg-type]
        None if among is None else settings.whole(f"among of {name}", among, 1, 2**31 - 1),
    )


def _answering(name: str, values: object, folder: Path, questions: tuple[str, ...]) -> System:
    given = known_only(
        values,
        ("recipe", "selector", "search", "untuned", "lacks", "sizes", "paper"),
        f"the system {name}",
    )
    selector = given.get("selector")
    paper = known_only(given.get("paper", {}), questions, f"the paper's figures of {name}")
    shared = {key: given[key] for key in ("recipe", "lacks", "sizes") if key in given}
    of_sets = {str(one): {ACCURACY: _figure(name, figure)} for one, figure in paper.items()}
    answering = Answering(
        None if selector is None else folder / _text(f"selector of {name}", selector),
        settings.one_of(f"search of {name}", given.get("search", SEARCHES[0]), SEARCHES),
        _flag(name, "untuned", given),
    )
    return replace(_system(name, shared, folder, {}), answering=answering, paper_of_sets=of_sets)


def _system(name: str, values: object, folder: Path, kinds: Mapping[str, str]) -> System:
    given = known_only(
        values,
        ("recipe", "lacks", "untrained", "stages", "sizes", "paper"),
        f"the system {name}",
    )
    lacks = given.get("lacks")
    if lacks is not None and "recipe" in given:
        raise Fault(f"the system {name} has a recipe, so that it cannot lack anything")
    stages = given.get("stages")
    paper = known_only(
        given.get("paper", {}), (*METRICS, *PAIRWISE, *kinds), f"the paper's figures of {name}"
    )
    return System(
        name,
        None if lacks is not None else folder / _text(f"recipe of {name}", given.get("recipe")),
        "" if lacks is None else _text(f"lacks of {name}", lacks),
        _flag(name, "untrained", given),
        None if stages is None else settings.whole(f"stages of {name}", stages, 1, MOST_STAGES),
        None,
        {
            str(size): _size(of, f"the size {size} of {name}")
            for size, of in _mapping(given, "sizes", "their names to settings").items()
        },
        {metric: _figure(name, of) for metric, of in paper.items() if metric not in kinds},
        {
            one: _figures(name, known_only(paper[one], KINDS[kind].figures, f"{one} of {name}"))
            for one, kind in kinds.items()
            if one in paper
        },
    )


def _figures(name: str, values: Values) -> Figures:
    return {metric: _figure(name, of) for metric, of in values.items()}


def _figure(name: str, value: object) -> Figure:
    given = value if isinstance(value, list) else [value]
    numbers = [
        float(one)
        for one in given
        if isinstance(one, int | float) and not isinstance(one, bool) and abs(one) <= MOST_PERCENT
    ]
    if len(given) not in (1, 2) or len(numbers) < len(given):
        raise Fault(f"a figure of {name} is a number of percent, or a list of it and its deviation")
    return numbers[0], numbers[1] if len(numbers) > 1 else None


def _mapping(given: Values, name: str, what: str) -> Mapping[object, object]:
    values = given.get(name, {})
    if not isinstance(values, Mapping):
        raise Fault(f"{name} must map {what}")
    return values


def _flag(name: str, what: str, given: Values) -> bool:
    value = given.get(what, False)
    if not isinstance(value, bool):
        raise Fault(f"{what} of {name} is {settings.render(value)}, and must be true or false")
    return value


def _text(name: object, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Fault(f"{name} is {settings.render(value)}, and must be a text")
    return value.strip()
