"""In what arithmetic to encode: half precision where the nearest pairs stay the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.forward import require_precision
from retrieval.encoders.loading import chosen_device
from retrieval.vectors.types import Vectors

NEAREST = 30
QUERIES = 500
WANTED = 0.99


@dataclass(frozen=True)
class Precision:
    name: str
    reason: str


def choose(
    model: str, device: str, wanted: str, texts: Sequence[tuple[str, str]], form: str
) -> Precision:
    """`texts`: a sample of the pairs to be encoded."""
    target = chosen_device(device)
    if wanted != "auto":
        require_precision(wanted, target)
        return Precision(wanted, "as asked for")
    if target == "cuda":
        return Precision("fp16", "a GPU computes in half precision several times faster")
    # Without these units bf16 is slower than fp32.
    if not torch.cpu.get_capabilities().get("amx_bf16"):
        return Precision("fp32", "this CPU has no AMX units for bf16")
    share = agreement(model, texts, form, "bf16")
    words = f"bf16 gives {share:.1%} of the top {NEAREST} of fp32 among {len(texts):,} pairs"
    return Precision("bf16" if share >= WANTED else "fp32", words)


def agreement(model: str, texts: Sequence[tuple[str, str]], form: str, precision: str) -> float:
    """The share of each question's nearest pairs that stay so when pairs are encoded like this."""
    exact, rounded = load_encoder(model, "cpu"), load_encoder(model, "cpu", precision=precision)
    questions = [question for question, _ in texts]
    asked = exact.encode_questions(questions[:QUERIES])
    if form == "QQA":
        return shared_nearest(asked, exact.encode_pairs(texts), rounded.encode_pairs(texts))
    return shared_nearest(
        asked, exact.encode_questions(questions), rounded.encode_questions(questions)
    )


def shared_nearest(asked: Vectors, exact: Vectors, rounded: Vectors) -> float:
    """Query n is the question of pair n, which is none of its own neighbours."""
    k = min(NEAREST, len(exact) - 1)
    if k < 1 or not len(asked):
        return 1.0
    pairs = zip(_nearest(asked, exact, k), _nearest(asked, rounded, k), strict=True)
    return float(np.mean([len(np.intersect1d(*both)) / k for both in pairs]))


def _nearest(asked: Vectors, pairs: Vectors, k: int) -> np.ndarray:
    scores = asked @ pairs.T
    np.fill_diagonal(scores, -np.inf)
    return np.argpartition(-scores, k - 1, axis=1)[:, :k]
