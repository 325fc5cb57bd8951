from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest

from core.errors import UserError
from retrieval.encoders import score_candidates
from retrieval.encoders.score_candidates import score_with_encoder, score_with_selector
from retrieval.ranking.records import CandidateRecord, QueryRecord
from retrieval.ranking.runs import require_new, write_run
from tests.retrieval.encoders.keywords import KeywordEncoder

WORDS = "moon far tea hot bread"


def record(query: str, *candidates: tuple[str, str], name: str = "q") -> QueryRecord:
    made = [
        CandidateRecord(f"{question}|{answer}", question, answer, rank, 0.5, 0, 1, 1)
        for rank, (question, answer) in enumerate(candidates, 1)
    ]
    return QueryRecord(name, query, made)


QUERIES = [
    record("how far is the moon", ("moon far", "tea"), ("moon", "far"), ("bread", "hot"), name="1"),
    record("hot tea", ("tea", "hot"), ("moon far", "tea"), name="2"),
    record("bread", ("bread", "bread"), name="3"),
]


class CountingSelector:
    """Scores by the words that query and candidate share; remembers how much it was asked."""

    name, form, fingerprint = "counting", "QQA", "1"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, query: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self.score_all([(query, *pair) for pair in pairs])

    def score_all(self, triplets: Sequence[tuple[str, str, str]]) -> list[float]:
        self.asked.append(len(triplets))
        return [
            len(set(query.split()) & set(f"{question} {answer}".split())) / 10
            for query, question, answer in triplets
        ]


@pytest.fixture(params=[1, 4, 4_096])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(score_candidates, "AT_ONCE", request.param)
    return int(request.param)


@pytest.mark.parametrize("form", ["QQ", "QQA"])
def test_a_retriever_scores_by_the_cosine_of_query_and_candidate(form: str, at_once: int) -> None:
    encoder = KeywordEncoder(WORDS)
    found = dict(score_with_encoder(encoder, form, QUERIES))
    assert list(found) == ["1", "2", "3"]
    for query in QUERIES:
        [own] = encoder.encode_questions([query.query])
        texts = [
            one.question if form == "QQ" else f"{one.question} {one.answer}"
            for one in query.candidates
        ]
        expected = encoder.encode_questions(texts) @ own
        names, scores = zip(*found[query.id], strict=True)
        assert list(names) == [one.id for one in query.candidates]
        assert scores == pytest.approx(expected.tolist())


def test_a_selector_scores_query_and_candidate_together(at_once: int) -> None:
    selector = CountingSelector()
    found = dict(score_with_selector(selector, QUERIES))
    assert [score for _, score in found["1"]] == [0.2, 0.2, 0.0]
    assert [score for _, score in found["2"]] == [0.2, 0.1]
    assert found["3"] == [("bread|bread", 0.1)]
    assert selector.asked == {1: [3, 2, 1], 4: [5, 1], 4_096: [6]}[at_once]


def test_a_candidate_of_many_queries_is_encoded_once() -> None:
    counted: list[int] = []

    class Counting(KeywordEncoder):
        def encode_pairs(self, pairs: Sequence[tuple[str, str]], *more: Any) -> Any:
            counted.append(len(pairs))
            return super().encode_pairs(pairs, *more)

    list(score_with_encoder(Counting(WORDS), "QQA", QUERIES))
    assert counted == [5]


@pytest.mark.parametrize("form", ["QQ", "QQA"])
def test_an_id_used_again_under_another_query_is_scored_by_its_own_texts(
    form: str, at_once: int
) -> None:
    queries = [
        QueryRecord(name, "moon", [CandidateRecord("c1", text, text, 1, 0.5, 0, 1, 1)])
        for name, text in (("1", "moon"), ("2", "tea"))
    ]
    found = dict(score_with_encoder(KeywordEncoder(WORDS), form, queries))
    scores = [found[name][0][1] for name in ("1", "2")]
    assert scores == pytest.approx([1, 0], abs=0.1)


def test_progress_counts_queries(at_once: int) -> None:
    done: list[int] = []
    list(score_with_encoder(KeywordEncoder(WORDS), "QQ", QUERIES, done.append))
    assert sum(done) == 3
    list(score_with_selector(CountingSelector(), QUERIES, done.append))
    assert sum(done) == 6


def test_no_more_queries_are_read_than_are_scored_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_candidates, "AT_ONCE", 5)
    unread = iter(QUERIES)
    next(iter(score_with_selector(CountingSelector(), unread)))
    assert [query.id for query in unread] == ["3"]


def test_no_query_gives_no_scores() -> None:
    assert list(score_with_encoder(KeywordEncoder(WORDS), "QQ", [])) == []
    assert list(score_with_selector(CountingSelector(), [])) == []


def test_a_form_that_no_retriever_reads_is_refused() -> None:
    with pytest.raises(UserError, match="reads the form QQ or QQA, not QAQ"):
        list(score_with_encoder(KeywordEncoder(WORDS), "QAQ", QUERIES))


def test_a_score_that_is_no_number_is_refused() -> None:
    class Broken(KeywordEncoder):
        def encode_pairs(self, pairs: Sequence[tuple[str, str]], *more: Any) -> Any:
            return super().encode_pairs(pairs, *more) * np.nan

    with pytest.raises(UserError, match="candidates of query 1 a score that is not a number"):
        list(score_with_encoder(Broken(WORDS), "QQA", QUERIES))


def test_a_run_is_written_best_first_with_all_digits_of_32_bits(tmp_path: Path) -> None:
    near = float(np.float32(1) - np.finfo(np.float32).epsneg)
    run = tmp_path / "my.run"
    assert write_run(run, [("q", [("a", near), ("b", 1.0), ("c", 1e-12)])], system="my model") == 1
    rows = list(ir_measures.read_trec_run(str(run)))
    assert [(row.doc_id, np.float32(row.score)) for row in rows] == [
        ("b", np.float32(1)),
        ("a", np.float32(near)),
        ("c", np.float32(1e-12)),
    ]
    assert run.read_text().splitlines()[0] == "q Q0 b 1 1 my-model"


def test_a_run_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    class Broken(KeywordEncoder):
        def encode_questions(self, questions: Sequence[str], *more: Any) -> Any:
            return super().encode_questions(questions, *more) * (
                np.nan if "bread" in questions else 1
            )

    found = score_with_encoder(Broken(WORDS), "QQ", QUERIES)
    with pytest.raises(UserError):
        write_run(tmp_path / "my.run", found, system="mine")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_and_a_folder_that_is_not_are_refused(tmp_path: Path) -> None:
    (tmp_path / "my.run").write_text("precious")
    with pytest.raises(UserError, match="nothing is overwritten"):
        require_new(tmp_path / "my.run")
    with pytest.raises(UserError, match="There is no folder"):
        require_new(tmp_path / "no" / "my.run")
