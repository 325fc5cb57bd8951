"""Near queries are found as a comparison of every pair finds them."""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from exports.splits import clusters
from exports.splits.clusters import Nearness, NearQuery, near_duplicates
from exports.splits.shingles import incidence, letters, shingles
from tests.annotation.protocol.steady import steady

QUORA = Path(__file__).parents[4] / "shared/data/pairs/qqp/qqp_bimpm_dev_test.tsv.gz"
needs_quora = pytest.mark.skipif(not QUORA.exists(), reason="needs the pairs of ../shared/data")
RULES = Nearness()
text_of, grams_of = cache(letters), cache(shingles)
WORDS = ["how", "do", "i", "bake", "bread", "rye", "bread?", "fast", "日本", "كيف"]


def asked(*texts: str) -> list[NearQuery]:
    return [NearQuery(f"q{number}", text, frozenset()) for number, text in enumerate(texts)]


def grouped(found: dict[str, str]) -> set[frozenset[str]]:
    return {
        frozenset(key for key, cluster in found.items() if cluster == each)
        for each in found.values()
    }


def near(one: int, other: int, queries: Sequence[NearQuery], vectors: NDArray | None) -> bool:
    """Written down again, for one pair."""
    first, second = queries[one], queries[other]
    if first.positives & second.positives or text_of(first.text) == text_of(second.text):
        return True
    left, right = grams_of(first.text), grams_of(second.text)
    if len(left & right) / len(left | right) >= RULES.jaccard:
        return True
    if vectors is None:
        return False
    return round(float(vectors[one].astype(float) @ vectors[other]), 4) >= RULES.cosine


def by_all_pairs(queries: Sequence[NearQuery], vectors: NDArray | None) -> dict[str, str]:
    cluster = {query.id: query.id for query in queries}
    for one, other in combinations(range(len(queries)), 2):
        if near(one, other, queries, vectors):
            both = {cluster[queries[one].id], cluster[queries[other].id]}
            cluster = {key: min(both) if of in both else of for key, of in cluster.items()}
    return cluster


def questions(pairs: int) -> list[str]:
    """Each pair's two, beside each other."""
    with gzip.open(QUORA, "rt", encoding="utf-8") as file:
        rows = islice(csv.DictReader(file, delimiter="\t"), pairs)
        return [row[column] for row in rows for column in ("question1", "question2")]


def unit(rows: NDArray) -> NDArray[np.float32]:
    found: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")
    return found


def test_reworded_little_is_near_and_reworded_much_is_not() -> None:
    found = near_duplicates(
        asked(
            "How do I start a handicraft business online?",
            "HOW do I start a handicrafts business online",
            "What does it take to sell handmade things on the internet?",
        ),
        vectors=None,
        rules=RULES,
    )
    assert found == {"q0": "q0", "q1": "q0", "q2": "q2"}


@pytest.mark.parametrize(("other", "one"), [("abcdefghi", True), ("abcdefghij", False)])
def test_seven_trigrams_of_ten_are_near_and_seven_of_eleven_are_not(other: str, one: bool) -> None:
    found = near_duplicates(asked("abcdefgh", other), vectors=None, rules=RULES)
    assert (found["q1"] == "q0") is one


def test_a_shared_positive_joins_queries_of_different_words() -> None:
    queries = [
        NearQuery("q2", "how to bake", frozenset({"c1", "c2"})),
        NearQuery("q1", "oven bread", frozenset({"c2"})),
        NearQuery("q3", "tea", frozenset({"c3"})),
    ]
    found = near_duplicates(queries, vectors=None, rules=RULES)
    assert found == {"q1": "q1", "q2": "q1", "q3": "q3"}


def test_what_hangs_together_by_pairs_is_one_cluster_named_by_its_smallest_id() -> None:
    vectors = unit(np.array([[1, 0.4], [1, 0.9], [1, 0.0], [0, 1]]))
    queries = [NearQuery(key, text, frozenset()) for key, text in zip("dcba", WORDS, strict=False)]
    found = near_duplicates(queries, vectors=vectors, rules=RULES)
    assert found == {"d": "b", "c": "b", "b": "b", "a": "a"}


def test_nothing_is_near_nothing() -> None:
    assert near_duplicates([], vectors=None, rules=RULES) == {}
    assert near_duplicates([], vectors=np.zeros((0, 4), dtype=np.float32), rules=RULES) == {}


