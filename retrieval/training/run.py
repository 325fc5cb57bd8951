"""From a recipe and a release to a model with its figures: `quorum model train`.

    MODELS_DIR/NAME/    request.json, recipe.yaml, stage-N/ (what earlier stages taught), grid-N/
                        and seed-N/ (each with its model), runs/ (TREC runs of dev and test),
                        training.json

training.json is written last and tells all: a folder without it is a training that was stopped,
and is gone on with. Import it through lazy.py: it loads torch.
"""

import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings as site

from core.progress import Progress, no_progress
from retrieval.training.data.teacher import with_teacher
from retrieval.training.evaluation.evaluate import Evaluation, evaluate
from retrieval.training.loop.grid import StageTraining, Trained, best_of
from retrieval.training.loop.out_of_memory import enough_memory, freed
from retrieval.training.loop.setup import name_of
from retrieval.training.preflight import Inputs, StageData, TrainingRequest, checked_inputs
from retrieval.training.recipes.materials import RELEASE
from retrieval.training.recipes.recipe import PAIRS, Recipe, Stage
from retrieval.training.result import claimed, is_under_way, write_training
from retrieval.vectors.folder import one_build

OURS = re.compile(r"stage-\d+|grid-\d+|seed-\d+")


@dataclass(frozen=True)
class Watch:
    """An onlooker: told what begins, and of each step."""

    # With the number of steps at most; fewer are done where a training stops early.
    begin: Callable[[str, int], object] = lambda words, steps: None
    step: Progress = no_progress


def train(
    request: TrainingRequest, watch: Watch = Watch(), *, wait: bool = False
) -> dict[str, Any]:
    """What training.json holds, and `unchanged`: whether it was there already.

    Nothing that another training made is overwritten. Busy while another process trains it, unless
    it is to `wait`.
    """
    inputs = checked_inputs(request)
    folder = Path(site.MODELS_DIR) / request.name
    with one_build(folder, f"The model {request.name} is being trained", wait=wait):
        is_begun = is_under_way(folder)
        if known := claimed(folder, inputs.facts):
            _tidy(folder, known)  # of a kill just before
            return {**known, "unchanged": True}
        _write_recipe(request.recipe, folder / "recipe.yaml")
        if is_begun:
            watch.begin("Continuing a training that was stopped", 0)
        began = time.monotonic()
        trained = _trained(request, inputs, folder, watch)
        values = {**inputs.facts, **trained, "seconds": round(time.monotonic() - began, 1)}
        write_training(folder, values)
        _tidy(folder, values)
    return {**values, "unchanged": False}


def _write_recipe(recipe: Recipe, path: Path) -> None:
    """To be trained by again, from any folder."""
    values = recipe.to_dict()
    for name, source in recipe.materials.items():
        values["materials"][name]["file"] = str(source.file.resolve())
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def _trained(
    request: TrainingRequest, inputs: Inputs, folder: Path, watch: Watch
) -> dict[str, Any]:
    recipe, base = inputs.recipe, inputs.base.name
    before: list[dict[str, Any]] = []
    *earlier, last = _taught(inputs)
    for number, (stage, learned) in enumerate(zip(recipe.stages, earlier, strict=False), 1):
        watch.begin(_words(stage, number, len(recipe.stages)), stage.steps(learned.rows, seeds=1))
        training = _training_of(inputs, stage, learned, base)
        best = best_of(training.search(folder / f"stage-{number}", watch.step))
        before.append(_loss(best, stage))
        base = str(best.model.resolve())
    stage, seeds = recipe.last, len(recipe.seeds)
    watch.begin(
        _words(stage, len(inputs.stages), len(inputs.stages)), stage.steps(last.rows, seeds=seeds)
    )
    training = _training_of(inputs, stage, last, base)
    grid = training.search(folder, watch.step)
    trained = training.repeated(best_of(grid), folder, watch.step)
    watch.begin("Measuring the models", 0)
    with enough_memory(trained[0].settings):
        figures = evaluate(recipe, inputs.base.name, trained, inputs.release, folder, inputs.device)
    return {
        "rows": last.rows,
        "queries_left_out": last.left_out + inputs.release.asked_again,
        **_summary(folder, recipe, grid, trained, figures, before),
    }


def _taught(inputs: Inputs) -> list[StageData]:
    """With the teachers' scores; they are let go, for a student wants their memory."""
    stages = []
    for stage, learned in zip(inputs.recipe.stages, inputs.stages, strict=True):
        tasks = dict(learned.tasks)
        for task in stage.tasks:
            if task.teacher is not None:
                teacher, data = inputs.teachers[task.teacher], tasks[name_of(task)]
                tasks[name_of(task)] = replace(
                    data,
                    train=with_teacher(teacher, task, data.train, data.material.train),
                    dev=with_teacher(teacher, task, data.dev, data.material.dev),
                )
        stages.append(StageData(tasks))
    inputs.teachers.clear()
    freed()
    return stages


def _training_of(inputs: Inputs, stage: Stage, learned: StageData, base: str) -> StageTraining:
    return StageTraining(
        inputs.recipe, stage, base, learned.train, learned.dev, inputs.device, inputs.digests
    )


def _words(stage: Stage, number: int, stages: int) -> str:
    materials = list(dict.fromkeys(task.material for task in stage.tasks))
    if number == stages == 1 or materials == [RELEASE]:
        return "Learning the release"
    if materials == [PAIRS]:
        return "Learning duplicate questions"
    return f"Stage {number} of {stages}: learning {', '.join(materials)}"


def _summary(
    folder: Path,
    recipe: Recipe,
    grid: Sequence[Trained],
    trained: Sequence[Trained],
    figures: Evaluation,
    before: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    best = best_of(trained)
    return {
        "first": before[0] if before else None,
        **({"stages": list(before)} if len(before) > 1 else {}),
        "chosen": best.settings.to_dict(recipe.last),
        "grid": [_loss(one, recipe.last) for one in grid],
        "trainings": [
            {
                "seed": one.seed,
                "dev_loss": one.dev_loss,
                "epochs": one.epochs,
                "model": one.model.relative_to(folder).as_posix(),
                **figures.of_seeds[one.seed],
            }
            for one in trained
        ],
        "before": figures.before,
        "best": best.seed,
        "threshold": figures.threshold,
        "way": figures.way,
    }


def _loss(one: Trained, stage: Stage) -> dict[str, Any]:
    return {**one.settings.to_dict(stage), "dev_loss": one.dev_loss, "epochs": one.epochs}


def _tidy(folder: Path, values: Mapping[str, Any]) -> None:
    """The combinations that lost, and the models of earlier stages, are not kept."""
    kept = {Path(one["model"]).parts[0] for one in values["trainings"]}
    for path in folder.iterdir():
        if OURS.fullmatch(path.name) and path.name not in kept:
            shutil.rmtree(path)
