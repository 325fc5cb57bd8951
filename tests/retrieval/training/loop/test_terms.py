"""Each objective, against a computation by hand: in numbers where the vectors are chosen, in numpy
where a model makes them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

from retrieval.encoders.cross_encoder.load import new_selector
from retrieval.encoders.loading import load_model
from retrieval.training.loop.terms import OF_RETRIEVERS, RetrieverSum, SelectorSum
from retrieval.training.recipes.objectives import Term, Terms, parse_objective

ALONG, ACROSS, BETWEEN = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]
QUERIES = ["how do i bake bread", "boil a egg", "tea"]
PARTS = [["make a loaf", "flour"], ["red", "blue"], ["steep", "water"]]
LABELS = [1.0, 0.0, 1.0]
TEACHER = [0.9, 0.4, 0.2]


@pytest.fixture(scope="module")
def model(tiny_retriever: Path) -> Any:
    return load_model(str(tiny_retriever), "cpu")[0]


@pytest.fixture(scope="module")
def selector(bare: Path) -> Any:
    torch.manual_seed(3)
    return new_selector(str(bare), "cpu", max_length=32).eval()


def test_ranking_takes_the_batchs_other_candidates_and_the_hard_negatives_as_negatives(
    model: Any,
) -> None:
    anchors = torch.tensor([ALONG, ACROSS])
    positives = torch.tensor([ALONG, BETWEEN])
    negatives = torch.tensor([BETWEEN, ALONG])
    found = OF_RETRIEVERS["mnr"](model)([anchors, positives, negatives], None)
    # 20 times the cosines. First anchor: 20 (its own), 12, 12, 20; second: 0, 16 (its own), 16, 0.
    first = -math.log(math.exp(20) / (2 * math.exp(20) + 2 * math.exp(12)))
    second = -math.log(math.exp(16) / (2 * math.exp(16) + 2 * math.exp(0)))
    assert found.item() == pytest.approx((first + second) / 2, abs=1e-5)


def test_symmetric_ranking_also_looks_for_the_query_of_each_candidate(model: Any) -> None:
    anchors, positives = torch.tensor([ALONG, ACROSS]), torch.tensor([ALONG, BETWEEN])
    found = OF_RETRIEVERS["mnr-symmetric"](model)([anchors, positives], None)
    # Cosines: first anchor 1 (its own), 0.6; second 0, 0.8 (its own).
    forward = [math.log(1 + math.exp(-8)), math.log(1 + math.exp(-16))]
    backward = [math.log(1 + math.exp(-20)), math.log(1 + math.exp(-4))]
    by_hand = (sum(forward) / 2 + sum(backward) / 2) / 2
    assert found.item() == pytest.approx(by_hand, abs=1e-5)


def test_contrast_counts_only_what_is_hard(model: Any) -> None:
    one = torch.tensor([ALONG, ALONG, ALONG, ALONG])
    other = torch.tensor([BETWEEN, ALONG, [0.8, 0.6], ACROSS])
    found = OF_RETRIEVERS["contrastive"](model)([one, other], torch.tensor([1, 1, 0, 0]))
    # Distances: positives 0.4 and 0, negatives 0.2 and 1. The nearest negative lies at 0.2, so
    # only the positive at 0.4 is hard; the furthest positive at 0.4, so only the negative at 0.2
    # is, by 0.3 within the margin of 0.5.
    assert found.item() == pytest.approx(0.4**2 + 0.3**2, abs=1e-6)


def test_contrast_reads_ranked_rows_as_pairs_with_their_labels(model: Any) -> None:
    anchors = torch.tensor([ALONG, ALONG])
    positives, negatives = torch.tensor([BETWEEN, ALONG]), torch.tensor([[0.8, 0.6], ACROSS])
    found = OF_RETRIEVERS["contrastive"](model)([anchors, positives, negatives], None)
    assert found.item() == pytest.approx(0.4**2 + 0.3**2, abs=1e-6)  # as above


def test_ranking_reads_questions_with_their_answers_as_one_input(model: Any) -> None:
    anchors = ["how do i bake bread", "boil a egg"]
    pairs = [["make a loaf", "flour of water"], ["egg", "ten minutes"]]
    features = [model.preprocess(anchors), model.preprocess(pairs)]
    found = RetrieverSum(model, parse_objective("retriever", "mnr"))(features, None)
    ours = model.encode(anchors, normalize_embeddings=True)
    theirs = model.encode([tuple(pair) for pair in pairs], normalize_embeddings=True)
    logits = 20 * ours @ theirs.T
    by_hand = np.mean([np.log(np.exp(row).sum()) - row[n] for n, row in enumerate(logits)])
    assert found.item() == pytest.approx(by_hand, abs=1e-4)


def test_a_sum_weighs_its_terms(model: Any) -> None:
    anchors, pairs = QUERIES[:2], [["make a loaf", "flour"], ["egg", "ten minutes"]]

    def loss(objective: object) -> float:
        features = [
            model.preprocess(anchors),
            model.preprocess(pairs),
            model.preprocess(pairs[::-1]),
        ]
        terms = parse_objective("retriever", objective)
        return RetrieverSum(model, terms, weight=2)(features, None).item()

    whole = loss({"mnr": 1, "contrastive": 0.5})
    assert whole == pytest.approx(loss("mnr") + 0.5 * loss("contrastive"), rel=1e-5)


@pytest.mark.parametrize(
    "objective", ["mnr", "contrastive", {"mnr-symmetric": 1, "contrastive": 2}]
)
def test_a_batch_read_in_parts_has_the_loss_and_gradients_of_one_read_at_once(
    model: Any, objective: object
) -> None:
    """Without dropout, which draws otherwise."""
    texts = ["how do i bake bread", "boil a egg", "tea", "fix a flat tyre", "red"]
    columns = [texts, [f"{text} of" for text in texts], texts[::-1]]
    terms = parse_objective("retriever", objective)

    sizes: list[int] = []
    model.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0]["input_ids"])))

    def learned(parts: int | None) -> tuple[float, list[torch.Tensor]]:
        model.zero_grad()
        sizes.clear()
        loss = RetrieverSum(model, terms, weight=3, mini_batch_size=parts)(
            [model.preprocess(column) for column in columns], None
        )
        loss.backward()
        gradients = [one.grad for one in model.parameters() if one.grad is not None]
        return loss.item(), [one.clone() for one in gradients]

    loss, gradients = learned(None)
    in_parts, theirs = learned(2)
    assert max(sizes) == 2
    assert in_parts == pytest.approx(loss, abs=1e-5)
    for one, other in zip(gradients, theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    assert max(one.abs().max().item() for one in gradients) > 0.01


def of_selector(selector: Any, objective: object, labels: object) -> torch.Tensor:
    terms = parse_objective("selector", objective)
    found: torch.Tensor = SelectorSum(selector, terms)([QUERIES, PARTS], torch.tensor(labels))
    return found


def with_teacher(teacher: list[float]) -> list[list[float]]:
    return [list(both) for both in zip(LABELS, teacher, strict=True)]


def test_a_selectors_loss_is_the_surprise_at_each_label(selector: Any) -> None:
    found = of_selector(selector, "binary", LABELS)
    scores = selector.predict(list(zip(QUERIES, PARTS, strict=True)))
    by_hand = -np.mean(
        [math.log(p if label else 1 - p) for p, label in zip(scores, LABELS, strict=True)]
    )
    assert found.item() == pytest.approx(by_hand, abs=1e-5)
    librarys = BinaryCrossEntropyLoss(selector)([QUERIES, PARTS], torch.tensor(LABELS))
    assert found.item() == librarys.item()


def test_hintons_distillation_weighs_the_labels_against_the_teachers_scores(selector: Any) -> None:
    found = of_selector(selector, {"distil-hinton": {"lambda": 0.3}}, with_teacher(TEACHER))
    scores = selector.predict(list(zip(QUERIES, PARTS, strict=True)))
    own = of_selector(selector, "binary", LABELS).item()
    theirs = np.mean([(p - t) ** 2 for p, t in zip(scores, TEACHER, strict=True)])
    assert found.item() == pytest.approx(0.7 * own + 0.3 * theirs, abs=1e-5)


def test_gabburos_distillation_counts_less_what_the_teacher_is_sure_of(selector: Any) -> None:
    found = of_selector(selector, "distil-gabburo", with_teacher(TEACHER))
    scores = selector.predict(list(zip(QUERIES, PARTS, strict=True)))
    by_hand = -np.mean(
        [
            math.log(p if label else 1 - p) * (1 - teacher)
            for p, label, teacher in zip(scores, LABELS, TEACHER, strict=True)
        ]
    )
    assert found.item() == pytest.approx(by_hand, abs=1e-5)


def test_numbers_of_which_several_are_named_are_an_axis() -> None:
    terms: Terms = parse_objective("selector", {"distil-hinton": {"lambda": [0, 0.5]}, "binary": 2})
    assert terms == (Term("distil-hinton", (1.0,), (0.0, 0.5)), Term("binary", (2.0,)))
    assert [one.axes() for one in terms[0].variants()] == [
        {"distil-hinton weight": 1.0, "distil-hinton lambda": 0.0},
        {"distil-hinton weight": 1.0, "distil-hinton lambda": 0.5},
    ]
