"""What the trainers need to know of each kind of model. Import it through lazy.py: torch."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import (
    CrossEncoderTrainingArguments,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.sampler import MultiDatasetBatchSamplers

from core.errors import UserError
from retrieval.encoders.cross_encoder.load import new_selector, save_selector
from retrieval.encoders.loading import load_model
from retrieval.training.loop.fit import Losses, Setup
from retrieval.training.loop.pooling import pool
from retrieval.training.loop.terms import SUMS
from retrieval.training.loop.trainers import Batches, RetrieverTrainer, SelectorTrainer
from retrieval.training.recipes.objectives import plain
from retrieval.training.recipes.recipe import (
    PROPORTIONAL,
    ROUND_ROBIN,
    Recipe,
    Settings,
    Stage,
    Task,
)

SAMPLERS = {
    ROUND_ROBIN: MultiDatasetBatchSamplers.ROUND_ROBIN,
    PROPORTIONAL: MultiDatasetBatchSamplers.PROPORTIONAL,
}


def setup_of(recipe: Recipe, stage: Stage, settings: Settings, base: str, device: str) -> Setup:
    """`base`: the recipe's, or the folder of the model of the stage before."""
    is_selector = recipe.kind == "selector"
    objectives = settings.objectives or [task.terms for task in stage.tasks]
    losses, batches = {}, {}
    of_retrievers = {} if is_selector else {"mini_batch_size": stage.mini_batch_size}
    for task, terms in zip(stage.tasks, objectives, strict=True):
        name = name_of(task)
        losses[name] = partial(SUMS[recipe.kind], terms=terms, weight=task.weight, **of_retrievers)
        # A question's other positives must not stand among its negatives.
        batches[name] = Batches(size=task.batch_size, each_text_once=task.is_ranked)
    length = settings.max_length
    return Setup(
        make_model=_selector(base, length, device)
        if is_selector
        else _retriever(base, length, device, stage.pooling),
        make_losses=losses,
        trainer=SelectorTrainer if is_selector else RetrieverTrainer,
        arguments=CrossEncoderTrainingArguments
        if is_selector
        else SentenceTransformerTrainingArguments,
        options={"multi_dataset_batch_sampler": SAMPLERS[stage.curriculum]},
        batches=batches,
        comparable=_comparable(recipe, stage) if _is_scaled(stage, settings) else None,
    )


def _is_scaled(stage: Stage, settings: Settings) -> bool:
    """Unlike in other combinations."""
    return bool(settings.objectives) or any("weight" in task.searched for task in stage.tasks)


def _comparable(recipe: Recipe, stage: Stage) -> Losses:
    """Lambdas and weights scale a loss: the lowest would be that of the largest or smallest."""
    return {
        name_of(task): partial(
            SUMS[recipe.kind],
            terms=plain(recipe.kind, task.terms),
            weight=1.0 if "weight" in task.searched else task.weight,
        )
        for task in stage.tasks
    }


def name_of(task: Task) -> str:
    """Unlike that of the stage's others."""
    return f"{task.material}-{task.form}"


def save(recipe: Recipe, model: Any, folder: Path) -> None:
    """The library's own card is left out: it would run the model, and Quorum writes one."""
    if recipe.kind == "selector":
        save_selector(model, folder, recipe.form)
    else:
        model.save_pretrained(str(folder), create_model_card=False)


def _selector(base: str, max_length: int, device: str) -> Callable[[], Any]:
    def make() -> Any:
        return _of_length(new_selector(base, device, max_length=max_length), base, max_length)

    return make


def _retriever(base: str, max_length: int, device: str, pooling: str | None) -> Callable[[], Any]:
    def make() -> Any:
        model, _ = load_model(base, device)
        model.max_seq_length = max_length
        pool(model, base, pooling)
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
