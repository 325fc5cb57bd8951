"""What one would write with sentence-transformers alone: `speed` measures ours beside it.

The same trainers, losses, settings and evaluations; nothing of ours is imported.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import (
    CrossEncoder,
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.sampler import BatchSamplers
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sentence_transformers.sentence_transformer.losses import (
    MultipleNegativesRankingLoss,
    OnlineContrastiveLoss,
)

Pair = tuple[str, str]


def train_cross_encoder(
    base: str, train: Dataset, dev: Dataset, settings: dict[str, Any], length: int, device: str
) -> CrossEncoder:
    model: CrossEncoder = CrossEncoder(base, num_labels=1, max_length=length, device=device)
    CrossEncoderTrainer(
        model=model,
        args=CrossEncoderTrainingArguments(**settings),
        train_dataset=train,
        eval_dataset=dev,
        loss=BinaryCrossEntropyLoss(model),
    ).train()
    return model


def train_bi_encoder(
    base: str, train: Dataset, dev: Dataset, settings: dict[str, Any], length: int, device: str
) -> SentenceTransformer:
    model: SentenceTransformer = SentenceTransformer(base, device=device)
    model.max_seq_length = length
    # Labelled pairs, or pairs that all fit.
    is_labelled = "label" in train.column_names
    loss = OnlineContrastiveLoss(model) if is_labelled else MultipleNegativesRankingLoss(model)
    sampler = BatchSamplers.BATCH_SAMPLER if is_labelled else BatchSamplers.NO_DUPLICATES
    SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(**settings, batch_sampler=sampler),
        train_dataset=train,
        eval_dataset=dev,
        loss=loss,
    ).train()
    return model


def settings_of(
    folder: Path, *, rate: float, batch_size: int, warmup: int, device: str
) -> dict[str, Any]:
    return {
        "output_dir": str(folder),
        "num_train_epochs": 1,
        "learning_rate": rate,
        "per_device_train_batch_size": batch_size,
        "per_device_eval_batch_size": 64,
        "warmup_steps": warmup,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 1,
        "load_best_model_at_end": True,
        "use_cpu": device == "cpu",
        "seed": 1,
        "report_to": "none",
        "logging_steps": 10,
        "disable_tqdm": True,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }


def score_by_cross_encoder(model: CrossEncoder, pairs: Sequence[Pair]) -> list[float]:
    found: list[float] = model.predict(list(pairs), batch_size=64, show_progress_bar=False).tolist()
    return found


def score_by_bi_encoder(model: SentenceTransformer, pairs: Sequence[Pair]) -> list[float]:
    queries, questions = (
        model.encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
        for texts in zip(*pairs, strict=True)
    )
    found: list[float] = (queries * questions).sum(axis=1).tolist()
    return found
