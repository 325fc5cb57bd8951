import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.evaluation.baselines import baselines, falling_scores, write_runs
from exports.layout.files import SPLIT_FILES
from exports.splits.splits import SPLITS
from retrieval.index.lexical.bm25_weights import words
from retrieval.ranking.records import CandidateRecord, QueryRecord, line, read
from retrieval.ranking.runs import in_order
from tests.exports.support.extracts import random_extract, spread

ROOT = Path(__file__).resolve().parents[3]
MEASURES = {
    "P@1": ir_measures.P @ 1,
    "MAP": ir_measures.AP,
    "MRR": ir_measures.RR,
    "Hit@5": ir_measures.Success @ 5,
    "Hit@10": ir_measures.Success @ 10,
}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = spread(random_extract(3, queries=60, candidates=12), tmp_path / "release")
    write_runs(folder)
    return folder


def runs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "trec").iterdir()}


def order_in(path: Path) -> dict[str, list[str]]:
    """As trec_eval's reader and sorting make it, query by query."""
    made: dict[str, dict[str, float]] = {}
    for row in ir_measures.read_trec_run(str(path)):
        made.setdefault(row.query_id, {})[row.doc_id] = row.score
    return {
        query: [name for name, _ in in_order(list(found.values()), list(found))]
        for query, found in made.items()
    }


def candidate(name: str, **values: Any) -> CandidateRecord:
    made = CandidateRecord(name, f"question {name}", "answer", 1, 0.5, label=1, yes=2, no=0)
    return replace(made, **values)


def release_of(folder: Path, *queries: QueryRecord) -> Path:
    """All of them in the test split."""
    folder.mkdir()
    for name in SPLIT_FILES:
        (folder / name).write_bytes(b"")
    (folder / "test.jsonl").write_bytes(b"".join(map(line, queries)))
    write_runs(folder)
    return folder


def test_both_systems_rank_every_candidate_of_every_split(release: Path) -> None:
    for split in SPLITS:
        expected = {
            query.id: sorted(candidate.id for candidate in query.candidates)
            for query in read(release / f"{split}.jsonl")
        }
        assert expected
        for system in ("retriever", "bm25"):
            found = order_in(release / "trec" / f"{split}.{system}.run")
            assert {query: sorted(names) for query, names in found.items()} == expected


def test_the_retrievers_run_has_the_retrievers_order(release: Path) -> None:
    for split in SPLITS:
        found = order_in(release / "trec" / f"{split}.retriever.run")
        for query in read(release / f"{split}.jsonl"):
            assert found[query.id] == [candidate.id for candidate in query.candidates]


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize("system", ["bm25", "retriever"])
def test_the_figures_are_those_of_ir_measures(release: Path, split: str, system: str) -> None:
    judged = {
        query.id: {candidate.id: candidate.label for candidate in query.candidates}
        for query in read(release / f"{split}.jsonl")
    }
    run = ir_measures.read_trec_run(str(release / "trec" / f"{split}.{system}.run"))
    expected = ir_measures.calc_aggregate(list(MEASURES.values()), judged, run)
    splits: Any = baselines(release)["splits"]
    for name, measure in MEASURES.items():
        figure = splits[split][system][name]
        assert figure["value"] == pytest.approx(expected[measure], abs=5.1e-5)
        assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1


def test_the_words_of_the_figures(release: Path) -> None:
    found = baselines(release)
    splits: Any = found.pop("splits")
    assert found == {"way": "QRC", "level": 0.95, "replicates": 1000, "seed": 20}
    assert list(splits) == ["dev", "test"]
    assert list(splits["test"]) == ["bm25", "retriever"]
    assert list(splits["test"]["bm25"]) == ["P@1", "MAP", "MRR", "Hit@5", "Hit@10"]
    json.dumps(splits, allow_nan=False)


