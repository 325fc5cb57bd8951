"""Selecting among 500 candidates of one question, and whether a GPU scores as the CPU does."""

import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks.models.data import pairs_to_learn
from benchmarks.models.speed import SMALL, Scale
from benchmarks.quality.tasks import MINILM
from benchmarks.retrieval.encoding import sample
from retrieval.encoders.cross_encoder.load import TrainedSelector, new_selector

TARGET_MS = 50
LONGEST = 256  # tokens


def run(size: str, *, device: str, model: str = MINILM) -> dict[str, Any]:
    scale = replace(SMALL if size == "small" else Scale(), base=model)
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"model": model, "device": name, **measured(device, scale)}


def measured(device: str, scale: Scale) -> dict[str, Any]:
    """By what is read of real pairs: weights do not change the time."""
    query, *_ = next(pairs_to_learn())
    pairs = sample(scale.selected)
    ms, apart = {}, {}
    for form in ("QQ", "QAQ"):
        model = new_selector(scale.base, "cpu", max_length=LONGEST).eval()
        on_cpu = TrainedSelector(model, scale.base, form).score(query, pairs)
        selector = TrainedSelector(model.to(device), scale.base, form)
        scores = selector.score(query, pairs)
        taken = []
        for _ in range(scale.rounds):
            began = time.perf_counter()
            selector.score(query, pairs)  # a list: the device has answered
            taken.append(1000 * (time.perf_counter() - began))
        ms[form] = round(median(taken), 1)
        apart[form] = float(np.abs(np.subtract(scores, on_cpu)).max())
    return {
        f"select_{scale.selected}_ms": ms,
        "target_on_a_gpu_ms": TARGET_MS,
        "largest_difference_from_cpu": apart,
    }


def in_words(found: Mapping[str, Any]) -> str:
    [(what, taken)] = ((name, each) for name, each in found.items() if name.startswith("select_"))
    times = ", ".join(f"{form} {ms:,} ms" for form, ms in taken.items())
    return f"{what.split('_')[1]} candidates of one question: {times}"
