from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from core.errors import UserError
from retrieval.encoders.encoder import load_encoder
from retrieval.encoders.loading import load_model
from retrieval.training.loop.pooling import pool
from retrieval.training.loop.setup import save
from retrieval.training.recipes.recipe import parse_recipe
from tests.retrieval.training.alone import fit_alone, setup
from tests.retrieval.training.loop.test_core_batches import uneven
from tests.retrieval.training.loop.test_fit import plan

TEXTS = ["how do i bake bread", "egg"]


def recipe(**values: object) -> Any:
    return parse_recipe({"kind": "retriever", "form": "QQ", "base": "tiny", **values})


def by_hand(model: Any, pooling: str) -> np.ndarray[Any, Any]:
    vectors = []
    for text in TEXTS:
        states = model[0](model.preprocess([text]))["token_embeddings"][0].detach().numpy()
        some = {
            "mean": states.mean(0),
            "mean-without-cls": states[1:].mean(0),
            "cls": states[0],
            "max": states.max(0),
        }[pooling]
        vectors.append(some / np.linalg.norm(some))
    return np.array(vectors)


@pytest.mark.parametrize("pooling", ["mean", "mean-without-cls", "cls", "max"])
def test_a_vector_is_made_of_the_tokens_that_the_pooling_names(
    tiny_retriever: Path, tmp_path: Path, pooling: str
) -> None:
    """By whoever loads the model, too."""
    model = setup(recipe(pooling=pooling), tiny_retriever).make_model()
    expected = by_hand(model, pooling)
    assert model.encode(TEXTS) == pytest.approx(expected, abs=1e-6)
    save(recipe(), model, tmp_path / "model")
    reloaded = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert reloaded.encode(TEXTS) == pytest.approx(expected, abs=1e-6)
    encoder = load_encoder(str(tmp_path / "model"), "cpu")
    assert encoder.encode_questions(TEXTS) == pytest.approx(expected, abs=1e-6)
    assert encoder.pooling == pooling


def test_the_next_stage_pools_as_the_one_before_unless_it_says_otherwise(
    tiny_retriever: Path, tmp_path: Path
) -> None:
    first = setup(recipe(pooling="mean-without-cls"), tiny_retriever).make_model()
    save(recipe(), first, tmp_path / "model")
    same = setup(recipe(), tmp_path / "model").make_model()
    assert same.encode(TEXTS) == pytest.approx(by_hand(same, "mean-without-cls"), abs=1e-6)
    other = setup(recipe(pooling="mean"), tmp_path / "model").make_model()
    assert other.encode(TEXTS) == pytest.approx(by_hand(other, "mean"), abs=1e-6)
    assert len(other) == len(load_model(str(tiny_retriever), "cpu")[0])


def test_that_cls_is_left_out_is_not_learned_away(tiny_retriever: Path, tmp_path: Path) -> None:
    rows = uneven(12)
    made = setup(recipe(pooling="mean-without-cls", hard_negatives=0), tiny_retriever)
    model = fit_alone(made, rows, rows, plan(1e-2, epochs=1, batch=4), tmp_path / "a").model
    assert model.encode(TEXTS) == pytest.approx(by_hand(model, "mean-without-cls"), abs=1e-6)


def test_a_base_without_pooling_is_refused(tiny_retriever: Path) -> None:
    model = load_model(str(tiny_retriever), "cpu")[0]
    del model[1]
    with pytest.raises(UserError, match="tiny has no pooling of tokens: leave pooling out"):
        pool(model, "tiny", "cls")
    pool(model, "tiny", None)
    assert all(torch.is_tensor(one) for one in model.parameters())
