"""Runs an experiment: trains its models, measures them, and writes its table.

Stopped, it goes on with the training that was under way: each is a model of its own name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from django.conf import settings as site

from core.errors import UserError
from exports.comparison.compare import DECIMALS, compare, over_runs, p_over_runs
from exports.comparison.hit_plot import plot_path, write_hit_plot
from exports.comparison.named_runs import NamedRuns
from exports.evaluation.pair_intervals import difference, ends
from exports.evaluation.score_model import ScoreRequest, score
from exports.experiments.answers import run_answers
from exports.experiments.experiment import Experiment, MeasuredSet, System
from exports.experiments.sizes import NO_ANSWERS
from exports.experiments.table import NOTE, markdown, printed
from exports.experiments.training import Begin, Run, Step, Training, best, change
from retrieval.encoders.lazy import classes_of
from retrieval.ranking.records import read
from retrieval.registry.registry import resolve_either
from retrieval.training.lazy import measure_material
from retrieval.training.recipes.recipe import Recipe, read_recipe

SPLITS = ("test", "dev")
SEARCHED = "which is searched: an answer selector cannot look for the nearest of many texts"
# Of a kind of set, the models that cannot be measured on it, and why.
UNABLE = {
    "topics": ("selector", SEARCHED),
    "positives": ("selector", SEARCHED),
    "ranks": ("retriever", "whose ranks are read as a whole: a retriever reads two texts"),
}


@dataclass(frozen=True)
class Measurable:
    """A system that was run: its runs on the release, and its models, one a seed."""

    system: System
    runs: NamedRuns
    models: tuple[str, ...]
    recipe: Recipe
    training: Training | None = None  # None: it is measured as it is


def run_experiment(
    experiment: Experiment,
    release: Path,
    out: Path,
    *,
    size: str,
    device: str,
    begin: Begin,
    step: Step,
    judge: str = "",
) -> dict[str, Any]:
    """What `compare` gives, with sets and the paper's figures; report, data and plot lie in `out`.

    All recipes are read before the first is trained. `judge`: the campaign whose people's labels
    of answers count, in an experiment of answers.
    """
    run = Run(experiment, release, out, size, device, begin, step, judge)
    if experiment.questions:
        return run_answers(run)
    if judge:
        raise UserError(NO_ANSWERS.format(experiment.name))
    recipes = dict(_recipes(run))
    _require_able(experiment, recipes)
    _require_heads(experiment, recipes)
    measured = [_there(run, one) for one in experiment.sets]
    sets = (file for one in measured for file in (one.source.file, one.dev) if file)
    run.require(recipes.values(), sets)
    out.mkdir(parents=True, exist_ok=True)
    plot = plot_path(run.path("-hit.svg"))
    measurable = list(_measurable(run, recipes))
    result = compare(
        [one.runs for one in measurable],
        release,
        split="test",
        way=experiment.way,
        against=experiment.against,
        paper=False,
        by=experiment.by,
    )
    papers = [
        printed(system, experiment.source, system.paper)
        for system in experiment.systems
        if system.paper or system.lacks
    ]
    result |= {
        "title": experiment.title,
        "report": str(run.path(".md")),
        "papers": {"note": NOTE, "systems": papers, "hit_at": []} if experiment.source else None,
        "counts": _counts(run),
        "sets": [_measured(run, one, measurable) for one in measured],
        "models": [_described(one) for one in measurable],
        "notes": [
            run.note(recipes.values()),
            *run.held_out(one.training for one in measurable if one.training),
            *cast(list[str], result["notes"]),
        ],
    }
    for one in cast(list[dict[str, Any]], result["systems"]):
        one["runs"] = [run.portable(Path(path)) for path in one["runs"]]
    run.write(result, markdown(result))
    write_hit_plot(plot, result)
    return result


def _recipes(run: Run) -> Iterator[tuple[str, Recipe]]:
    """By the names of teachers and systems, teachers first."""
    for name, path in run.experiment.teachers.items():
        size = run.experiment.settings(run.size)
        size.pop("base", None)  # that of the systems is not the teachers'
        yield name, run.with_materials(read_recipe(path, partial(change, size=size, teachers={})))
    for system in run.experiment.systems:
        if system.recipe is not None:
            yield system.name, run.recipe(system.recipe, system, stages=system.stages)


def _there(run: Run, one: MeasuredSet) -> MeasuredSet:
    kind, dev = one.source.kind, one.dev
    file = run.there(kind, one.source.file)
    return replace(one, source=replace(one.source, file=file), dev=dev and run.there(kind, dev))


def _require_able(experiment: Experiment, recipes: Mapping[str, Recipe]) -> None:
    """To be measured on the sets."""
    for one in experiment.sets:
        kind, why = UNABLE.get(one.source.kind, ("", ""))
        of_kind = {name for name, recipe in recipes.items() if recipe.kind == kind}
        if those := of_kind - set(experiment.teachers):
            raise UserError(f"{experiment.name} measures {min(those)} on {one.name}, {why}.")


def _require_heads(experiment: Experiment, recipes: Mapping[str, Recipe]) -> None:
    """Where a selector's base is measured as it is."""
    for system in experiment.systems:
        recipe = recipes.get(system.name)
        if not (system.untrained and recipe and recipe.kind == "selector"):
            continue
        if classes_of(resolve_either(recipe.base)) != 1:
            raise UserError(
                f"{experiment.name} measures {system.name} untrained, and its base {recipe.base} "
                "has no head to select with: name a retriever's recipe."
            )


