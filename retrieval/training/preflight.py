"""What a training is asked to do: looked through before hours are spent on it. Import it through
lazy.py: it loads torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

from core.errors import UserError
from retrieval.encoders.forward import require_precision
from retrieval.encoders.loading import chosen_device
from retrieval.encoders.model_folder import folder_of
from retrieval.registry.registry import digest_of_folder, resolve_base
from retrieval.registry.training_record import FORMAT, LONGEST_RELEASE, NAME
from retrieval.training.data.examples import ANCHOR, LABEL, Examples, examples_of, require_texts
from retrieval.training.data.release_splits import Release, read_release, require_both_labels
from retrieval.training.data.teacher import Teacher, load_teacher
from retrieval.training.loop.out_of_memory import freed
from retrieval.training.loop.setup import name_of, setup_of
from retrieval.training.recipes.materials import (
    MOST_SCORE,
    RELEASE,
    STS,
    Material,
    Source,
    digest_of,
    facts_of,
    of_release,
    questions_of,
    read_material,
)
from retrieval.training.recipes.objectives import reads_labels
from retrieval.training.recipes.recipe import PAIRS, Recipe, Stage, Task, with_pairs

LIBRARIES = (
    "accelerate",
    "datasets",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)
SMALLEST_BATCH = 2  # that a recipe may name


@dataclass(frozen=True)
class TrainingRequest:
    recipe: Recipe
    release: Path
    name: str
    pairs: Path | None
    device: str
    sets: tuple[Source, ...] = ()  # that the model will be measured on, beside the release


@dataclass(frozen=True)
class Base:
    name: str  # what it is loaded by
    sha256: str | None  # of its files; None where it cannot be told which they are


@dataclass(frozen=True)
class TaskData:
    """What one task learns, and what tells when to stop, with the groups that it is made of."""

    train: Examples
    dev: Examples
    material: Material


@dataclass(frozen=True)
class StageData:
    """By the stage's tasks."""

    tasks: Mapping[str, TaskData]

    @property
    def train(self) -> dict[str, Dataset]:
        return {name: data.train.rows for name, data in self.tasks.items()}

    @property
    def dev(self) -> dict[str, Dataset]:
        return {name: data.dev.rows for name, data in self.tasks.items()}

    @property
    def rows(self) -> int:
        return sum(map(len, self.train.values()))

    @property
    def left_out(self) -> int:
        return sum(data.train.left_out for data in self.tasks.values())


@dataclass(frozen=True)
class Inputs:
    recipe: Recipe
    release: Release
    base: Base
    device: str  # cpu or cuda
    stages: Sequence[StageData]
    teachers: dict[str, Teacher]  # loaded, by their names in the recipe
    facts: dict[str, Any]  # what training.json says of the request

    @property
    def digests(self) -> dict[str, Any]:
        """Of the inputs: with recipe and device they decide the result."""
        materials = self.facts.get("materials", {})
        pairs = self.facts["pairs"]
        return {
            "release": self.release.sha256,
            "pairs": pairs and pairs["sha256"],
            "base_sha256": self.base.sha256,
            **{name: facts["sha256"] for name, facts in materials.items()},
            **self.facts.get("teachers", {}),
            **({"sets": sets["sha256"]} if (sets := self.facts.get("sets")) else {}),
        }


def checked_inputs(request: TrainingRequest) -> Inputs:
    """UserError for whatever would end the training, or make its model of no use."""
    _require_names(request)
    device = chosen_device(request.device)
    _require_arithmetic(request.recipe.precision, device)
    release = read_release(request.release)
    if len(release.name) > LONGEST_RELEASE:
        raise UserError(
            f"The name of the folder {release.name[:60]}... has over {LONGEST_RELEASE} characters: "
            "give the release's folder a shorter one."
        )
    recipe = request.recipe if request.pairs is None else with_pairs(request.recipe, request.pairs)
    _require_each_once(recipe, release)
    asked = {name: questions_of(of) for name, of in recipe.releases.items()}
    asked[RELEASE] = release.held_out().union(*map(questions_of, request.sets))
    release = release.without(set().union(*asked.values()))
    beside = ["the recipe's other releases"] * bool(recipe.releases)
    beside += ["the sets"] * bool(request.sets)
    if beside:
        left = f"{request.release} without the questions of {' and of '.join(beside)}"
        require_both_labels(left, "train", release.train)
    materials = {RELEASE: of_release(release.train, release.dev)} | {
        # Its own dev is there to tell when to stop.
        name: read_material(source, set().union(*(asked[one] for one in asked if one != name)))
        for name, source in recipe.materials.items()
    }
    stages = [_stage_data(recipe, stage, materials, request) for stage in recipe.stages]
    base = check_base(recipe)
    named = {task.teacher for stage in recipe.stages for task in stage.tasks if task.teacher}
    teachers = {name: load_teacher(name, device) for name in sorted(named)}
    _require_taught(recipe, teachers)
    facts = _facts(request, recipe, release, materials, stages, base, device, teachers)
    return Inputs(recipe, release, base, device, stages, teachers, facts)


