"""What a stopped training is gone on with: checkpoints that were written to their end and are as
they were then. Import it through lazy.py: it loads torch."""

import json
import pickle
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers import TrainerState
from transformers.trainer import TRAINER_STATE_NAME

from core.errors import UserError
from retrieval.encoders.out_of_memory import wants_memory
from retrieval.training.result import write

WHOLE = "whole"  # in a checkpoint that was written to its end: its files and their sizes
# What json, torch and safetensors say of a file that is not what was written.
DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    pickle.UnpicklingError,
    SafetensorError,
)


def mark_whole(checkpoint: Path) -> None:
    write(checkpoint / WHOLE, _sizes(checkpoint))


def last_whole(folder: Path) -> Path | None:
    """Those that a kill left half-written are removed: the trainer would take the newest.

    So are those whose best epoch is lost: the training could not end with its weights.
    """
    whole: dict[int, Path] = {}
    for path in folder.glob("checkpoint-*"):
        if _is_whole(path):
            whole[int(path.name.rpartition("-")[2])] = path
        else:
            shutil.rmtree(path)
    names = {path.name for path in whole.values()}
    for step in sorted(whole, reverse=True):
        best = state_of(whole[step]).best_model_checkpoint
        if best is not None and Path(best).name in names:
            return whole[step]
        shutil.rmtree(whole[step])
    return None


def state_of(checkpoint: Path) -> TrainerState:
    with undamaged(checkpoint):
        state: TrainerState = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
        return state


def has_ended(state: TrainerState) -> bool:
    """Whether that epoch was the last: the trainer would forget it and train another one."""
    callbacks: Any = state.stateful_callbacks  # of a state that was read: their values, by name
    return bool(callbacks["TrainerControl"]["args"]["should_training_stop"])


@contextmanager
def undamaged(checkpoint: Path) -> Iterator[None]:
    """UserError where what is read of it is not what was written."""
    try:
        yield
    except DAMAGE as error:
        if wants_memory(error):
            raise
        reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise UserError(
            f"The checkpoint {checkpoint} is damaged ({reason}): remove that folder and run the "
            "same command again, which resumes from an earlier epoch or starts over."
        ) from error


def _is_whole(checkpoint: Path) -> bool:
    try:
        sizes = json.loads((checkpoint / WHOLE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(sizes == _sizes(checkpoint))


def _sizes(checkpoint: Path) -> dict[str, int]:
    return {
        path.relative_to(checkpoint).as_posix(): path.stat().st_size
        for path in sorted(checkpoint.rglob("*"))
        if path.is_file() and path.name.lstrip(".") != WHOLE
    }
