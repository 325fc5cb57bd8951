"""The selector that is named: a registered one, a training's folder, or one of its models'. And the
threshold of an index's retriever, whichever of these it is."""

from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from retrieval.models import IndexVersion, TrainedModel
from retrieval.registry.registry import registered_selector
from retrieval.registry.training_record import FILE, parse_training, read_training


@dataclass(frozen=True)
class NamedSelector:
    name: str  # of its training, else of its folder
    folder: Path
    threshold: float | None  # chosen on dev; None: none is known, and every question is answered


def find_selector(named: str) -> NamedSelector:
    """Of a training, its best model. UserError where the folder holds none."""
    if registered := registered_selector(named):
        return NamedSelector(registered.name, registered.path, registered.threshold)
    folder = Path(named)
    if not folder.is_dir():
        raise UserError(
            f"There is no selector {named!r}: name a registered one, or a folder made by "
            "`quorum model train`."
        )
    if (folder / FILE).is_file():
        return _best(folder)
    if (training := training_of(folder)) != folder.resolve():
        best = _best(training)
        if best.folder.resolve() == folder.resolve():
            return best
    return NamedSelector(folder.name, folder, None)


def retrievers_threshold(index: IndexVersion) -> float | None:
    """None is known of models that were not trained here, or that read something else here."""
    if index.trained is not None:
        return index.trained.threshold if index.trained.form == index.form else None
    folder = Path(index.model)
    if not folder.is_dir() or (training := training_of(folder)) == folder.resolve():
        return None
    record = parse_training(read_training(training))
    is_best = (training / record.best.model).resolve() == folder.resolve()
    return record.threshold if is_best and record.form == index.form else None


def training_of(folder: Path) -> Path:
    """The folder of the training that left a model with its other seeds, else the model's own."""
    folder = folder.resolve()
    above = folder.parent.parent  # of seed-1/model
    return above if (above / FILE).is_file() else folder


def _best(folder: Path) -> NamedSelector:
    """As the training recorded it."""
    training = parse_training(read_training(folder))
    if training.kind != TrainedModel.Kind.SELECTOR:
        raise UserError(f"{folder} holds a retriever and no answer selector: name a selector's.")
    return NamedSelector(training.name, folder / training.best.model, training.threshold)
