"""A training's folder: whose it is from its beginning, and training.json at its end.

retrieval.registry.training_record reads that one.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.files.whole import write_whole
from retrieval.registry.training_record import FILE, read_training

ORDER = "order.json"  # what was asked for
LOCK = ".lock"


def claimed(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a finished training of this order has left there; None where it is still to be done.

    UserError where the folder holds anything else: nothing of it is touched.
    """
    if (folder / FILE).is_file():
        training = read_training(folder)
        _require_same(folder, _identity(training), _identity(facts), "a model")
        return training
    order = {**_identity(facts), "device": facts["device"]}
    path = folder / ORDER
    if path.is_file():
        _require_same(folder, _read(path), order, "an unfinished training")
    elif others := sorted({one.name for one in folder.iterdir()} - {LOCK, f".{ORDER}"}):
        raise UserError(
            f"{folder} holds something other than a training ({others[0]}): choose another --name."
        )
    write(path, order)
    return None


def is_under_way(folder: Path) -> bool:
    return (folder / ORDER).is_file() and not (folder / FILE).is_file()


def write_training(folder: Path, values: Mapping[str, Any]) -> None:
    write(folder / FILE, values)


def write(path: Path, values: Mapping[str, Any]) -> None:
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, indent=2)
    write_whole(path, [f"{text}\n".encode()])


def _identity(facts: Mapping[str, Any]) -> dict[str, Any]:
    """By their digests: a folder or file of another name is the same."""
    pairs = facts["pairs"]
    materials = facts.get("materials", {})
    return {
        "recipe": facts["recipe"],
        "base": facts.get("base_sha256"),
        "release": facts["release"]["sha256"],
        "pairs": pairs and pairs["sha256"],
        **{f"material {name}": of["sha256"] for name, of in materials.items()},
        **facts.get("teachers", {}),
        **({"sets": facts["sets"]["sha256"]} if "sets" in facts else {}),
    }


def _require_same(
    folder: Path, recorded: Mapping[str, Any], wanted: Mapping[str, Any], what: str
) -> None:
    if other := [name for name in wanted if not _same(name, recorded.get(name), wanted[name])]:
        whose = "other sets" if other[0] == "sets" else f"another {other[0]}"
        raise UserError(
            f"{folder} holds {what} of {whose}: nothing was overwritten; choose another "
            "--name, or remove that folder."
        )


def _same(name: str, recorded: object, wanted: object) -> bool:
    """Trainings of before told no digest of their base."""
    return recorded == wanted or (name == "base" and recorded is None)


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}
