"""Imports inside functions: torch takes seconds and half a gigabyte."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.progress import Progress
from retrieval.encoders.lazy import require_model
from retrieval.ranking.thresholds import By
from retrieval.registry.registry import resolve_base, resolve_either
from retrieval.training.recipes.materials import Source
from retrieval.training.recipes.recipe import Recipe


def measure_material(
    model: str,
    *,
    kind: str,
    file: Path,
    dev: Path | None,
    by: By,
    among: int | None,
    device: str,
    draws: bool = True,
) -> dict[str, Any]:
    require_model(resolve_either(model))
    from retrieval.training.evaluation import evaluators  # noqa: PLC0415

    source = Source(kind, file)
    measured = evaluators.measure(
        evaluators.Model(model, device), source, dev=dev, by=by, among=among, draws=draws
    )
    return asdict(measured)


def train_model(
    recipe: Recipe,
    *,
    release: Path,
    name: str,
    pairs: Path | None,
    device: str,
    begin: Callable[[str, int], object],
    step: Progress,
    wait: bool = False,
    sets: tuple[Source, ...] = (),
) -> dict[str, Any]:
    """What training.json holds. Busy while another process trains it, unless it is to `wait`."""
    require_model(resolve_base(recipe.base, recipe.kind))
    from retrieval.training import preflight, run  # noqa: PLC0415

    request = preflight.TrainingRequest(recipe, release, name, pairs, device, sets)
    return run.train(request, run.Watch(begin, step), wait=wait)
