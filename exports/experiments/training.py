"""The models of an experiment: recipes at a size, trained under names that stay the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from django.conf import settings as site

from core.errors import UserError
from core.files.whole import write_whole
from core.text.words import plural
from exports.comparison.intervals_plot import write_intervals_plot
from exports.experiments.experiment import Experiment, System
from exports.experiments.release_materials import tiny_material
from exports.experiments.sizes import LAMBDA, LAST, TINY
from exports.experiments.table import BARS, columns
from retrieval.training.data.release_splits import MANIFEST
from retrieval.training.lazy import train_model
from retrieval.training.recipes.materials import RELEASE, Source, digest_of
from retrieval.training.recipes.recipe import Recipe, read_recipe
from retrieval.training.recipes.settings import Fault
from retrieval.vectors.checksums import sha256_of
from retrieval.vectors.folder import Busy

DIGITS = 8  # of each digest in the names of models

Begin = Callable[[str, int], object]
Step = Callable[[int], object]
Training = Mapping[str, Any]  # what training.json holds


@dataclass(frozen=True)
class Run:
    experiment: Experiment
    release: Path
    out: Path
    size: str
    device: str
    begin: Begin
    step: Step
    judge: str = ""  # a campaign whose people judged the answers

    @cached_property
    def prefix(self) -> str:
        """Of the names of what it makes: of another release or other sets, it is another."""
        manifest = self.release / MANIFEST
        digest = sha256_of(manifest)[:DIGITS] if manifest.is_file() else "none"
        prefix = f"{self.experiment.name}-{self.size}-{digest}"
        every = [
            digest_of(Source(one.source.kind, file))
            for one in self.experiment.sets
            for file in (one.source.file, one.dev)
            if file is not None and _is_whole(file)
        ]
        if every:
            return f"{prefix}-{sha256(''.join(every).encode()).hexdigest()[:DIGITS]}"
        return prefix

    def path(self, ending: str) -> Path:
        return self.out / f"{self.prefix}{ending}"

    def report(self, ending: str) -> Path:
        return self.path(f"-judged-by-{self.judge}{ending}" if self.judge else ending)

    @property
    def sets(self) -> tuple[Source, ...]:
        """What models are measured on and must not learn; of their `dev`, where thresholds are
        chosen, and of rows of the release that stand for a set, they may learn."""
        every = (one.source for one in self.experiment.sets)
        return tuple(one for one in every if self.size != TINY or one.file.exists())

    def held_out(self, trained: Iterable[Training]) -> list[str]:
        """How many rows were not learned for a question that is measured, in words."""
        counts: dict[str, int] = {}
        for one in trained:
            left_out = {name: of["held_out"] for name, of in one.get("materials", {}).items()}
            if sets := one.get("sets"):
                left_out["release"] = sets["train_held_out"]
            # Two systems may have other files by the same name.
            counts |= {name: max(count, counts.get(name, 0)) for name, count in left_out.items()}
        rows = [f"{plural(count, 'row')} of {name}" for name, count in counts.items() if count]
        said = "Left out, because dev, test, or a set asks the same question"
        return [f"{said}: {', '.join(rows)}."] if rows else []

    def model(self, name: str, recipe: Recipe) -> str:
        """As it is named: by an edited recipe, or from another material, it is another."""
        learned = [recipe.to_dict(), *map(digest_of, recipe.materials.values())]
        digest = sha256(json.dumps(learned).encode()).hexdigest()[:DIGITS]
        return f"{self.prefix}-{digest}-{name}"

    def train_all(self, recipes: Mapping[str, Recipe], first: int, of: int) -> dict[str, Training]:
        """In their order, but first those that no other process trains. `first`: the number of the
        first of them among all `of` them."""
        places = {name: f"{place} of {of}, {name}" for place, name in enumerate(recipes, first)}
        done: dict[str, Training] = {}
        for wait in (False, True):
            for name, recipe in recipes.items():
                if name in done:
                    continue
                with nullcontext() if wait else suppress(Busy):
                    done[name] = self.train(name, recipe, places[name], wait=wait)
        return done

    def train(self, name: str, recipe: Recipe, where: str, *, wait: bool) -> Training:
        """`where`: the model among all of them, in words."""
        return train_model(
            recipe,
            release=self.release,
            name=self.model(name, recipe),
            pairs=None,
            device=self.device,
            begin=lambda words, steps: self.begin(f"{where}: {words}", steps),
            step=self.step,
            wait=wait,
            sets=self.sets,
        )

    def note(self, recipes: Collection[Recipe]) -> str:
        """What a reader must know before they compare with the paper."""
        bases = ", ".join(sorted({Path(one.base).name for one in recipes}))
        own = self.size == "paper" and not self.experiment.source
        size = "The recipes' own settings" if own else f"Size {self.size}"
        size += f", trained from {bases or 'nothing'}"
        if self.size == TINY:
            said = f"{size}: its figures mean nothing."
            if names := sorted(self._not_there(recipes)):
                said += f" What is not there, rows of the release stand for: {', '.join(names)}."
            return said
        if self.size == "paper" or not self.experiment.source:
            return f"{size}."
        return f"{size}: the paper's models are larger."

    def _not_there(self, recipes: Iterable[Recipe]) -> set[str]:
        """Materials, sets and questions for which something else stands, by name."""
        files = [*self.experiment.questions.items()]
        files += [(one.name, one.source.file) for one in self.experiment.sets]
        files += [(one.name, one.dev) for one in self.experiment.sets if one.dev]
        return {name for name, file in files if not file.exists()} | {
            name
            for recipe in recipes
            for name, source in recipe.materials.items()
            if source.file.parent == self.out / TINY
        }

    def there(self, kind: str, file: Path) -> Path:
        """The file of a material, or what stands for it."""
        if self.size != TINY or kind == RELEASE or file.exists():
            return file
        return tiny_material(kind, self.release, self.out / TINY)

    def with_materials(self, recipe: Recipe) -> Recipe:
        return replace(
            recipe,
            materials={
                name: replace(source, file=self.there(source.kind, source.file))
                for name, source in recipe.materials.items()
            },
        )

    def portable(self, path: Path) -> str:
        """As it is named on every machine: from the data folder, or from where the report is."""
        roots = (Path(site.DATA_DIR).resolve(), self.out.resolve())
        inside = [one for one in roots if path.resolve().is_relative_to(one)]
        return path.resolve().relative_to(inside[0]).as_posix() if inside else path.name

    def write(self, result: Mapping[str, Any], report: str) -> None:
        """What is kept names no folder of this machine."""
        kept = {**result, "report": self.report(".md").name, "release": self.release.name}
        write_whole(self.report(".md"), [report.encode()])
        write_whole(self.report(".json"), [json.dumps(kept, indent=2).encode(), b"\n"])
        write_intervals_plot(self.report("-figures.svg"), columns(result), BARS)

    def require(self, recipes: Iterable[Recipe], others: Iterable[Path]) -> None:
        """Before hours of training: all materials and other files are there."""
        files = [*others]
        files += [source.file for recipe in recipes for source in recipe.materials.values()]
        if missing := [file for file in files if not file.exists()]:
            raise UserError(
                f"{self.experiment.name} lacks "
                f"{', '.join(dict.fromkeys(os.path.normpath(file) for file in missing))}: "
                "docs/training.md and the paper's page in docs/training say how materials are made."
            )

    def recipe(
        self,
        path: Path,
        system: System,
        *,
        teachers: Mapping[str, str] | None = None,
        stages: int | None = None,
    ) -> Recipe:
        """At the experiment's size; `stages`: see `change`."""
        size = self.experiment.settings(self.size, system)
        changed = partial(change, size=size, teachers=teachers or {}, stages=stages)
        try:
            return self.with_materials(read_recipe(path, changed))
        except UserError as error:
            raise UserError(
                f"{self.experiment.name}, its system {system.name} at the size {self.size}: {error}"
            ) from error