def test_the_same_release_has_the_same_runs_and_figures(release: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(release, copy, ignore=shutil.ignore_patterns("trec"))
    write_runs(copy)
    assert runs(copy) == runs(release)
    assert baselines(copy) == baselines(release)


def test_an_empty_split_has_empty_runs_and_no_figures(release: Path) -> None:
    (release / "dev.jsonl").write_bytes(b"")
    write_runs(release)
    assert runs(release)["dev.bm25.run"] == runs(release)["dev.retriever.run"] == b""
    splits: Any = baselines(release)["splits"]
    assert splits["dev"] is None
    assert splits["test"] is not None


def test_a_release_without_any_query_has_no_figures(tmp_path: Path) -> None:
    assert baselines(release_of(tmp_path / "release"))["splits"] == {"dev": None, "test": None}


def test_a_query_without_a_positive_counts_0(tmp_path: Path) -> None:
    good = QueryRecord("q1", "tea", [candidate("a")])
    bad = QueryRecord("q2", "tea", [candidate("a", label=0, yes=0, no=2)])
    splits: Any = baselines(release_of(tmp_path / "release", good, bad))["splits"]
    assert splits["test"]["retriever"]["MAP"]["value"] == 0.5


def test_bm25_prefers_the_words_of_the_query_in_question_or_answer(tmp_path: Path) -> None:
    texts = {"a": ("rain", "wet"), "b": ("green tea", "hot"), "c": ("leaves", "they make tea")}
    candidates = [candidate(name, question=q, answer=a) for name, (q, a) in texts.items()]
    query = QueryRecord("q1", "Which TEA is green?", candidates)
    folder = release_of(tmp_path / "release", query)
    assert order_in(folder / "trec" / "test.bm25.run") == {"q1": ["b", "c", "a"]}
    last = runs(folder)["test.bm25.run"].splitlines()[-1]
    assert last == b"q1 Q0 a 3 0.000000 bm25"


def test_the_corpus_of_bm25_is_that_of_all_splits(tmp_path: Path) -> None:
    """`tea` is rarer than `rain` in the test split, and common in the release."""
    ours = [candidate("a", question="tea"), candidate("b", question="rain")]
    ours.append(candidate("c", question="rain"))
    folder = release_of(tmp_path / "release", QueryRecord("q1", "tea rain", ours))
    assert order_in(folder / "trec" / "test.bm25.run")["q1"][0] == "a"
    theirs = [candidate(f"t{number}", question="tea") for number in range(9)]
    (folder / "train.jsonl").write_bytes(line(QueryRecord("q2", "tea", theirs)))
    write_runs(folder)
    assert order_in(folder / "trec" / "test.bm25.run")["q1"] == ["c", "b", "a"]


def test_hostile_texts_are_words_like_any(tmp_path: Path) -> None:
    nasty = ['a\tb\n"c"', "NA", "<b>tea</b>", "=1+1", "\u2028 🎉", "日本 tea"]
    candidates = [candidate(f"c{n}", question=text) for n, text in enumerate(nasty)]
    folder = release_of(tmp_path / "release", QueryRecord("q1", "tea\n日", candidates))
    assert order_in(folder / "trec" / "test.bm25.run")["q1"][:2] == ["c5", "c2"]
    assert words(nasty[2]) == ["b", "tea", "b"]


SCORES = st.lists(st.one_of(st.floats(-1, 1), st.sampled_from([0.9, 0.900001])), max_size=40)


@given(SCORES)
def test_scores_fall_from_rank_to_rank_also_in_32_bits(scores: list[float]) -> None:
    """Whatever the ids are: the rank order is the one that trec_eval finds."""
    names = [f"{Random(number).random()}" for number in range(len(scores))]
    candidates = [candidate(name, score=s) for name, s in zip(names, scores, strict=True)]
    falling = [float(f"{score:.6f}") for score in falling_scores(candidates)]
    assert [name for name, _ in in_order(falling, names)] == names


def test_scores_that_fall_stay_as_they_are() -> None:
    scores = [0.912345, 0.9, 0.5, 0.0, -0.25]
    assert falling_scores([candidate("a", score=score) for score in scores]) == scores


def test_a_tied_score_is_lowered_by_a_step() -> None:
    scores = [0.9, 0.9, 0.9, 0.5]
    assert falling_scores([candidate("a", score=score) for score in scores]) == [
        0.9,
        0.899999,
        0.899998,
        0.5,
    ]


@pytest.mark.parametrize("scores", [[None, None, None], [0.9, None, 0.1], [812.5, 800.0, 3.0]])
def test_scores_that_are_no_cosines_give_way_to_the_ranks(scores: list[float | None]) -> None:
    assert falling_scores([candidate("a", score=score) for score in scores]) == [-1, -2, -3]


def test_the_runs_are_the_same_where_numba_is_missing(release: Path) -> None:
    """bm25s uses it where it finds it, which is where the tests' libraries are installed."""
    before = runs(release)
    script = (
        "import sys; from pathlib import Path; sys.modules['numba'] = None\n"
        "from exports.evaluation.baselines import write_runs\n"
        "write_runs(Path(sys.argv[1]))"
    )
    shutil.rmtree(release / "trec")
    subprocess.run([sys.executable, "-c", script, str(release)], cwd=ROOT, check=True)
    assert runs(release) == before