def _stage_data(
    recipe: Recipe, stage: Stage, materials: Mapping[str, Material], request: TrainingRequest
) -> StageData:
    """`recipe`: the request's, with its pairs."""
    tasks = {}
    for task in stage.tasks:
        material = materials[task.material]
        of_release = task.material == RELEASE
        where = request.release if of_release else recipe.materials[task.material].file
        if of_release or task.material in recipe.releases:
            require_texts(recipe.kind, task, material, str(where))
        data = TaskData(
            examples_of(recipe.kind, task, material.train),
            examples_of(recipe.kind, task, material.dev),
            material,
        )
        _require_rows(task, data, str(where), recipe, with_sets=bool(request.sets))
        if task.is_ranked:
            own = task.searched.get("batch_size", (task.batch_size,))
            _require_batches(
                task, data, max(own if task.batch_size else stage.batch_size), str(where)
            )
        tasks[name_of(task)] = data
    return StageData(tasks)


def _require_names(request: TrainingRequest) -> None:
    if not NAME.fullmatch(request.name):
        raise UserError(
            f"The name {request.name[:60]!r} cannot be a model's: use up to 100 lowercase "
            "letters, digits, dots, dashes and underscores, starting with a letter or digit."
        )
    base = request.recipe.base
    if request.name == base:
        raise UserError(
            f"The model would have the name of its base, {base}: choose another name with --name."
        )


def _require_each_once(recipe: Recipe, release: Release) -> None:
    """A release twice would hold out its own dev."""
    seen = {release.sha256: "the release itself"}
    for name, source in recipe.releases.items():
        digest = read_release(source.file).sha256
        if digest in seen:
            raise UserError(f"The material {name} is the same as {seen[digest]}: name it once.")
        seen[digest] = f"the material {name}"


def _require_taught(recipe: Recipe, teachers: Mapping[str, Teacher]) -> None:
    for task in (task for stage in recipe.stages for task in stage.tasks):
        if task.material != RELEASE and task.teacher and teachers[task.teacher].is_run:
            raise UserError(
                f"The run {task.teacher} can only teach the release, and is the teacher of "
                f"{task.material}: name a model there."
            )


def _require_arithmetic(precision: str, device: str) -> None:
    require_precision(precision, device)
    if precision == "bf16" and device == "cuda" and not torch.cuda.is_bf16_supported():
        raise UserError("This GPU does not compute in bf16: name fp16 or fp32 in the recipe.")


def _require_rows(
    task: Task, data: TaskData, where: str, recipe: Recipe, *, with_sets: bool
) -> None:
    if task.material == RELEASE:
        for name, examples in (("train", data.train), ("dev", data.dev)):
            if not len(examples.rows):
                raise UserError(
                    f"{where} leaves nothing for {task.objective} in {name}: it wants queries that "
                    "have a positive, and with hard_negatives a negative too."
                )
        return
    if recipe.materials[task.material].kind == STS and not _any_above(1, data.material):
        raise UserError(
            f"No score of {where} is above 1, and scores go from 0 to {MOST_SCORE}: multiply yours."
        )
    what = "positive row" if task.is_ranked else "row"
    whose = "the recipe's releases'" if recipe.releases else "the release's"
    asking = f"{whose} dev and test" + (", and of the sets" if with_sets else "")
    is_release = task.material in recipe.releases
    to_stop = "to tell when to stop, for which " + (
        "its dev is there" if is_release else "one first text in ten is kept"
    )
    more = "release with more of them" if is_release else "file with more first texts"
    for words, examples in (("to learn from", data.train), (to_stop, data.dev)):
        if not len(examples.rows):
            raise UserError(
                f"{where}, without the questions of {asking}, has no {what} "
                f"{words}: name a {more}, or leave {task.material} out."
            )
    if reads_labels(task.terms) and len(set(data.train.rows[LABEL])) < 2:
        raise UserError(
            f"All rows of {where} to learn from have one label: there is nothing to learn."
        )


