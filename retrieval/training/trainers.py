"""The library's trainers, less its model cards, which read every text again to tell of them (Quorum
writes a card of its own), and with the same batches of dev for every seed: the losses of other
batches do not compare. Import it through lazy.py: it loads torch."""

from typing import Any

import torch
from sentence_transformers import CrossEncoderTrainer, SentenceTransformerTrainer

DEV_SEED = 0


class _Comparable:
    eval_dataset: Any

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
        return super().get_batch_sampler(  # type: ignore[misc]
            dataset, batch_size, drop_last, valid_label_columns, generator, seed
        )


class RetrieverTrainer(_Comparable, SentenceTransformerTrainer): ...


class SelectorTrainer(_Comparable, CrossEncoderTrainer): ...
