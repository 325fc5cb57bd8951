import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import IntegrityError

from core.errors import UserError
from retrieval.index.approximate.hnsw import HnswIndex
from retrieval.index.port import Neighbours
from retrieval.indexing.plan import BuildOptions
from retrieval.models import Candidate, IndexVersion, QaPair, QuerySet
from retrieval.search.retrieve import pair_vectors, retrieve
from retrieval.search.search_session import Searcher
from retrieval.vectors.types import Mask, Vectors
from tests.retrieval.commands.weather import KEYWORDS, PAIRS, Interrupted, build
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.support.query_sets import load_queries, sample_queries

pytestmark = pytest.mark.django_db


def candidates(query_set: QuerySet) -> list[tuple[str, int, str, float]]:
    found = Candidate.objects.filter(query__query_set=query_set).order_by("query__key", "rank")
    return list(found.values_list("query__key", "rank", "pair__pair_key", "score"))


def user_queries(folder: Path, *texts: str, name: str = "mine") -> QuerySet:
    path = folder / f"{name}.txt"
    path.write_text("\n".join(texts))
    return load_queries(name, path)


# retrieving


def brute_force(query_set: QuerySet, k: int, form: str) -> list[tuple[str, int, str, float]]:
    held_out = set(query_set.queries.values_list("question_key", flat=True))
    pairs = QaPair.objects.exclude(question_key__in=held_out).order_by("pair_key")
    texts = [p.question if form == "QQ" else f"{p.question} {p.answer}" for p in pairs]
    vectors = KEYWORDS.encode_questions(texts).astype(np.float64)
    expected = []
    for query in query_set.queries.order_by("key"):
        cosines = vectors @ KEYWORDS.encode_questions([query.text])[0].astype(np.float64)
        ranked = sorted(
            (-round(float(cosine), 6), pair.pair_key)
            for cosine, pair in zip(cosines, pairs, strict=True)
        )
        for rank, (minus, key) in enumerate(ranked[:k], 1):
            expected.append((query.key, rank, key, min(1.0, -minus)))
    return expected


@pytest.mark.parametrize("form", ["QQA", "QQ"])
@pytest.mark.parametrize("k", [1, 13, 140])
def test_candidates_are_the_nearest_pairs_by_brute_force(
    add_pairs: AddPairs, form: str, k: int
) -> None:
    add_pairs(PAIRS)
    build(form)
    query_set = sample_queries("held out", 60, 3)
    seen: list[int] = []
    assert retrieve(query_set, k=k, encoder=KEYWORDS, progress=seen.append) == 60 * k
    assert candidates(query_set) == brute_force(query_set, k, form)
    assert sum(seen) == 60


