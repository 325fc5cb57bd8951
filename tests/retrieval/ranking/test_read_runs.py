import gzip
import json
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from random import Random

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from retrieval.ranking.metrics import METRICS, values
from retrieval.ranking.read_runs import Scored, by_query, read_run
from retrieval.ranking.runs import in_order, ranked, run_line

ROWS = [("q1", "a", 0.5), ("q1", "b", -1e-3), ("q2", "a", 7.0)]
TREC = "q1 Q0 a 1 0.5 mine\nq1 Q0 b 2 -1e-3 mine\nq2 Q0 a 1 7 mine\n"


def written(folder: Path, text: str, name: str = "mine.run") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def rows(read: Iterable[Scored]) -> list[tuple[str, str, float]]:
    return [(row.query, row.candidate, row.score) for row in read]


@pytest.mark.parametrize(
    "text",
    [
        TREC,
        TREC.replace(" ", "\t"),
        TREC.replace(" ", " \t  ").replace("\n", " \r\n"),
        "\ufeff" + TREC,
        "\n\n" + TREC.replace("\n", "\n \n").rstrip(),
        "".join(
            json.dumps({"query_id": query, "candidate_id": candidate, "score": score}) + "\n"
            for query, candidate, score in ROWS
        ),
        '  {"id": "q1", "scores": {"a": 0.5, "b": -0.001}}\n{"scores": {"a": 7}, "id": "q2"}',
    ],
)
def test_a_run_is_read_in_each_of_its_forms(tmp_path: Path, text: str) -> None:
    assert rows(read_run(written(tmp_path, text))) == ROWS


def test_a_packed_run_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.run.gz"
    path.write_bytes(gzip.compress(TREC.encode(), mtime=0))
    assert rows(read_run(path)) == ROWS


def test_whole_numbers_are_taken_for_ids(tmp_path: Path) -> None:
    path = written(tmp_path, '{"query_id": 7, "candidate_id": 12, "score": 1}')
    assert rows(read_run(path)) == [("7", "12", 1)]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    line = run_line("q1", "a", rank=1, score=0.1234567, system="mine")
    assert line == "q1 Q0 a 1 0.123457 mine\n"
    assert rows(read_run(written(tmp_path, line))) == [("q1", "a", 0.123457)]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("q1 Q0 b 2 0.5", "it has 5 columns, not 6"),
        ("q1 0.5", "it has 2 columns, not 6"),
        ("q1 Q0 b 2 0.5 mine too", "it has 7 columns, not 6"),
        ("q1 Q0 b 2 high mine", "its score is high: give a finite number"),
        ("q1 Q0 b 2 nan mine", "its score is nan: give a finite number"),
        ("q1 Q0 b 2 -inf mine", "its score is -inf: give a finite number"),
        ("q1 Q0 b 2 1e39 mine", "its score is 1e39: give a finite number"),
        ("q1 Q0 b 2 0.5 mi\0ne", "it is not text in UTF-8"),
    ],
)
def test_a_wrong_line_of_a_trec_run_is_named(tmp_path: Path, line: str, fault: str) -> None:
    path = written(tmp_path, f"q1 Q0 a 1 0.5 mine\n{line}\n")
    with pytest.raises(UserError) as refused:
        list(read_run(path))
    assert str(refused.value).startswith(f"Line 2 of {path}: {fault}")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("q1 Q0 b 2 0.5 mine", "it is not JSON"),
        ('{"query_id": "q1", "candidate_id": "b", "score": 0.5', "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is no JSON object"),
        ('{"query_id": "q1", "candidate_id": "b"}', "it has no score"),
        ('{"id": "q1", "scores": [1, 2]}', "it has no score"),
        ('{"id": "q1", "scores": {}}', "it has no score"),
        ('{"candidate_id": "b", "score": 1}', "its query_id is missing or no text"),
        ('{"query_id": "q1", "candidate_id": null, "score": 1}', "its candidate_id is missing"),
        ('{"query_id": true, "candidate_id": "b", "score": 1}', "its query_id is missing"),
        ('{"scores": {"b": 1}}', "its id is missing or no text"),
        ('{"query_id": "q1", "candidate_id": "b", "score": NaN}', "its score is nan: give a f"),
        ('{"query_id": "q1", "candidate_id": "b", "score": Infinity}', "its score is inf: give"),
        ('{"query_id": "q1", "candidate_id": "b", "score": null}', "its score is null: give a n"),
        ('{"query_id": "q1", "candidate_id": "b", "score": true}', "its score is true: give a n"),
        ('{"id": "q1", "scores": {"b": {}}}', "its score is {}: give a number"),
        ('{"id": "q1", "scores": {"b": 1' + "0" * 400 + "}}", "its score is 1000"),
        ('{"id": "q1", "scores": {"b": 1, "b": 2}}', "it has a key twice"),
    ],
)
def test_a_wrong_line_of_json_scores_is_named(tmp_path: Path, line: str, fault: str) -> None:
    good = '{"query_id": "q1", "candidate_id": "a", "score": 1}'
    path = written(tmp_path, f"{good}\n{line}\n")
    with pytest.raises(UserError) as refused:
        list(read_run(path))
    assert str(refused.value).startswith(f"Line 2 of {path}: {fault}")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "mine.run is empty"),
        (b" \n\n", "mine.run is empty"),
        (TREC.encode("utf-16"), "is in UTF-16 or UTF-32: save it as UTF-8"),
        ("q1 Q0 café 1 0.5 mine\n".encode("latin-1"), "it is not text in UTF-8"),
        (b"PAR1\x15\x04\xff\xfe\x00\x01\x9c" * 9, "is Parquet: rename it"),
        (
            gzip.compress(TREC.encode(), mtime=0),
            "is compressed by gzip: rename it to end in .gz",
        ),
    ],
)
def test_a_file_that_is_no_run_is_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "mine.run"
    path.write_bytes(content)
    with pytest.raises(UserError, match=fault):
        list(read_run(path))