def _any_above(score: float, material: Material) -> bool:
    both = (*material.train, *material.dev)
    return any(one.label * MOST_SCORE > score for group in both for one in group.candidates)


def _require_batches(task: Task, data: TaskData, largest: int, where: str) -> None:
    queries = len(set(data.train.rows[ANCHOR]))
    if queries < SMALLEST_BATCH:
        raise UserError(
            f"train of {where} has one query that can be learned from, and {task.objective} tells "
            "queries from each other: name a release with more."
        )
    if largest > queries:
        # As large as the number of queries, the batches after the first would be half empty.
        full = max(SMALLEST_BATCH, queries // 2)
        raise UserError(
            f"A batch of {task.objective} holds a query once, and train of {where} has "
            f"{queries:,} that can be learned from: name a batch_size of at most {queries:,} in "
            f"the recipe, not {largest:,}; up to {full:,}, batches are full."
        )


def check_base(recipe: Recipe) -> Base:
    """UserError where it cannot be loaded, or is not what one of the stages needs."""
    name = resolve_base(recipe.base, recipe.kind)
    for stage in recipe.stages:
        longest = replace(next(stage.grid()), max_length=max(stage.max_length))
        setup = setup_of(recipe, stage, longest, name, "cpu")
        model = setup.make_model()
        for make_loss in setup.make_losses.values():
            make_loss(model)
        del model
        freed()
    folder = folder_of(name)
    return Base(name, None if folder is None else digest_of_folder(folder, with_links=True))


def _facts(
    request: TrainingRequest,
    recipe: Recipe,
    release: Release,
    materials: Mapping[str, Material],
    stages: Sequence[StageData],
    base: Base,
    device: str,
    teachers: Mapping[str, Teacher],
) -> dict[str, Any]:
    files = {
        name: _facts_of_material(source, materials[name], _learned(recipe, stages, name))
        for name, source in recipe.materials.items()
    }
    own = request.recipe
    pairs = files.pop(PAIRS) if request.pairs is not None else None
    return {
        "format": FORMAT,
        "name": request.name,
        "kind": own.kind,
        "form": own.form,
        "base": own.base,
        "base_sha256": base.sha256,
        "recipe": own.to_dict(),
        "defaults": own.defaults,
        "release": {
            "name": release.name,
            "sha256": release.sha256,
            "learned": _rows(_learned(recipe, stages, RELEASE)),
        },
        "queries": {name: len(records) for name, records in release.measured.items()},
        "pairs": pairs,
        **({"materials": files} if files else {}),
        **({"sets": _facts_of_sets(request.sets, release)} if request.sets else {}),
        **({"teachers": _digests(teachers)} if teachers else {}),
        "versions": {name: metadata.version(name) for name in LIBRARIES},
        "device": device,
    }


def _facts_of_sets(sets: Sequence[Source], release: Release) -> dict[str, Any]:
    return {"sha256": [digest_of(one) for one in sets], "train_held_out": release.asked_again}


def _digests(teachers: Mapping[str, Teacher]) -> dict[str, str]:
    return {f"teacher {name}": teacher.sha256 for name, teacher in teachers.items()}


def _learned(recipe: Recipe, stages: Sequence[StageData], material: str) -> list[TaskData]:
    return [
        data.tasks[name_of(task)]
        for stage, data in zip(recipe.stages, stages, strict=True)
        for task in stage.tasks
        if task.material == material
    ]


def _facts_of_material(
    source: Source, material: Material, learned: Sequence[TaskData]
) -> dict[str, Any]:
    return {
        **facts_of(source, material),
        "learned": _rows(learned),
        "left_out": sum(data.train.left_out + data.dev.left_out for data in learned),
    }


def _rows(learned: Sequence[TaskData]) -> int:
    return sum(len(data.train.rows) for data in learned)
