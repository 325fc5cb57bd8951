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
from datasets import Dataset, DatasetDict
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

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.training.loop.checkpoints import has_ended, last_whole, mark_whole, state_of
from retrieval.training.loop.out_of_memory import DEV_BATCH, enough_memory
from retrieval.training.loop.tokens import TokenTerms
from retrieval.training.loop.trainers import Batches
from retrieval.training.recipes.recipe import Settings

LOGGED_EVERY = 10  # steps
Rows = Mapping[str, Dataset]  # by the task
Losses = Mapping[str, Callable[[Any], torch.nn.Module]]  # by the task
ORDER = "order.json"  # what was asked for; checkpoints of another order are not gone on with


@dataclass(frozen=True)
class Setup:
    """What a model and its losses are made by, and with which of the library's classes."""

    make_model: Callable[[], Any]
    make_losses: Losses
    trainer: type[Any]
    arguments: type[TrainingArguments]
    options: Mapping[str, Any]  # further arguments
    batches: Mapping[str, Batches]  # by the task
    # Where several objectives are tried: a loss that is the same for all, to compare them by.
    comparable: Losses | None = None


@dataclass(frozen=True)
class Plan:
    settings: Settings
    epochs: int
    patience: int
    warmup: float
    precision: str
    seed: int
    device: str  # cpu or cuda
    max_steps: int | None = None
    weight_decay: float = 0.0
    accumulation: int = 1


@dataclass(frozen=True)
class Fitted:
    model: Any  # that of the best epoch
    dev_losses: tuple[float, ...]  # after each epoch trained, those after the best one too
    comparable: float | None = None  # its loss on dev by what is the same for all objectives

    @property
    def dev_loss(self) -> float:
        return min(self.dev_losses) if self.comparable is None else self.comparable

    @property
    def epochs(self) -> int:
        return len(self.dev_losses)


def fit(
    setup: Setup,
    train: Rows,
    dev: Rows,
    plan: Plan,
    folder: Path,
    *,
    order: Mapping[str, Any],
    progress: Progress = no_progress,
) -> Fitted:
    """Checkpoints lie in the folder until the caller removes it; one for each epoch kept.

    `order`: names all that decides the result; a folder of the same order is gone on with.
    `progress` counts steps. UserError where memory ends, the loss is no number, or a checkpoint is
    damaged.
    """
    folder = folder.resolve()
    # The best checkpoint is known by its path: a folder that was moved is begun again.
    _claim(folder, {**asdict(plan), **order, "folder": str(folder)})
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    set_seed(plan.seed)  # a new head is drawn by it
    last = last_whole(folder)
    with enough_memory(plan.settings):
        trainer = _trainer(setup, train, dev, plan, folder, progress)
        if last is not None and has_ended(state := state_of(last)):
            trainer.take_best(state)
        else:
            trainer.train(resume_from_checkpoint=last and str(last))
    logged = trainer.state.log_history
    losses = tuple(float(entry["eval_loss"]) for entry in logged if "eval_loss" in entry)
    comparable = None
    if setup.comparable is not None:
        trainer.loss = _made(setup.comparable, trainer.model)
        with enough_memory(plan.settings):
            comparable = float(trainer.evaluate()["eval_loss"])
    return Fitted(trainer.model.eval(), losses, comparable)


def _made(losses: Losses, model: Any) -> Any:
    """As the trainer takes them: of a task that is alone, its loss itself."""
    made = {name: make(model) for name, make in losses.items()}
    return made if len(made) > 1 else next(iter(made.values()))


def _trainer(
    setup: Setup, train: Rows, dev: Rows, plan: Plan, folder: Path, progress: Progress
) -> Any:
    model = setup.make_model()
    arguments: Any = setup.arguments(**_arguments(plan, folder), **setup.options)
    # Of several GPUs each would be given a batch, and the recipe's would be that much larger.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    alone = next(iter(train)) if len(train) == 1 else None
    losses = _made(setup.make_losses, model)
    trainer = setup.trainer(
        model=model,
        args=arguments,
        train_dataset=train[alone] if alone else DatasetDict(train),
        eval_dataset=dev[alone] if alone else DatasetDict(dev),
        loss=losses,
        batches=setup.batches,
        callbacks=[
            _ProgressCallback(plan, progress),
            _DrawCallback(plan.seed, losses),
            EarlyStoppingCallback(early_stopping_patience=plan.patience),
        ],
    )
    trainer.remove_callback(PrinterCallback)  # every logged loss, on standard output
    return trainer


def _arguments(plan: Plan, folder: Path) -> dict[str, Any]:
    settings = plan.settings
    return {
        "output_dir": str(folder),
        "num_train_epochs": plan.epochs,
        "max_steps": plan.max_steps or -1,
        "weight_decay": plan.weight_decay,
        "gradient_accumulation_steps": plan.accumulation,
        "learning_rate": settings.learning_rate,
        "per_device_train_batch_size": settings.batch_size,
        "per_device_eval_batch_size": DEV_BATCH,
        "warmup_steps": plan.warmup,  # under 1: the share of the steps
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


class _ProgressCallback(TrainerCallback):
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
                    f"The loss on {where} is no longer a number at step {state.global_step:,}, "
                    f"with the learning rate {self._plan.settings.learning_rate:g}: nothing of "
                    "this training was kept. Try a lower learning rate."
                )

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        mark_whole(Path(str(args.output_dir)) / f"checkpoint-{state.global_step}")


class _DrawCallback(TrainerCallback):
    """Tokens are changed by other draws in each epoch."""

    def __init__(self, seed: int, losses: Any) -> None:
        self._seed = seed
        every = losses.values() if isinstance(losses, dict) else [losses]
        modules = [module for loss in every for module in loss.modules()]
        self._terms = [module for module in modules if isinstance(module, TokenTerms)]

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        for terms in self._terms:
            terms.drawn_by = (self._seed, round(state.epoch or 0))


def _claim(folder: Path, order: Mapping[str, Any]) -> None:
    """Makes the folder; one of another order, or of none, is emptied."""
    words = json.dumps(order, sort_keys=True, default=str).encode()
    path = folder / ORDER
    if path.is_file() and path.read_bytes() == words:
        return
    if folder.is_dir():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    path.write_bytes(words)
