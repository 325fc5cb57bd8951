"""One batch through the model's own layers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

from core.errors import UserError
from retrieval.vectors.types import Vectors

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def require_precision(precision: str, device: str) -> None:
    if precision not in TYPES:
        known = ", ".join(TYPES)
        raise UserError(f"There is no precision {precision!r}: choose one of auto, {known}.")
    if precision == "fp16" and device == "cpu":
        raise UserError("A CPU does not compute in fp16: use --precision fp32 or --device cuda.")


def forward(model: SentenceTransformer, features: Mapping[str, Any], dimension: int) -> Vectors:
    with torch.inference_mode():
        given = {name: _on_device(value, model.device) for name, value in features.items()}
        vectors = model(given)["sentence_embedding"]
        # Lengths in fp32: half precision has no digits for a sum of squares.
        return np.asarray(normalize(vectors[:, :dimension].float(), dim=1).cpu().numpy())


def _on_device(value: Any, device: torch.device) -> Any:
    return torch.from_numpy(value).to(device) if isinstance(value, np.ndarray) else value
