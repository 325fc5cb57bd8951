"""Questions and their answers in the API."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from retrieval.encoders.lazy import load_encoder
from retrieval.indexing.build import build_index
from retrieval.web.answers import answered
from tests.annotation.api.people import Program, is_problem
from tests.retrieval.answering.saved import selector_folder, training_folder
from tests.retrieval.conftest import AddPairs
from tests.retrieval.training import tiny

PAIRS = [
    ("How do I bake bread?", "Of flour and water."),
    ("What is the capital of France?", "Paris"),
    ("How do I boil an egg?", "Ten minutes in water."),
]


@pytest.fixture
def ada(add_pairs: AddPairs, tmp_path: Path, settings: Any) -> Program:
    """Over an index by a tiny model with random weights."""
    add_pairs(PAIRS)
    settings.ENCODER_MODEL = str(tiny.retriever(tmp_path / "retriever"))
    encoder = load_encoder(settings.ENCODER_MODEL, "cpu")
    build_index(settings.ENCODER_MODEL, "QQ", "cpu", encoder=encoder)
    user = User.objects.create_user("ada")
    user.user_permissions.add(Permission.objects.get(codename="view_qapair"))
    return Program(user)


def test_a_question_is_answered_as_on_the_page(ada: Program, tmp_path: Path, settings: Any) -> None:
    settings.SELECTOR = str(selector_folder(tmp_path / "chooses"))
    report = ada.post("pairs/answer", {"question": "how do I make a loaf", "k": 2})
    wanted, _ = answered("how do I make a loaf", 2)
    assert report.status_code == 200
    assert wanted.answer
    rows = [report.json()["answer"], *report.json()["nearest"]]
    assert [(row["pair"], row["score"], row["rank"]) for row in rows] == [
        (one.pair.pk, one.score, one.rank) for one in wanted.ranked
    ]
    assert rows[0]["answer"] == wanted.answer.pair.answer
    assert {name: report.json()[name] for name in ("candidates", "selector", "threshold")} == {
        "candidates": 2, "selector": "chooses", "threshold": None,
    }  # fmt: skip


def test_where_none_is_sure_enough_the_answer_is_null(
    ada: Program, tmp_path: Path, settings: Any
) -> None:
    training = training_folder(tmp_path / "trained", threshold=0.9999)
    selector_folder(training / "seed-2/model")
    settings.SELECTOR = str(training)
    report = ada.post("pairs/answer", {"question": "how do I make a loaf"}).json()
    assert (report["answer"], report["threshold"], len(report["nearest"])) == (None, 0.9999, 3)


def test_without_a_selector_the_retriever_answers_and_the_api_says_so(ada: Program) -> None:
    report = ada.post("pairs/answer", {"question": " how do I bake bread? "}).json()
    assert (report["question"], report["selector"]) == ("how do I bake bread?", None)
    assert report["answer"]["question"] == "How do I bake bread?"


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"question": ""},
        {"question": "x" * 10_001},
        {"question": 7},
        {"question": "why", "k": 0},
        {"question": "why", "k": 1_001},
        {"question": "why", "k": "500"},
        {"question": "why", "selector": "/etc"},
    ],
)
def test_what_is_no_question_is_refused(ada: Program, sent: dict[str, object]) -> None:
    assert is_problem(ada.post("pairs/answer", sent), 400)


def test_a_selector_that_is_not_there_is_told(ada: Program, settings: Any) -> None:
    settings.SELECTOR = "/nowhere"
    answer = ada.post("pairs/answer", {"question": "why"})
    assert is_problem(answer, 422)
    assert "There is no selector" in answer.json()["detail"]
