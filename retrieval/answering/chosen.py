"""The selector that is named: a registered one, a training's folder, or one of its models'."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval.errors import UserError
from retrieval.registry import resolve_selector
from retrieval.training_record import FILE


@dataclass(frozen=True)
class ChosenSelector:
    name: str  # of its training, else of its folder
    folder: Path
    threshold: float | None  # chosen on dev; None: none is known, and every question is answered


def chosen_selector(named: str) -> ChosenSelector:
    """Of a training, its best model. UserError where the folder holds none."""
    folder = resolve_selector(named)
    if not folder.is_dir():
        raise UserError(
            f"There is no selector {named!r}: name a registered one, or the folder of one that "
            "`manage.py train` made."
        )
    if (folder / FILE).is_file():
        return _best(folder)
    above = folder.resolve().parent.parent  # of seed-1/model
    if (above / FILE).is_file():
        best = _best(above)
        if best.folder.resolve() == folder.resolve():
            return best
    return ChosenSelector(folder.name, folder, None)


def _best(training: Path) -> ChosenSelector:
    """As the training recorded it."""
    path = training / FILE
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        kind, threshold = told["kind"], told["threshold"]
        models = {one["seed"]: str(one["model"]) for one in told["trainings"]}
        best = ChosenSelector(
            name=str(told["name"]),
            folder=training / models[told["best"]],
            threshold=None if threshold is None else float(threshold),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is broken: train the selector again by `manage.py train`, or name a model's "
            "own folder."
        ) from error
    if kind != "selector":
        raise UserError(f"{training} holds a retriever and no answer selector: name a selector's.")
    return best
