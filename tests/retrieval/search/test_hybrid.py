"""Candidates of several retrievers: pooled, each with its ranks, as many as were asked for."""

from pathlib import Path

import numpy as np
import pytest
from django.utils import timezone

from core.errors import UserError
from retrieval.index.lexical.bm25_index import lexical_index
from retrieval.models import Candidate, QaPair, QuerySet
from retrieval.ranking.fusion import fused
from retrieval.search.retrieve import retrieve
from tests.retrieval.commands.weather import KEYWORDS, build
from tests.retrieval.conftest import AddPairs
from tests.support.query_sets import load_queries

pytestmark = pytest.mark.django_db

BOTH = ("dense", "bm25")
# The dense one knows the weather's words alone, BM25 each word.
PLAIN = [
    ("What is rain?", "Wet."),
    ("What is snow?", "White."),
    ("Is rain or snow nearer?", "Snow."),
    ("Who sells umbrellas?", "The shop."),
    ("Where are umbrellas made?", "Abroad."),
    ("How long is a day?", "Long."),
    ("Hail and fog", "Ice."),
]


def queries(folder: Path, *texts: str, name: str = "mine") -> QuerySet:
    path = folder / f"{name}.txt"
    path.write_text("\n".join(texts))
    return load_queries(name, path)


def found(query_set: QuerySet) -> list[tuple[int, str, dict[str, int] | None]]:
    rows = Candidate.objects.filter(query__query_set=query_set).order_by("query__position", "rank")
    return list(rows.values_list("rank", "pair__question", "found_by"))


def test_each_retriever_brings_what_the_other_misses(add_pairs: AddPairs, tmp_path: Path) -> None:
    add_pairs(PLAIN)
    build("QQ")
    mine = queries(tmp_path, "Umbrellas, umbrellas in the rain")
    assert retrieve(mine, k=2, retrievers=BOTH, encoder=KEYWORDS) == 2
    by_whom = {question: by for _, question, by in found(mine)}
    assert by_whom.pop("What is rain?") == {"dense": 1}
    [(umbrellas, by)] = by_whom.items()
    assert umbrellas in {"Who sells umbrellas?", "Where are umbrellas made?"}
    assert by == {"bm25": 1}
    assert mine.retrieval == {"retrievers": ["dense", "bm25"]}


def test_a_pool_is_the_fusion_of_both_rankings_with_the_cosines(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    """BM25's ranking is asked of its index, the dense one's of every vector."""
    add_pairs(PLAIN)
    version = build("QQ")
    text = "umbrellas, snow and a long day"
    mine = queries(tmp_path, text)
    retrieve(mine, k=4, retrievers=BOTH, encoder=KEYWORDS)
    pairs = {pair.pair_key: pair.question for pair in QaPair.objects.all()}
    ordered = sorted(pairs)
    vectors = KEYWORDS.encode_questions([pairs[key] for key in ordered]).astype(np.float64)
    cosines = np.round(vectors @ KEYWORDS.encode_questions([text])[0].astype(np.float64), 6)
    dense = sorted(ordered, key=lambda key: (-cosines[ordered.index(key)], key))[:4]
    rows, scores = lexical_index(version).search([text], 4, np.zeros(len(ordered), np.bool_))
    bm25 = [ordered[row] for row in rows[0][scores[0] > 0]]
    pool = fused({"dense": dense, "bm25": bm25}, 4)
    stored = Candidate.objects.filter(query__query_set=mine).order_by("rank")
    assert list(stored.values_list("pair__pair_key", "found_by", "score")) == [
        (one.key, one.found_by, cosines[ordered.index(one.key)]) for one in pool
    ]


def test_bm25_alone_finds_exactly_as_many_whatever_words_there_are(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PLAIN)
    build("QQ")
    mine = queries(tmp_path, "umbrellas", "???x unheard of")
    retrieve(mine, k=5, retrievers=["bm25"], encoder=KEYWORDS)
    rows = found(mine)
    assert [rank for rank, _, _ in rows] == [1, 2, 3, 4, 5] * 2
    assert {question for _, question, _ in rows[:2]} == {
        "Who sells umbrellas?",
        "Where are umbrellas made?",
    }
    assert [by for _, _, by in rows] == [{"bm25": rank} for rank in (1, 2, 3, 4, 5)] * 2


def test_a_pair_without_a_word_of_the_query_is_not_found_by_bm25(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PLAIN)
    build("QQ")
    mine = queries(tmp_path, "umbrellas")
    retrieve(mine, k=6, retrievers=BOTH, encoder=KEYWORDS)
    by_bm25 = {question for _, question, by in found(mine) if by and "bm25" in by}
    assert by_bm25 == {"Who sells umbrellas?", "Where are umbrellas made?"}


def test_held_out_and_withdrawn_pairs_are_found_by_no_retriever(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PLAIN)
    build("QQ")
    QaPair.objects.filter(question="Where are umbrellas made?").update(withdrawn_at=timezone.now())
    mine = queries(tmp_path, "Who sells umbrellas", "umbrellas in the rain")
    retrieve(mine, k=5, retrievers=BOTH, encoder=KEYWORDS)
    questions = [question for _, question, _ in found(mine)]
    assert len(questions) == 10
    assert not {"Who sells umbrellas?", "Where are umbrellas made?"} & set(questions)


def test_the_dense_one_alone_says_nothing_of_who_found_what(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PLAIN)
    build("QQ")
    mine = queries(tmp_path, "rain")
    retrieve(mine, k=3, encoder=KEYWORDS)
    assert {by for _, _, by in found(mine)} == {None}
    assert (mine.retrievers, mine.pool) == (("dense",), ())


def test_other_retrievers_than_before_are_refused_and_the_same_ones_only_count(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PLAIN)
    build("QQ")
    mine = queries(tmp_path, "rain")
    retrieve(mine, k=3, retrievers=["bm25", "dense"], encoder=KEYWORDS)
    assert retrieve(mine, k=3, retrievers=BOTH, encoder=KEYWORDS) == 3
    with pytest.raises(UserError, match="retrieved by dense and bm25, not by dense: make a new"):
        retrieve(mine, k=3, encoder=KEYWORDS)


@pytest.mark.parametrize(
    ("names", "refusal"),
    [
        (["dense", "splade"], "no retriever 'splade': choose among dense, bm25"),
        ([""], "no retriever ''"),
        ([], "Name a retriever"),
    ],
)
def test_a_retriever_that_there_is_not_is_refused(
    add_pairs: AddPairs, tmp_path: Path, names: list[str], refusal: str
) -> None:
    add_pairs(PLAIN)
    build("QQ")
    with pytest.raises(UserError, match=refusal):
        retrieve(queries(tmp_path, "rain"), k=3, retrievers=names, encoder=KEYWORDS)
    assert not Candidate.objects.exists()
