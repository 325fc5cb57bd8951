"""The library's trainers, less its model cards, which read every text again to tell of them (Quorum
writes a card of its own), and with the same batches of dev for every seed: the losses of other
batches do not compare. Import it through lazy.py: it loads torch."""

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoderTrainer, SentenceTransformerTrainer
from sentence_transformers.sentence_transformer.training_args import BatchSamplers
from transformers import TrainerState

from retrieval.training.data.batches import EveryRow
from retrieval.training.loop.checkpoints import undamaged

DEV_SEED = 0


class _Ours:
    args: Any
    eval_dataset: Any
    state: TrainerState

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
        if dataset is self.eval_dataset:
            seed, generator = DEV_SEED, torch.Generator().manual_seed(DEV_SEED)
        elif self.args.batch_sampler == BatchSamplers.NO_DUPLICATES:
            epochs = int(self.args.num_train_epochs)
            return EveryRow(dataset, batch_size, seed=seed, epochs=epochs)
        return super().get_batch_sampler(  # type: ignore[misc]
            dataset, batch_size, drop_last, valid_label_columns, generator, seed
        )

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