def test_what_concludes_a_retrieval_is_one_with_it_and_done_once(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build("QQ")
    query_set = sample_queries("held out", 60, 3)
    report: list[int] = []

    def fail(candidates: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        retrieve(query_set, k=2, encoder=KEYWORDS, conclude=fail)
    assert candidates(query_set) == []
    assert QuerySet.objects.get().retrieved_with is None
    for _ in range(2):  # the second only counts
        assert retrieve(query_set, k=2, encoder=KEYWORDS, conclude=report.append) == 120
    assert report == [120]


def test_no_held_out_question_is_a_candidate_of_any_query_in_any_copy(
    add_pairs: AddPairs, tmp_path: Path
) -> None:
    add_pairs(PAIRS)
    add_pairs([("What is rain?", "Drops."), ("WHAT IS RAIN", "Wet."), ("What's rain?", "Water.")])
    build()
    query_set = user_queries(tmp_path, "what is rain?!", "Will snow turn into rain?")
    retrieve(query_set, k=201, encoder=KEYWORDS)
    found = set(Candidate.objects.values_list("pair__question", flat=True))
    assert "What's rain?" in found
    assert not found & {"What is rain?", "WHAT IS RAIN"}


def test_queries_held_out_by_another_set_stay_candidates(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build()
    first, second = sample_queries("first", 5, 1), sample_queries("second", 5, 1)
    retrieve(first, k=195, encoder=KEYWORDS)
    keys = set(Candidate.objects.filter(query__query_set=first).values_list("pair__question_key"))
    assert keys >= set(second.queries.values_list("question_key"))


def test_another_order_of_rows_gives_the_same_candidates(add_pairs: AddPairs) -> None:
    def retrieved(pairs: list[tuple[str, str]]) -> tuple[Any, Any]:
        Candidate.objects.all().delete()
        QuerySet.objects.all().delete()
        IndexVersion.objects.all().delete()
        QaPair.objects.all().delete()
        add_pairs(pairs)
        index = build()
        query_set = sample_queries("held out", 20, 3)
        retrieve(query_set, k=30, encoder=KEYWORDS)
        return index.manifest, candidates(query_set)

    first = retrieved(PAIRS)
    assert retrieved(random.Random(4).sample(PAIRS, len(PAIRS))) == first
    assert retrieved(PAIRS[::-1]) == first


def test_retrieving_again_only_counts(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    query_set = sample_queries("held out", 4, 3)
    retrieve(query_set, k=30, encoder=KEYWORDS)
    before = list(Candidate.objects.values_list("pk", flat=True))
    add_pairs([("What is new?", "This.")])
    assert retrieve(QuerySet.objects.get(), k=30, encoder=KEYWORDS) == 120
    assert list(Candidate.objects.values_list("pk", flat=True)) == before
    assert query_set.retrieved_with == index


def test_retrieving_again_with_another_index_or_number_is_refused(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 4, 3)
    retrieve(query_set, k=30, encoder=KEYWORDS)
    with pytest.raises(UserError, match="already has 120 candidates instead of 40"):
        retrieve(query_set, k=10, encoder=KEYWORDS)
    build("QQ")
    with pytest.raises(UserError, match="were retrieved with another index"):
        retrieve(query_set, k=30, encoder=KEYWORDS)
    assert Candidate.objects.count() == 120


def test_fewer_candidates_than_asked_for_is_refused_with_the_numbers(
    add_pairs: AddPairs,
) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 171, 3)
    first = query_set.queries.order_by("question_key")[0]
    with pytest.raises(UserError) as refused:
        retrieve(query_set, k=30, encoder=KEYWORDS)
    assert f"Query {first.key} ({first.text!r}) has only 29 candidates of 30" in str(refused.value)
    assert "200 pairs, 171 of them with held-out questions" in str(refused.value)
    assert not Candidate.objects.exists()
    query_set.refresh_from_db()
    assert query_set.retrieved_with is None


def test_a_model_that_changed_under_its_name_is_noticed(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 4, 3)
    changed = KeywordEncoder("rain snow", name="keywords")
    with pytest.raises(UserError, match="The model keywords is not the one that the index was"):
        retrieve(query_set, k=30, encoder=changed)
    assert not Candidate.objects.exists()


def test_a_retrieval_that_stops_half_way_leaves_nothing(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.search.candidates.SEARCHED_AT_ONCE", 3)
    monkeypatch.setattr("retrieval.search.candidates.SAVED_AT_ONCE", 3)
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 8, 3)
    searched: list[int] = []

    def stop_at_the_second(done: int) -> None:
        searched.append(done)
        if len(searched) > 1:
            raise Interrupted

    with pytest.raises(Interrupted):
        retrieve(query_set, k=30, encoder=KEYWORDS, progress=stop_at_the_second)
    assert searched == [3, 3]
    assert not Candidate.objects.exists()
    assert retrieve(query_set, k=30, encoder=KEYWORDS) == 240
    assert candidates(query_set) == brute_force(query_set, 30, "QQA")


def test_a_retrieval_overtaken_by_another_process_writes_nothing(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    index = build()
    query_set = sample_queries("held out", 4, 3)

    def overtake(increment: int) -> None:
        QuerySet.objects.update(retrieved_with=index)

    with pytest.raises(UserError, match="Another process has just retrieved"):
        retrieve(query_set, k=30, encoder=KEYWORDS, progress=overtake)
    assert not Candidate.objects.exists()


# vectors of pairs


def test_vectors_of_pairs_come_in_the_order_asked_for(add_pairs: AddPairs) -> None:
    pairs = add_pairs(PAIRS)
    build("QQ")
    asked = [pairs[7], pairs[199], pairs[7], pairs[0]]
    vectors = pair_vectors([pair.pk for pair in asked])
    wanted = KEYWORDS.encode_questions([pair.question for pair in asked])
    np.testing.assert_array_equal(vectors, wanted)
    assert vectors.dtype == np.float32
    assert pair_vectors([]).shape == (0, 11)


def test_vectors_of_unknown_pairs_are_refused_by_id(add_pairs: AddPairs) -> None:
    [pair] = add_pairs([("What is rain?", "Wet.")])
    build()
    with pytest.raises(UserError, match=r"no q/a pairs with the ids \[990, 991\]"):
        pair_vectors([991, pair.pk, 990])


# constraints


def repeated(**changes: Any) -> Callable[[Candidate], Candidate]:
    def copy(candidate: Candidate) -> Candidate:
        values = {
            "query": candidate.query,
            "pair": candidate.pair,
            "rank": candidate.rank,
            "score": 0.5,
        }
        return Candidate(**(values | changes))

    return copy


@pytest.mark.parametrize(
    "change", [repeated(rank=99), repeated(rank=0), repeated(score=1.5), repeated(score=-2)]
)
def test_the_database_refuses_impossible_candidates(
    add_pairs: AddPairs, change: Callable[[Candidate], Candidate]
) -> None:
    add_pairs(PAIRS)
    build()
    query_set = sample_queries("held out", 1, 3)
    retrieve(query_set, k=2, encoder=KEYWORDS)
    candidate = change(Candidate.objects.get(rank=1))
    with pytest.raises(IntegrityError):
        candidate.save()


# recall


def of_kind_hnsw() -> IndexVersion:
    return build("QQ", options=BuildOptions(kind="hnsw", recall=0.9))


def test_what_an_index_finds_of_the_very_queries_is_kept(add_pairs: AddPairs) -> None:
    add_pairs(PAIRS)
    of_kind_hnsw()
    query_set = sample_queries("held out", 60, 3)
    retrieve(query_set, k=13, encoder=KEYWORDS)
    recall = query_set.retrieval["recall"]
    assert (recall["at"], recall["sample"], recall["wanted"]) == (13, 60, 0.9)
    assert 0.9 <= recall["value"] <= 1
    assert query_set.recall_warning == ""


def test_queries_of_which_an_index_finds_too_little_are_searched_exactly_and_it_is_said(
    add_pairs: AddPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pairs(PAIRS)
    searcher = Searcher(of_kind_hnsw(), encoder=KEYWORDS)
    assert searcher.recall == searcher.version.recall
    search = HnswIndex.search

    def forgetful(index: HnswIndex, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        """It knows every sixth row."""
        return search(index, queries, width, excluded | (np.arange(len(excluded)) % 6 > 0))

    monkeypatch.setattr(HnswIndex, "search", forgetful)
    query_set = sample_queries("held out", 60, 3)
    retrieve(query_set, k=13, encoder=KEYWORDS)
    assert candidates(query_set) == brute_force(query_set, 13, "QQ")
    assert 0 < query_set.retrieval["recall"]["value"] < 0.9
    said = "of the 13 nearest pairs of 60 queries, below the 0.9 requested: all were compared"
    assert said in query_set.recall_warning
    # From now on so is whatever is asked of it.
    question = PAIRS[0][0]
    [asked] = KEYWORDS.encode_questions([question])
    questions = QaPair.objects.values_list("question", flat=True)
    cosines = sorted(KEYWORDS.encode_questions(list(questions)) @ asked, reverse=True)
    scores = [hit.score for hit in searcher.search(question, 13)]
    assert scores == pytest.approx(cosines[:13], abs=1e-5)
    assert searcher.recall is None
