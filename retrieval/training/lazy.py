"""Imports inside functions: torch takes seconds and half a gigabyte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.progress import Progress
from retrieval.encoders.lazy import require_model
from retrieval.registry.registry import resolve_base
from retrieval.training.recipe import Recipe


def train_model(
    recipe: Recipe,
    *,
    release: Path,
    name: str,
    pairs: Path | None,
    device: str,
    begin: Callable[[str, int], object],
    step: Progress,
) -> dict[str, Any]:
    """What training.json holds."""
    require_model(resolve_base(recipe.base, recipe.kind))
    from retrieval.training import preflight, run  # noqa: PLC0415

    request = preflight.TrainingRequest(recipe, release, name, pairs, device)
    return run.train(request, run.Watch(begin, step))
