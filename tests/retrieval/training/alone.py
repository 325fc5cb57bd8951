"""A recipe of one stage with one task, without a command around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retrieval.ranking.records import QueryRecord
from retrieval.training.recipes.materials import of_release
from retrieval.training.recipes.recipe import Recipe

if TYPE_CHECKING:
    from datasets import Dataset

    from retrieval.training.data.examples import Examples
    from retrieval.training.loop.fit import Fitted, Plan, Setup


def setup(recipe: Recipe, base: Path | str, length: int = 24) -> Setup:
    from retrieval.training.loop.setup import setup_of  # noqa: PLC0415

    settings = replace(next(recipe.last.grid()), max_length=length)
    return setup_of(recipe, recipe.last, settings, str(base), "cpu")


def examples(recipe: Recipe, records: Iterable[QueryRecord]) -> Examples:
    from retrieval.training.data.examples import examples_of  # noqa: PLC0415

    [task] = recipe.last.tasks
    return examples_of(recipe.kind, task, of_release(records, ()).train)


def fit_alone(
    setup: Setup,
    train: Dataset,
    dev: Dataset,
    plan: Plan,
    folder: Path,
    *,
    order: Mapping[str, Any] | None = None,
    **options: Any,
) -> Fitted:
    from retrieval.training.loop.fit import fit  # noqa: PLC0415

    [name] = setup.make_losses
    return fit(setup, {name: train}, {name: dev}, plan, folder, order=order or {}, **options)