def test_empty_and_hostile_texts_are_clustered_by_what_is_there() -> None:
    texts = ["", " ", "?", "NA", "<b>", "<B>", '"\t"', "日本", "日本\uff1f", "\u200f", "\ud800"]
    found = grouped(near_duplicates(asked(*texts), vectors=None, rules=RULES))
    assert frozenset({"q0", "q1"}) in found
    assert frozenset({"q4", "q5"}) in found
    assert frozenset({"q7", "q8"}) in found
    assert frozenset({"q3"}) in found


@pytest.mark.parametrize(("cosine", "one"), [(0.89996, True), (0.90004, True), (0.8999, False)])
def test_a_cosine_counts_by_its_first_four_decimals(cosine: float, one: bool) -> None:
    vectors = unit(np.array([[1, 0], [cosine, np.sqrt(1 - cosine**2)]]))
    found = near_duplicates(asked("tea", "moon"), vectors=vectors, rules=RULES)
    assert (found["q1"] == "q0") is one


queries_there = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), max_size=6),
        st.frozensets(st.sampled_from("abcdefghijklmnop"), max_size=1),
        st.integers(0, 40),
    ),
    max_size=14,
)


@steady
@given(drawn=queries_there, with_vectors=st.booleans(), order=st.randoms(use_true_random=False))
def test_the_clusters_are_those_of_all_pairs_in_any_order(
    drawn: list[tuple[list[str], frozenset[str], int]], with_vectors: bool, order: random.Random
) -> None:
    queries = [
        NearQuery(f"q{number:02d}", " ".join(words), positives)
        for number, (words, positives, _) in enumerate(drawn)
    ]
    angles = np.array([angle / 20 for *_, angle in drawn])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    expected = by_all_pairs(queries, vectors if with_vectors else None)
    shuffled = order.sample(range(len(queries)), len(queries))
    found = near_duplicates(
        [queries[place] for place in shuffled],
        vectors=vectors[shuffled] if with_vectors else None,
        rules=RULES,
    )
    assert found == expected


@needs_quora
def test_minhash_misses_no_near_pair_of_thousands_of_real_questions() -> None:
    texts = questions(2_000)
    found = near_duplicates(asked(*texts), vectors=None, rules=RULES)
    table = incidence(texts)
    common = (table @ table.T).toarray()
    sizes = common.diagonal()
    pairs = np.argwhere(np.triu(common >= 0.7 * (sizes[:, None] + sizes - common), 1))
    assert len(pairs) > 100
    assert all(found[f"q{one}"] == found[f"q{other}"] for one, other in pairs)
    assert max(Counter(found.values()).values()) < 40


@needs_quora
def test_real_questions_in_one_cluster_are_near_by_a_chain_of_exact_pairs() -> None:
    queries = asked(*questions(150))
    found = near_duplicates(queries, vectors=None, rules=RULES)
    assert found == by_all_pairs(queries, None)
    assert len(set(found.values())) < 290


def test_chunks_of_any_size_find_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    near_ones = np.repeat(generator.standard_normal((40, 8)), 3, axis=0)
    vectors = unit(near_ones + 0.25 * generator.standard_normal((120, 8)))
    queries = asked(*(f"{number * 7919}" for number in range(120)))
    expected = by_all_pairs(queries, vectors)
    assert 40 < len(set(expected.values())) < 110
    for texts, pairs in ((256, 20_000), (7, 3), (1, 1)):
        monkeypatch.setattr(clusters, "TEXTS", texts)
        monkeypatch.setattr(clusters, "PAIRS", pairs)
        assert near_duplicates(queries, vectors=vectors, rules=RULES) == expected


def test_thousands_of_equal_vectors_are_one_cluster_without_filling_the_memory() -> None:
    vectors = unit(np.ones((2_000, 4)))
    queries = asked(*(f"{number}" for number in range(2_000)))
    assert set(near_duplicates(queries, vectors=vectors, rules=RULES).values()) == {"q0"}


def test_the_thresholds_are_told() -> None:
    assert RULES.to_dict() == {"jaccard": 0.7, "cosine": 0.9}


def test_texts_of_the_same_letters_are_each_compared_with_the_others() -> None:
    """The words fall apart in other places, and the trigrams with them."""
    first, second, third = asked(
        "how do i make ice cream at home",
        "how do i make icecream at home",
        "how do i make icecream at work",
    )
    assert not near(0, 1, [first, third], None)
    for queries in ([first, second, third], [second, first, third]):
        assert len(set(near_duplicates(queries, vectors=None, rules=RULES).values())) == 1