def _is_whole(file: Path) -> bool:
    return file.is_file() or (file / MANIFEST).is_file()


def change(
    values: dict[str, Any],
    *,
    size: Mapping[str, Any],
    teachers: Mapping[str, str],
    stages: int | None = None,
) -> None:
    """The size's settings hold in all stages; teachers are the models that were trained for it.

    `stages`: the first so many are kept; below 0, so many are left out at the end.
    """
    values |= {name: value for name, value in size.items() if name not in (LAMBDA, LAST)}
    if isinstance(base := values.get("base"), Mapping):
        values["base"] = base.get(values.get("kind"))
    given = values.get("stages")
    every = given[:stages] if isinstance(given, list) else []
    if stages is not None and stages > (most := max(len(every), 1)):
        raise Fault(f"it has {plural(most, 'stage')}, and the experiment wants the first {stages}")
    if isinstance(given, list):
        values["stages"] = every
    for stage in every:
        if isinstance(stage, dict):
            for name in size:
                stage.pop(name, None)
            tasks = stage.get("tasks")
            for task in tasks if isinstance(tasks, list) else ():
                if isinstance(task, dict):
                    _change_task(task, size, teachers)
    last = every[-1] if every and isinstance(every[-1], dict) else values
    last |= size.get(LAST, {})


def _change_task(
    task: dict[str, Any], size: Mapping[str, Any], teachers: Mapping[str, str]
) -> None:
    if "batch_size" in size:
        task.pop("batch_size", None)
    if task.get("teacher") in teachers:
        task["teacher"] = teachers[task["teacher"]]
    objective = task.get("objective")
    for numbers in objective.values() if isinstance(objective, dict) else ():
        if LAMBDA in size and isinstance(numbers, dict) and LAMBDA in numbers:
            numbers[LAMBDA] = size[LAMBDA]


def best(training: Training) -> Training:
    """What it holds of the seed that is the best on dev."""
    [one] = [one for one in training["trainings"] if one["seed"] == training["best"]]
    return cast(Training, one)