def _measurable(run: Run, recipes: Mapping[str, Recipe]) -> Iterator[Measurable]:
    """Trains what was not trained before."""
    experiment = run.experiment
    taught = run.train_all({name: recipes[name] for name in experiment.teachers}, 1, len(recipes))
    teachers = {name: f"{one['name']}/{best(one)['model']}" for name, one in taught.items()}
    wanted = {
        one.name: run.recipe(one.recipe, one, teachers=teachers, stages=one.stages)
        for one in experiment.systems
        if one.recipe is not None and not one.untrained
    }
    trained = run.train_all(wanted, len(taught) + 1, len(recipes))
    for system in experiment.systems:
        if system.name in trained:
            yield _as_trained(system, wanted[system.name], trained[system.name])
        elif system.untrained:
            run.begin(f"Measuring {system.name} as it is", 0)
            yield _as_it_is(run, system, recipes[system.name])


def _as_it_is(run: Run, system: System, recipe: Recipe) -> Measurable:
    runs = {split: run.path(f"-{system.name}.{split}.run") for split in SPLITS}
    for split, path in runs.items():
        own = path.with_suffix(f".{os.getpid()}")  # another process may score it, too
        score(ScoreRequest(recipe.base, run.release, split, recipe.form, run.device), own)
        own.replace(path)
    return Measurable(
        system, NamedRuns(system.name, (runs["test"],), (runs["dev"],)), (recipe.base,), recipe
    )


def _as_trained(system: System, recipe: Recipe, training: Training) -> Measurable:
    folder = Path(site.MODELS_DIR) / training["name"]
    test, dev = (
        tuple(folder / "runs" / f"{split}.seed-{one['seed']}.run" for one in training["trainings"])
        for split in SPLITS
    )
    models = tuple(str(folder / one["model"]) for one in training["trainings"])
    return Measurable(system, NamedRuns(system.name, test, dev), models, recipe, training)


def _described(one: Measurable) -> dict[str, Any]:
    """What a reader must know of a system to say what differs between two."""
    recipe, training = one.recipe, one.training
    stages = [
        [f"{task.objective} on {task.material}" for task in stage.tasks] for stage in recipe.stages
    ]
    return {
        "name": one.system.name,
        "kind": recipe.kind,
        "form": recipe.form,
        "base": Path(recipe.base).name,
        "learned": stages if training else [],
        "chosen": training["chosen"] if training else {},
    }


def _measured(run: Run, of: MeasuredSet, systems: list[Measurable]) -> dict[str, Any]:
    """Each system's figures over its seeds, tested against the same one as on the release."""
    run.begin(f"Measuring {of.name}", 0)
    figures = {
        one.system.name: [
            measure_material(
                model,
                kind=of.source.kind,
                file=of.source.file,
                dev=of.dev,
                by=of.by,
                among=of.among,
                device=run.device,
            )
            for model in one.models
        ]
        for one in systems
    }
    others = figures[run.experiment.against]
    source = run.experiment.source
    return {
        "name": of.name,
        "kind": of.source.kind,
        "rows": others[0]["rows"],
        "systems": [
            {
                "name": name,
                "runs": len(seeds),
                "thresholds": [one["threshold"] for one in seeds],
                "figures": {
                    figure: {
                        **over_runs(ours := [one["figures"][figure] for one in seeds]),
                        **_ends(figure, seeds),
                        "p_runs": None
                        if seeds is others
                        else p_over_runs(ours, [one["figures"][figure] for one in others]),
                        "difference": _difference(figure, seeds, others),
                    }
                    for figure in seeds[0]["figures"]
                },
            }
            for name, seeds in figures.items()
        ],
        "papers": [
            printed(system, source, system.paper_of_sets[of.name])
            for system in run.experiment.systems
            if of.name in system.paper_of_sets
        ],
    }


def _ends(figure: str, seeds: list[dict[str, Any]]) -> dict[str, float | None]:
    """An interval over draws of the rows; of what is not drawn, the lowest and the highest run."""
    known = [one["figures"][figure] for one in seeds if one["figures"][figure] is not None]
    if known and figure in seeds[0]["drawn"]:
        of = ends(np.mean([one["drawn"][figure] for one in seeds], axis=0))
    else:
        of = {"low": min(known, default=None), "high": max(known, default=None)}
    return {name: one if one is None else round(one, DECIMALS) for name, one in of.items()}


def _difference(
    figure: str, seeds: list[dict[str, Any]], others: list[dict[str, Any]]
) -> dict[str, float | None] | None:
    """Over the same draws of the rows, of the mean over the seeds; None where none are drawn, or
    the figure is undefined."""
    if seeds is others or figure not in seeds[0]["drawn"]:
        return None
    ours, theirs = ([one["figures"][figure] for one in of] for of in (seeds, others))
    drawn, beside = (
        np.mean([one["drawn"][figure] for one in of], axis=0) for of in (seeds, others)
    )
    less = difference(ours, theirs, drawn - beside)
    return less and {
        name: one if one is None else round(one, DECIMALS) for name, one in less.items()
    }


def _counts(run: Run) -> dict[str, dict[str, Mapping[str, int]]]:
    """The release's beside the paper's, of the splits that the paper counts."""
    counted: dict[str, dict[str, Mapping[str, int]]] = {}
    for split, paper in run.experiment.counts.items():
        sizes = [len(record.candidates) for record in read(run.release / f"{split}.jsonl")]
        counted[split] = {"ours": {"queries": len(sizes), "candidates": sum(sizes)}, "paper": paper}
    return counted
