"""Register a trained model, with an entry in the audit log."""

from pathlib import Path

from core.command import record
from retrieval.models import TrainedModel
from retrieval.registry.registry import register


def register_and_record(folder: Path) -> dict[str, object]:
    """What was registered; `unchanged`: it was there before, and nothing is logged."""
    new: list[TrainedModel] = []

    def conclude(model: TrainedModel) -> None:
        record("register model", subject=model.name, details=_identity(model))
        new.append(model)

    model = register(folder, conclude=conclude)
    return {"name": model.name, **_identity(model), "unchanged": not new}


def _identity(model: TrainedModel) -> dict[str, object]:
    return {
        "kind": model.kind,
        "form": model.form,
        "release": model.release,
        "sha256": model.sha256,
    }
