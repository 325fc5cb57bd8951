"""One training, by the trainers of sentence-transformers: stopped early, and gone on with after
a kill. Import it through lazy.py: it loads torch."""

import json
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging as transformers_logging

from retrieval.errors import UserError
from retrieval.progress import Progress, no_progress
from retrieval.training.memory import DEV_BATCH, enough_memory
from retrieval.training.recipe import Settings

LOGGED_EVERY = 10  # steps
WHOLE = "whole"  # in a checkpoint that was written to its end
ORDER = "order.json"  # what was asked for; checkpoints of another order are not gone on with


@dataclass(frozen=True)
class Task:
    """What a model and its loss are made by, and with which of the library's classes."""

    make_model: Callable[[], Any]
    make_loss: Callable[[Any], torch.nn.Module]
    trainer: type[Any]
    arguments: type[TrainingArguments]
    options: Mapping[str, Any]  # further arguments


@dataclass(frozen=True)
class Plan:
    settings: Settings
    epochs: int
    patience: int
    warmup: float
    precision: str
    seed: int
    device: str  # cpu or cuda


@dataclass(frozen=True)
class Fitted:
    model: Any  # that of the best epoch
    dev_losses: tuple[float, ...]  # after each epoch trained, those after the best one too

    @property
    def dev_loss(self) -> float:
        return min(self.dev_losses)

    @property
    def epochs(self) -> int:
        return len(self.dev_losses)


def fit(
    task: Task,
    train: Dataset,
    dev: Dataset,
    plan: Plan,
    folder: Path,
    *,
    order: Mapping[str, Any],
    progress: Progress = no_progress,
) -> Fitted:
    """Checkpoints lie in the folder until the caller removes it; one for each epoch kept.

    `order`: names all that decides the result; a folder of the same order is gone on with.
    `progress` counts steps. UserError where memory ends or the loss is no number.
    """
    # The best checkpoint is known by its path: a folder that was moved is begun anew.
    _claim(folder, {**asdict(plan), **order, "folder": str(folder.resolve())})
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    set_seed(plan.seed)  # a new head is drawn by it
    model = task.make_model()
    trainer = task.trainer(
        model=model,
        args=task.arguments(**_arguments(plan, folder, len(train)), **task.options),
        train_dataset=train,
        eval_dataset=dev,
        loss=task.make_loss(model),
        callbacks=[
            _Onlooker(plan, progress),
            EarlyStoppingCallback(early_stopping_patience=plan.patience),
        ],
    )
    trainer.remove_callback(PrinterCallback)  # every logged loss, on standard output
    with enough_memory(plan.settings):
        trainer.train(resume_from_checkpoint=_last_whole(folder))
    logged = trainer.state.log_history
    losses = tuple(float(entry["eval_loss"]) for entry in logged if "eval_loss" in entry)
    return Fitted(trainer.model.eval(), losses)


def _arguments(plan: Plan, folder: Path, rows: int) -> dict[str, Any]:
    settings = plan.settings
    steps = math.ceil(rows / settings.batch_size) * plan.epochs
    return {
        "output_dir": str(folder),
        "num_train_epochs": plan.epochs,
        "learning_rate": settings.learning_rate,
        "per_device_train_batch_size": settings.batch_size,
        "per_device_eval_batch_size": DEV_BATCH,
        "warmup_steps": math.ceil(steps * plan.warmup),
        "bf16": plan.precision == "bf16",
        "fp16": plan.precision == "fp16",
        "use_cpu": plan.device == "cpu",
        "seed": plan.seed,
        "data_seed": plan.seed,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 1,  # and the best one
        "load_best_model_at_end": True,
        # Of patience: the epochs since the best one go on being counted after a kill.
        "restore_callback_states_from_checkpoint": True,
        "metric_for_best_model": "eval_loss",
        "greater_is_better": False,
        "logging_steps": LOGGED_EVERY,
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }


class _Onlooker(TrainerCallback):
    """Counts steps, marks whole checkpoints, and stops a training that has gone wrong."""

    def __init__(self, plan: Plan, progress: Progress) -> None:
        self._plan = plan
        self._progress = progress

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._progress(1)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        # The loss on dev is logged before a checkpoint is written.
        for name in ("loss", "eval_loss"):
            if not math.isfinite(float((logs or {}).get(name, 0.0))):
                where = "dev" if name == "eval_loss" else "train"
                raise UserError(
                    f"The loss on {where} is no number any more at step {state.global_step:,}, "
                    f"with the learning rate {self._plan.settings.learning_rate:g}: nothing was "
                    "kept of this training; try a lower learning rate."
                )

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        (Path(str(args.output_dir)) / f"checkpoint-{state.global_step}" / WHOLE).touch()


def _claim(folder: Path, order: Mapping[str, Any]) -> None:
    """Makes the folder; one of another order, or of none, is emptied."""
    words = json.dumps(order, sort_keys=True, default=str)
    path = folder / ORDER
    if folder.is_dir() and (not path.is_file() or path.read_text(encoding="utf-8") != words):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(words, encoding="utf-8")


def _last_whole(folder: Path) -> str | None:
    """Those that a kill left half-written are removed: the trainer would take the newest."""
    steps: dict[int, Path] = {}
    for path in folder.glob("checkpoint-*"):
        if (path / WHOLE).is_file():
            steps[int(path.name.rpartition("-")[2])] = path
        else:
            shutil.rmtree(path)
    return str(steps[max(steps)]) if steps else None
