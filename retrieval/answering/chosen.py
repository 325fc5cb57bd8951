"""The selector that is named: a registered one, a training's folder, or one of its models'."""

from dataclasses import dataclass
from pathlib import Path

from retrieval.errors import UserError
from retrieval.registry import registered_selector
from retrieval.trained import TrainedModel
from retrieval.training_record import FILE, made, read_training


@dataclass(frozen=True)
class ChosenSelector:
    name: str  # of its training, else of its folder
    folder: Path
    threshold: float | None  # chosen on dev; None: none is known, and every question is answered


def chosen_selector(named: str) -> ChosenSelector:
    """Of a training, its best model. UserError where the folder holds none."""
    if registered := registered_selector(named):
        return ChosenSelector(registered.name, registered.path, registered.threshold)
    folder = Path(named)
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


def _best(folder: Path) -> ChosenSelector:
    """As the training recorded it."""
    training = made(read_training(folder))
    if training.kind != TrainedModel.Kind.SELECTOR:
        raise UserError(f"{folder} holds a retriever and no answer selector: name a selector's.")
    return ChosenSelector(training.name, folder / training.best.model, training.threshold)
