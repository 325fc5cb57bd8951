"""Systems on questions with known answers: each figure by hand."""

import pytest
from scipy import stats

from retrieval.answering.ablations import FULL, NEURAL, PAPER, SELECTOR, System
from retrieval.answering.answer import Answerer
from retrieval.answering.known_answers import KnownQuestion
from retrieval.answering.scoring import Outcome, outcomes, rows
from retrieval.models import IndexVersion
from retrieval.search.search_session import Searcher
from tests.retrieval.answering.overlap import OverlapSelector
from tests.retrieval.commands.weather import KEYWORDS, build
from tests.retrieval.conftest import AddPairs

INDEX = IndexVersion(path="qqa-1")
SYSTEMS = [
    System(FULL, INDEX, "folder"),
    System(NEURAL, INDEX, "folder", ("bm25",)),
    System(SELECTOR, INDEX, None),
]
RIGHT, WRONG = Outcome(right=True, answered=True), Outcome(right=False, answered=True)
LEFT = Outcome(right=False, answered=False)


@pytest.mark.django_db
def test_questions_are_answered_and_compared_with_the_known_answers(add_pairs: AddPairs) -> None:
    add_pairs([("What is rain?", "Water."), ("What is snow?", "The frozen  water!")])
    answerer = Answerer(
        Searcher(build("QQ"), encoder=KEYWORDS), OverlapSelector("QQ"), threshold=0.5
    )
    asked = [
        KnownQuestion("what is rain", ("H2O", "water")),
        KnownQuestion("what is snow", ("frozen water",)),
        KnownQuestion("what makes snow", ("cold",)),
        KnownQuestion("of what kind is rain in may", ("water",)),
    ]
    counted: list[int] = []
    found = outcomes(answerer, asked, 500, counted.append)
    assert found == [
        RIGHT,
        RIGHT,
        WRONG,  # what, snow: 2/3
        Outcome(right=True, answered=False),  # what, is, rain: 3/7
    ]
    assert counted == [1, 1, 1, 1]


def test_the_figures_of_each_system_by_hand() -> None:
    full = [RIGHT, RIGHT, RIGHT, WRONG, LEFT]
    words = [RIGHT, WRONG, WRONG, RIGHT, LEFT]
    alone = [LEFT] * 5
    first, second, third = rows(SYSTEMS, {FULL: full, NEURAL: words, SELECTOR: alone})
    accuracy, less, none = first["accuracy"], second["difference"], third["accuracy"]
    assert isinstance(accuracy, dict)
    assert isinstance(less, dict)
    assert isinstance(none, dict)
    assert (accuracy["value"], first["answered"], first["right_of_answered"]) == (0.6, 0.8, 0.75)
    assert accuracy["low"] < 0.6 < accuracy["high"]
    assert first["difference"] is None
    assert less["value"] == -0.2
    assert (second["answered"], second["right_of_answered"]) == (0.8, 0.5)
    assert (none["value"], third["answered"], third["right_of_answered"]) == (0, 0, None)
    assert [row["paper"] for row in (first, third)] == [
        {"quora": 58.0, "nq": 50.5, "triviaqa": 29.3},
        {"quora": 51.5, "nq": 40.0, "triviaqa": 19.0},
    ]
    assert (second["words"], second["retrievers"]) == ("BM25 for the neural search", ["bm25"])


def test_a_right_answer_counts_though_it_was_held_back() -> None:
    """As Table 4 counts: every question has a best pair."""
    [row] = rows(SYSTEMS[:1], {FULL: [Outcome(right=True, answered=False), WRONG]})
    assert (row["accuracy"]["value"], row["answered"]) == (0.5, 0.5)  # type: ignore[index]


def test_the_interval_is_that_of_the_binomial_distribution_where_that_holds() -> None:
    found = [RIGHT] * 300 + [WRONG] * 700
    [row] = rows(SYSTEMS[:1], {FULL: found})
    accuracy = row["accuracy"]
    assert isinstance(accuracy, dict)
    low, high = stats.binom.interval(0.95, 1000, 0.3)
    assert (accuracy["low"], accuracy["high"]) == pytest.approx(
        (low / 1000, high / 1000), abs=0.006
    )


def test_systems_are_compared_question_by_question() -> None:
    """Ten questions that one answers and the other does not: of 2^10 flips, 2 are as extreme."""
    better, worse = [RIGHT] * 10 + [WRONG] * 10, [WRONG] * 20
    *_, row = rows(SYSTEMS[:2], {FULL: better, NEURAL: worse})
    less = row["difference"]
    assert isinstance(less, dict)
    assert less["value"] == -0.5
    assert less["p"] == pytest.approx(2 / 2**10, abs=0.0012)


def test_the_paper_s_table_4_by_hand() -> None:
    """Its ablations lie at or below the whole system; its text says BM25 costs 19 points."""
    whole = PAPER[FULL]
    assert all(
        ours <= best for one in PAPER.values() for ours, best in zip(one, whole, strict=True)
    )
    assert whole.quora - PAPER[NEURAL].quora == 19
    assert whole.nq - PAPER["dataset"].nq == 3.5
    assert round(whole.triviaqa - PAPER["dataset"].triviaqa, 1) == 1.3
