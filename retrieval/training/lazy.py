"""Imports inside functions: torch takes seconds and half a gigabyte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.progress import Progress
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
    from retrieval.training import preflight, run  # noqa: PLC0415

    request = preflight.TrainingRequest(recipe, release, name, pairs, device)
    return run.train(request, run.Watch(begin, step))
