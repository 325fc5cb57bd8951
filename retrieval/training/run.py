"""From a recipe and a release to a model with its figures: `quorum model train`.

    MODELS_DIR/NAME/    request.json, recipe.yaml, first/ (what duplicate questions taught), grid-N/
                        and seed-N/ (each with its model), runs/ (TREC runs of dev and test),
                        training.json

training.json is written last and tells all: a folder without it is a training that was stopped,
and is gone on with. Import it through lazy.py: it loads torch.
"""

import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings as site

from core.progress import Progress, no_progress
from retrieval.training.evaluate import Evaluation, evaluate
from retrieval.training.loop.grid import Stage, Trained, best_of
from retrieval.training.loop.out_of_memory import enough_memory
from retrieval.training.preflight import Inputs, StageData, TrainingRequest, checked_inputs
from retrieval.training.result import claimed, write_training
from retrieval.vectors.folder import one_build

OURS = re.compile(r"first|grid-\d+|seed-\d+")


@dataclass(frozen=True)
class Watch:
    """An onlooker: told what begins, and of each step."""

    # With the number of steps at most; fewer are done where a training stops early.
    begin: Callable[[str, int], object] = lambda words, steps: None
    step: Progress = no_progress


def train(request: TrainingRequest, watch: Watch = Watch()) -> dict[str, Any]:
    """What training.json holds, and `unchanged`: whether it was there already.

    Nothing that another training made is overwritten.
    """
    inputs = checked_inputs(request)
    folder = Path(site.MODELS_DIR) / request.name
    with one_build(folder, f"The model {request.name} is being trained"):
        if known := claimed(folder, inputs.facts):
            _tidy(folder, known)  # of a kill just before
            return {**known, "unchanged": True}
        (folder / "recipe.yaml").write_text(
            yaml.safe_dump(request.recipe.to_dict(), sort_keys=False), encoding="utf-8"
        )
        began = time.monotonic()
        trained = _trained(request, inputs, folder, watch)
        values = {**inputs.facts, **trained, "seconds": round(time.monotonic() - began, 1)}
        write_training(folder, values)
        _tidy(folder, values)
    return {**values, "unchanged": False}


def _trained(
    request: TrainingRequest, inputs: Inputs, folder: Path, watch: Watch
) -> dict[str, Any]:
    recipe, first = request.recipe, None
    base = inputs.base.name

    def stage(data: StageData) -> Stage:
        return Stage(recipe, base, data.train.rows, data.dev.rows, inputs.device, inputs.digests)

    if inputs.first is not None:
        rows = len(inputs.first.train.rows)
        watch.begin("Learning duplicate questions", recipe.steps(rows, seeds=1))
        first = best_of(stage(inputs.first).search(folder / "first", watch.step))
        base = str(first.model.resolve())
    rows = len(inputs.data.train.rows)
    watch.begin("Learning the release", recipe.steps(rows, seeds=len(recipe.seeds)))
    grid = stage(inputs.data).search(folder, watch.step)
    trained = stage(inputs.data).repeated(best_of(grid), folder, watch.step)
    watch.begin("Measuring the models", 0)
    with enough_memory(trained[0].settings):
        figures = evaluate(recipe, inputs.base.name, trained, inputs.release, folder, inputs.device)
    left_out = inputs.data.train.left_out + inputs.release.asked_again
    return {
        "rows": rows,
        "queries_left_out": left_out,
        **_summary(folder, grid, trained, figures, first),
    }


def _summary(
    folder: Path,
    grid: Sequence[Trained],
    trained: Sequence[Trained],
    figures: Evaluation,
    first: Trained | None,
) -> dict[str, Any]:
    best = best_of(trained)
    return {
        "first": None if first is None else _loss(first),
        "chosen": asdict(best.settings),
        "grid": [_loss(one) for one in grid],
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


def _loss(one: Trained) -> dict[str, Any]:
    return {**asdict(one.settings), "dev_loss": one.dev_loss, "epochs": one.epochs}


def _tidy(folder: Path, values: Mapping[str, Any]) -> None:
    """The combinations that lost, and what the duplicate questions taught, are not kept."""
    kept = {Path(one["model"]).parts[0] for one in values["trainings"]}
    for path in folder.iterdir():
        if OURS.fullmatch(path.name) and path.name not in kept:
            shutil.rmtree(path)
