"""Asking the database on the site: as the command answers, and hostile texts as texts."""

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from retrieval.answering import answer
from retrieval.answering.answer import Answerer
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.encoders.lazy import load_encoder, load_selector
from retrieval.indexing.build import build_index
from retrieval.models import QaPair
from retrieval.search.search_session import Searcher
from retrieval.web import answers
from tests.retrieval.answering.saved import selector_folder, training_folder
from tests.retrieval.conftest import AddPairs
from tests.retrieval.training import tiny
from tests.retrieval.web.conftest import As

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>"
PAIRS = [
    ("How do I bake bread?", "Of flour and water."),
    ("What is the capital of France?", "Paris"),
    ("How do I boil an egg?", "Ten minutes in water."),
]


@pytest.fixture
def ask(add_pairs: AddPairs, as_: As, tmp_path: Path, settings: Any) -> Any:
    """By a tiny model with random weights; the page for a question."""
    add_pairs(PAIRS)
    settings.ENCODER_MODEL = str(tiny.retriever(tmp_path / "retriever"))
    encoder = load_encoder(settings.ENCODER_MODEL, "cpu")
    build_index(settings.ENCODER_MODEL, "QQ", "cpu", encoder=encoder)
    browser = as_("looker")
    return lambda question: browser.get(reverse("database-ask"), {"q": question})


def test_the_answer_is_the_one_that_the_selector_chooses(
    ask: Any, tmp_path: Path, settings: Any
) -> None:
    settings.SELECTOR = str(selector_folder(tmp_path / "chooses"))
    found = ask("how do I make a loaf").context["result"]
    searcher = Searcher(build_index(settings.ENCODER_MODEL, "QQ", "cpu"), "cpu")
    selector = load_selector(tmp_path / "chooses", "cpu")
    assert found == Answerer(searcher, selector).answer("how do I make a loaf")
    assert found.selector == "chooses"
    page = ask("how do I make a loaf").content.decode()
    assert "Chosen by the answer selector chooses, for which no threshold is known" in page
    assert found.answer.pair.answer in page


def test_what_the_page_loads_while_its_reader_types_has_the_selector(
    ask: Any, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, as_: As
) -> None:
    answers._selector.cache_clear()
    browser, warm = as_("looker"), reverse("database-warm")
    settings.SELECTOR = str(tmp_path / "nothing here")
    assert browser.get(warm).status_code == 204
    settings.SELECTOR = str(selector_folder(tmp_path / "chooses"))
    assert browser.get(warm).status_code == 204
    monkeypatch.setattr(answers, "load_selector", None)  # it is not loaded again
    assert ask("how do I make a loaf").context["result"].selector == "chooses"


def test_below_the_threshold_the_page_says_so_and_shows_the_nearest(
    ask: Any, tmp_path: Path, settings: Any
) -> None:
    training = training_folder(tmp_path / "trained", threshold=0.9999)
    selector_folder(training / "seed-2/model")
    settings.SELECTOR = str(training)
    response = ask("how do I make a loaf")
    page = response.content.decode()
    assert response.status_code == 200
    assert "No confident answer" in page
    assert "Read by the answer selector trained: no score reaches 0.9999." in page
    assert "Nearest pairs" in page
    assert all(pair.answer in page for pair in QaPair.objects.all())


@pytest.mark.parametrize("named", ["trained", "trained/seed-2/model"])
def test_the_page_names_the_selector_before_it_is_asked(
    as_: As, tmp_path: Path, settings: Any, named: str
) -> None:
    training_folder(tmp_path / "trained")
    settings.SELECTOR = str(tmp_path / named)
    page = as_("looker").get(reverse("database-ask")).content.decode()
    assert "the answer selector trained scores each of them" in page


def test_without_a_selector_the_page_says_that_the_retriever_answers(ask: Any) -> None:
    response = ask("how do I bake bread?")
    assert response.context["result"].best.pair.question == "How do I bake bread?"
    page = response.content.decode()
    assert "No answer selector is set. The score is the retriever" in page
    assert "none known" in page  # the licence


def test_below_its_own_threshold_a_retriever_gives_no_answer(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "retrievers_threshold", lambda _: 0.9999)
    page = ask("bread").content.decode()
    assert "No confident answer" in page
    assert "The score is the retriever's cosine: none reaches 0.9999." in page


def test_a_withdrawn_pair_is_no_answer_from_the_next_question_on(ask: Any) -> None:
    best = ask("how do I bake bread?").context["result"].best.pair
    withdraw_pairs([best.pair_key])
    after = ask("how do I bake bread?").context["result"]
    assert best not in [one.pair for one in after.ranked]


def test_hostile_texts_are_shown_as_texts(ask: Any, add_pairs: AddPairs, settings: Any) -> None:
    add_pairs([(f"what is red {HOSTILE}", f"blue {HOSTILE}")], f"s{HOSTILE}")
    QaPair.objects.filter(source__startswith="s<").update(license=HOSTILE)
    build_index(settings.ENCODER_MODEL, "QQ", "cpu")
    answer = ask(f"what is red {HOSTILE}")
    assert answer.status_code == 200
    assert HOSTILE not in answer.content.decode()
    assert answer.content.decode().count("&lt;script&gt;") >= 5


def test_a_question_is_asked_only_where_there_is_one(ask: Any) -> None:
    for nothing in ("", "  "):
        answer = ask(nothing)
        assert (answer.status_code, answer.context["result"]) == (200, None)


@pytest.mark.parametrize(("asked", "status"), [("x" * 20_000, 422), ("a\0b", 422), ("\ud7ff", 200)])
def test_what_cannot_be_asked_is_no_error(ask: Any, asked: str, status: int) -> None:
    assert ask(asked).status_code == status


def test_a_selector_that_is_not_there_is_told(ask: Any, settings: Any) -> None:
    settings.SELECTOR = "/nowhere"
    answer = ask("how do I bake bread?")
    assert answer.status_code == 422
    assert "There is no selector &#x27;/nowhere&#x27;" in answer.content.decode()


def test_without_an_index_the_page_says_what_to_do(as_: As) -> None:
    answer = as_("looker").get(reverse("database-ask"), {"q": "why"})
    assert answer.status_code == 422
    assert b"There is no index yet" in answer.content


def test_while_others_are_answered_a_question_does_not_hold_the_site(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PATIENCE", 0.1)
    with answers._selecting:
        answer = ask("how do I make a loaf")
    assert answer.status_code == 422
    assert "Too many questions at once: try again in a moment." in answer.content.decode()
    assert ask("how do I make a loaf").status_code == 200
