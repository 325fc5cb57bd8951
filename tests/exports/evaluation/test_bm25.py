import math
from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from exports.evaluation.bm25 import Corpus, Scorer
from retrieval.index.lexical.bm25_weights import words

K1, B = 1.5, 0.75


def corpus_of(texts: Sequence[str]) -> Corpus:
    corpus = Corpus()
    for number, text in enumerate(texts):
        corpus.add(f"c{number}", text)
    return corpus


def by_the_formula(query: Sequence[str], document: int, texts: Sequence[str]) -> float:
    documents = [Counter(words(text)) for text in texts]
    length = sum(map(Counter.total, documents)) / len(documents)
    ours = documents[document]
    total = 0.0
    for word in query:
        holders = sum(word in other for other in documents)
        idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
        total += idf * ours[word] / (ours[word] + K1 * (1 - B + B * ours.total() / length))
    return total


def test_a_score_is_that_of_the_formula() -> None:
    random = Random(1)
    vocabulary = [f"w{number}" for number in range(30)]
    texts = [" ".join(random.choices(vocabulary, k=random.randint(0, 25))) for _ in range(60)]
    queries = [random.choices([*vocabulary, "unheard"], k=random.randint(1, 8)) for _ in range(40)]
    corpus = corpus_of(texts)
    numbered = [corpus.numbered(" ".join(query)) for query in queries]
    scorer = Scorer(corpus)
    for query, numbers in zip(queries, numbered, strict=True):
        rows = random.sample(range(60), k=10)
        expected = [by_the_formula(query, row, texts) for row in rows]
        assert scorer.score(numbers, rows) == pytest.approx(expected, rel=1e-5)


def test_a_query_leaves_nothing_behind_for_the_next_one() -> None:
    corpus = corpus_of(["green tea", "black tea", "rain"])
    tea, rain = corpus.numbered("tea tea"), corpus.numbered("rain")
    scorer = Scorer(corpus)
    alone = scorer.score(rain, [0, 1, 2])
    scorer.score(tea, [0, 1, 2])
    assert np.array_equal(scorer.score(rain, [0, 1, 2]), alone)
    assert alone[0] == alone[1] == 0 < alone[2]


def test_a_candidate_of_several_queries_counts_once() -> None:
    corpus = Corpus()
    assert [corpus.add(name, "tea") for name in ("a", "b", "a")] == [0, 1, 0]
    assert len(corpus.documents) == 2


@pytest.mark.parametrize("texts", [[], ["", "?!"]])
@pytest.mark.filterwarnings("error")
def test_without_a_word_every_score_is_0(texts: list[str]) -> None:
    corpus = corpus_of(texts)
    numbers = corpus.numbered("tea")
    assert Scorer(corpus).score(numbers, range(len(texts))).tolist() == [0.0] * len(texts)
