"""Each loss, against a computation by hand: in numbers where the vectors are chosen, in numpy
where a model makes them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from retrieval.encoders.cross_encoder.load import new_selector
from retrieval.encoders.loading import load_model
from retrieval.training.losses import LOSSES

ALONG, ACROSS, BETWEEN = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]


@pytest.fixture(scope="module")
def model(tiny_retriever: Path) -> Any:
    return load_model(str(tiny_retriever), "cpu")[0]


def test_ranking_takes_the_batchs_other_candidates_and_the_hard_negatives_as_negatives(
    model: Any,
) -> None:
    anchors = torch.tensor([ALONG, ACROSS])
    positives = torch.tensor([ALONG, BETWEEN])
    negatives = torch.tensor([BETWEEN, ALONG])
    found = (
        LOSSES["multiple-negatives-ranking"]
        .load()(model)
        .compute_loss_from_embeddings([anchors, positives, negatives], torch.tensor([]))
    )
    # 20 times the cosines. First anchor: 20 (its own), 12, 12, 20; second: 0, 16 (its own), 16, 0.
    first = -math.log(math.exp(20) / (2 * math.exp(20) + 2 * math.exp(12)))
    second = -math.log(math.exp(16) / (2 * math.exp(16) + 2 * math.exp(0)))
    assert found.item() == pytest.approx((first + second) / 2, abs=1e-5)


def test_contrast_counts_only_what_is_hard(model: Any) -> None:
    one = torch.tensor([ALONG, ALONG, ALONG, ALONG])
    other = torch.tensor([BETWEEN, ALONG, [0.8, 0.6], ACROSS])
    found = (
        LOSSES["online-contrastive"]
        .load()(model)
        .compute_loss_from_embeddings([one, other], torch.tensor([1, 1, 0, 0]))
    )
    # Distances: positives 0.4 and 0, negatives 0.2 and 1. The nearest negative lies at 0.2, so
    # only the positive at 0.4 is hard; the furthest positive at 0.4, so only the negative at 0.2
    # is, by 0.3 within the margin of 0.5.
    assert found.item() == pytest.approx(0.4**2 + 0.3**2, abs=1e-6)


def test_ranking_reads_questions_with_their_answers_as_one_input(model: Any) -> None:
    anchors = ["how do i bake bread", "boil a egg"]
    pairs = [["make a loaf", "flour of water"], ["egg", "ten minutes"]]
    features = [model.preprocess(anchors), model.preprocess(pairs)]
    found = LOSSES["multiple-negatives-ranking"].load()(model)(features, None)
    ours = model.encode(anchors, normalize_embeddings=True)
    theirs = model.encode([tuple(pair) for pair in pairs], normalize_embeddings=True)
    logits = 20 * ours @ theirs.T
    by_hand = np.mean([np.log(np.exp(row).sum()) - row[n] for n, row in enumerate(logits)])
    assert found.item() == pytest.approx(by_hand, abs=1e-4)


def test_a_selectors_loss_is_the_surprise_at_each_label(bare: Path) -> None:
    torch.manual_seed(3)
    model = new_selector(str(bare), "cpu", max_length=32).eval()
    queries = ["how do i bake bread", "boil a egg", "tea"]
    parts = [["make a loaf", "flour"], ["red", "blue"], ["steep", "water"]]
    labels = [1.0, 0.0, 1.0]
    found = LOSSES["binary-cross-entropy"].load()(model)([queries, parts], torch.tensor(labels))
    scores = model.predict(list(zip(queries, parts, strict=True)))
    by_hand = -np.mean(
        [math.log(p if label else 1 - p) for p, label in zip(scores, labels, strict=True)]
    )
    assert found.item() == pytest.approx(by_hand, abs=1e-5)