@pytest.mark.parametrize("name", ["nowhere.run", "."])
def test_a_path_that_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        list(read_run(tmp_path / name))


def test_a_cut_off_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.run.gz"
    path.write_bytes(gzip.compress(TREC.encode() * 50, mtime=0)[:-20])
    with pytest.raises(UserError, match="is not a whole gzip file"):
        list(read_run(path))


def test_a_candidate_twice_for_a_query_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, TREC + "q1 Q0 b 3 0.1 mine\n")
    with pytest.raises(UserError) as refused:
        list(by_query(path))
    assert str(refused.value) == (
        f"{path} ranks candidate b twice for query q1 (lines 2 and 4): leave one of them."
    )


def test_a_run_in_any_order_has_each_query_once(tmp_path: Path) -> None:
    lines = [f"q{number % 7} Q0 c{number} 1 {number}.5 mine\n" for number in range(50)]
    Random(2).shuffle(lines)
    scattered = {
        query: sorted(row.candidate for row in found)
        for query, found in by_query(written(tmp_path, "".join(lines)))
    }
    grouped = [
        (query, sorted(row.candidate for row in found))
        for query, found in by_query(written(tmp_path, "".join(sorted(lines))))
    ]
    assert list(scattered.items()) == grouped
    assert sum(map(len, scattered.values())) == 50


def test_the_greater_score_comes_first_then_the_greater_id() -> None:
    assert in_order([1, 2, 1, 2], ["a", "b", "c", "d"]) == [("d", 2), ("b", 2), ("c", 1), ("a", 1)]


def test_scores_that_32_bits_do_not_tell_apart_tie() -> None:
    assert [name for name, _ in in_order([0.9 + 1e-9, 0.9], ["a", "b"])] == ["b", "a"]
    assert [name for name, _ in in_order([0.9 + 1e-6, 0.9], ["a", "b"])] == ["a", "b"]


def test_what_nobody_judged_keeps_its_place_and_what_was_not_ranked_has_none() -> None:
    ranking = ranked([("new", 3), ("a", 2)], {"a": 1, "b": 1, "c": 0})
    assert (list(ranking.labels), ranking.positives, ranking.judged) == ([0, 1], 2, 3)


NAMES = st.text("abAB019.-_éÿ日🎉", min_size=1, max_size=3)
# Few scores, so that many tie, some of them only in 32 bits.
SCORES = st.sampled_from([0.0, -0.0, 0.1, 0.1 + 1e-9, 0.9, 0.9 + 1e-9, 0.9 + 1e-7, -5.0, 1e30])


@given(
    st.dictionaries(NAMES, st.integers(0, 1), min_size=1, max_size=12),
    st.dictionaries(NAMES, SCORES, min_size=1, max_size=12),
)
def test_a_run_is_ranked_as_trec_eval_ranks_it(
    labels: dict[str, int], scores: dict[str, float]
) -> None:
    """Ties, candidates that nobody judged and candidates that are missing among them."""
    found = values([ranked(scores.items(), labels)])[0]
    oracle = ir_measures.calc_aggregate(list(METRICS.values()), {"q": labels}, {"q": scores})
    assert found.tolist() == [oracle[measure] for measure in METRICS.values()]


def test_the_largest_score_is_that_of_32_bits(tmp_path: Path) -> None:
    largest = float(np.finfo(np.float32).max)
    path = written(tmp_path, f"q1 Q0 a 1 {largest!r} mine\n")
    assert rows(read_run(path)) == [("q1", "a", largest)]


def peak_of_reading(path: Path) -> int:
    tracemalloc.start()
    try:
        assert sum(len(found) for _, found in by_query(path)) > 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peaks = []
    for queries in (5, 100):
        lines = (
            f"q{query} Q0 candidate{number} 1 {number} mine\n"
            for query in range(queries)
            for number in range(200)
        )
        peaks.append(peak_of_reading(written(tmp_path, "".join(lines))))
    assert peaks[1] < peaks[0] * 1.5
