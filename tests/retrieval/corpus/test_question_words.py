"""On PostgreSQL an index leads from words to the questions that have them."""

import pytest
from django.db import connection

from core.text.clean import pair_key, question_key
from retrieval.corpus import question_words
from retrieval.corpus.question_words import pks_with
from retrieval.models import QaPair

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

QUESTIONS = (
    "How far is the Moon?",
    "How do I learn C++?",
    "Is 100% of the moon made of cheese?",
    "Wo ist die Straße?",
    "how how how",
)


@pytest.fixture
def pairs() -> dict[str, int]:
    return {
        question: QaPair.objects.create(
            source="test",
            source_id=question,
            question=question,
            answer="Yes.",
            question_key=question_key(question),
            pair_key=pair_key(question, "Yes."),
        ).pk
        for question in QUESTIONS
    }


@pytest.fixture(autouse=True)
def only_postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no such index")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["MOON"], {0, 2}),
        (["moon", "far"], {0}),
        (["learn", "c++"], {1}),
        (["100%"], {2}),
        (["moon", "%"], {2}),
        (["stra", "die"], {3}),
        (["m_on"], None),  # no three letters in a row
        (["c++"], None),
        (["%", "?"], None),
        (["nowhere"], set()),
        (["how"], None),  # more than two
    ],
)
def test_words_lead_to_pairs(
    pairs: dict[str, int], words: list[str], wanted: set[int] | None
) -> None:
    pks = list(pairs.values())
    found = pks_with(words, 2)
    assert (None if found is None else set(found)) == (
        None if wanted is None else {pks[number] for number in wanted}
    )


def test_the_index_is_that_of_the_words(pairs: dict[str, int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = QaPair.objects.filter(question__icontains="moon").explain()
    assert "question_words" in plan


def test_a_search_that_takes_too_long_is_given_up(
    pairs: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_words, "with_words", lambda _words, rows: _slowly(rows))
    monkeypatch.setattr(question_words, "MOST_MS", 50)
    assert pks_with(["moon"], 2) is None
    monkeypatch.undo()
    assert pks_with(["moon"], 2) is not None  # and leaves no limit behind
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def _slowly(rows):  # type: ignore[no-untyped-def]
    return rows.extra(where=["pg_sleep(5) IS NOT NULL"]).values_list("pk", flat=True)
