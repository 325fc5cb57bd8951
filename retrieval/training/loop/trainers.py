"""The library's trainers, less its model cards, which read every text again to tell of them (Quorum
writes a card of its own), and with the same batches of dev for every seed: the losses of other
batches do not compare. Import it through lazy.py: it loads torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoderTrainer, SentenceTransformerTrainer
from sentence_transformers.base.sampler import BatchSamplers
from transformers import TrainerState

from retrieval.training.data.batches import EveryRow
from retrieval.training.loop.checkpoints import undamaged

DEV_SEED = 0
HEADS = "heads.safetensors"  # in a checkpoint: what losses learn beside the model
# Whether a batch of dev may hold each text only once.
SAMPLERS = {True: BatchSamplers.NO_DUPLICATES, False: BatchSamplers.BATCH_SAMPLER}


@dataclass(frozen=True)
class Batches:
    """Of a task."""

    size: int | None  # None: as of all tasks
    each_text_once: bool


class _Ours:
    args: Any
    loss: Any
    train_dataset: Any
    eval_dataset: Any
    state: TrainerState
    control: Any
    callback_handler: Any

    def __init__(self, *, batches: Mapping[str, Batches], **others: Any) -> None:
        self._batches = batches
        super().__init__(**others)

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """The library's place to leave it out."""

    def get_batch_sampler(
        self,
        dataset: Any,
        batch_size: int,
        drop_last: bool,
        valid_label_columns: list[str] | None = None,
        generator: torch.Generator | None = None,
        seed: int = 0,
    ) -> Any:
        learned = self._task_of(self.train_dataset, dataset)
        if learned is not None:
            batch_size = learned.size or batch_size
            if learned.each_text_once:
                return EveryRow(dataset, batch_size, seed=seed)
        else:
            seed, generator = DEV_SEED, torch.Generator().manual_seed(DEV_SEED)
        measured = self._task_of(self.eval_dataset, dataset)
        once = measured is not None and measured.each_text_once
        self.args.batch_sampler = SAMPLERS[once]
        return super().get_batch_sampler(  # type: ignore[misc]
            dataset, batch_size, drop_last, valid_label_columns, generator, seed
        )

    def _task_of(self, rows: Any, dataset: Any) -> Batches | None:
        """Of the task whose rows these are; None where they are nobody's."""
        of_tasks = rows if isinstance(rows, dict) else {next(iter(self._batches)): rows}
        return next((self._batches[name] for name, own in of_tasks.items() if own is dataset), None)

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """Of several tasks, the loss on dev is the sum of theirs."""
        metrics: dict[str, float] = super().evaluate(  # type: ignore[misc]
            eval_dataset, ignore_keys, metric_key_prefix
        )
        if eval_dataset is None and isinstance(self.eval_dataset, dict):
            losses = [metrics[f"{metric_key_prefix}_{name}_loss"] for name in self.eval_dataset]
            whole = {f"{metric_key_prefix}_loss": sum(losses)}
            self.log(whole)  # type: ignore[attr-defined]
            self.control = self.callback_handler.on_evaluate(
                self.args, self.state, self.control, whole
            )
            metrics |= whole
        return metrics

    def take_best(self, state: TrainerState) -> None:
        """The model of the best epoch, of a training that has ended."""
        self.state = state
        self._load_best_model()

    def _load_best_model(self) -> None:
        """The library's logs what goes wrong, and leaves the last epoch's weights for the best."""
        self._load_from_checkpoint(str(self.state.best_model_checkpoint))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        with undamaged(Path(resume_from_checkpoint)):
            super()._load_from_checkpoint(resume_from_checkpoint)  # type: ignore[misc]
            if heads := self._heads():
                kept = load_file(Path(resume_from_checkpoint) / HEADS)
                with torch.no_grad():
                    for name, weights in heads.items():
                        weights.copy_(kept[name])

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        super()._save(output_dir, state_dict)  # type: ignore[misc]
        if heads := self._heads():
            save_file(heads, Path(output_dir or self.args.output_dir) / HEADS)

    def _heads(self) -> dict[str, torch.Tensor]:
        losses = self.loss if isinstance(self.loss, dict) else {"": self.loss}
        return {
            f"{task} {name}": weights.data
            for task, loss in losses.items()
            for name, weights in loss.named_parameters()
            if not name.startswith("model.")
        }

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with undamaged(Path(checkpoint or "")):
            super()._load_optimizer_and_scheduler(checkpoint)  # type: ignore[misc]

    def _load_scaler(self, checkpoint: str | None) -> None:
        with undamaged(Path(checkpoint or "")):
            super()._load_scaler(checkpoint)  # type: ignore[misc]

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with undamaged(Path(checkpoint or "")):
            super()._load_rng_state(checkpoint)  # type: ignore[misc]


class RetrieverTrainer(_Ours, SentenceTransformerTrainer):
    def get_data_collator(self, model: Any, args: Any, processing_class: Any = None) -> Any:
        """With the prompt that `encode` would put in front; most models have none."""
        args.prompts = model.prompts.get(model.default_prompt_name or "") or None
        return super().get_data_collator(model, args, processing_class)


class SelectorTrainer(_Ours, CrossEncoderTrainer): ...
