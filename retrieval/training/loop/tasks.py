"""What the trainers need to know of each kind of model. Import it through lazy.py: torch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import (
    CrossEncoderTrainingArguments,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.training_args import BatchSamplers

from core.errors import UserError
from retrieval.encoders.cross_encoder.load import new_selector, save_selector
from retrieval.encoders.loading import load_model
from retrieval.training.loop.fit import Task
from retrieval.training.loop.trainers import RetrieverTrainer, SelectorTrainer
from retrieval.training.losses import LOSSES
from retrieval.training.recipe import Recipe


def task_of(recipe: Recipe, base: str, max_length: int, device: str) -> Task:
    """`base`: the recipe's, or the folder of the model that was trained from it first."""
    if recipe.kind == "selector":
        return Task(
            make_model=lambda: _of_length(
                new_selector(base, device, max_length=max_length), base, max_length
            ),
            make_loss=LOSSES[recipe.loss].load(),
            trainer=SelectorTrainer,
            arguments=CrossEncoderTrainingArguments,
            options={},
        )
    # A question's other positives must not stand among its negatives.
    once = recipe.in_batch_negatives
    sampler = BatchSamplers.NO_DUPLICATES if once else BatchSamplers.BATCH_SAMPLER
    return Task(
        make_model=_retriever(base, max_length, device),
        make_loss=LOSSES[recipe.loss].load(),
        trainer=RetrieverTrainer,
        arguments=SentenceTransformerTrainingArguments,
        options={"batch_sampler": sampler},
    )


def save(recipe: Recipe, model: Any, folder: Path) -> None:
    """The library's own card is left out: it would run the model, and Quorum writes one."""
    if recipe.kind == "selector":
        save_selector(model, folder, recipe.form)
    else:
        model.save_pretrained(str(folder), create_model_card=False)


def _retriever(base: str, max_length: int, device: str) -> Callable[[], Any]:
    def make() -> Any:
        model, _ = load_model(base, device)
        model.max_seq_length = max_length
        return _of_length(model, base, max_length)

    return make


def _of_length(model: Any, base: str, max_length: int) -> Any:
    """The model; refused where it has no places for so many tokens."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            places = module.num_embeddings - first
            if max_length > places:
                raise UserError(
                    f"{base} reads at most {places:,} tokens, not {max_length:,}: name a smaller "
                    "max_length in the recipe."
                )
    return model
