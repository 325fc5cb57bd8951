import json
import os
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.ranking.metrics import METRICS, Ranking, hits, is_counted, means
from retrieval.ranking.metrics import values as values_of

ORACLES = {
    "P@1": ir_measures.P @ 1,
    "MAP": ir_measures.AP,
    "MRR": ir_measures.RR,
    "Hit@5": ir_measures.Success @ 5,
    "Hit@10": ir_measures.Success @ 10,
}
RANX = {
    "P@1": "precision@1",
    "MAP": "map",
    "MRR": "mrr",
    "Hit@5": "hit_rate@5",
    "Hit@10": "hit_rate@10",
}
LABELS = st.lists(st.integers(0, 1), max_size=30)


def values(ranking: Ranking) -> list[float]:
    found: list[float] = values_of([ranking])[0].tolist()
    return found


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        #                                          P@1  MAP                 MRR      Hit@5  Hit@10
        ([1, 0, 1, 0], [1, (1 + 2 / 3) / 2, 1, 1, 1]),
        ([0, 1, 1], [0, (1 / 2 + 2 / 3) / 2, 1 / 2, 1, 1]),
        ([0, 0, 0, 0, 1, 0, 1], [0, (1 / 5 + 2 / 7) / 2, 1 / 5, 1, 1]),
        ([0, 0, 0, 0, 0, 1], [0, 1 / 6, 1 / 6, 0, 1]),
        ([0] * 10 + [1], [0, 1 / 11, 1 / 11, 0, 0]),
    ],
)
def test_the_metrics_of_a_ranking_are_those_found_by_hand(
    labels: list[int], expected: list[float]
) -> None:
    assert values(Ranking.of_all(labels)) == pytest.approx(expected)


@pytest.mark.parametrize("labels", [[], [0], [0, 0, 0], b""])
def test_without_a_positive_every_metric_is_0(labels: Sequence[int]) -> None:
    assert values(Ranking.of_all(labels)) == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("labels", [[1], [1, 1, 1], [1] * 30, b"\1\1"])
def test_with_positives_alone_every_metric_is_1(labels: Sequence[int]) -> None:
    assert values(Ranking.of_all(labels)) == [1, 1, 1, 1, 1]


def test_a_positive_that_was_not_ranked_adds_nothing_and_is_divided_by() -> None:
    assert values(Ranking([1, 0], positives=4, judged=30)) == [1, 0.25, 1, 1, 1]
    assert values(Ranking([], positives=4, judged=30)) == [0, 0, 0, 0, 0]


def naive(labels: Sequence[int]) -> list[float]:
    """By the words of the definitions, in exact numbers."""
    places = [place for place in range(1, len(labels) + 1) if labels[place - 1] == 1]
    precisions = [Fraction(sum(labels[:place]), place) for place in places]
    return [
        float(1 in places),
        float(sum(precisions) / len(places)) if places else 0.0,
        1 / min(places) if places else 0.0,
        float(any(place <= 5 for place in places)),
        float(any(place <= 10 for place in places)),
    ]


@given(LABELS)
def test_the_metrics_are_what_their_definitions_say(labels: list[int]) -> None:
    assert values(Ranking.of_all(labels)) == pytest.approx(naive(labels), abs=1e-12)


@given(LABELS, LABELS)
def test_moving_a_positive_up_never_lowers_a_metric(above: list[int], below: list[int]) -> None:
    better = Ranking.of_all([*above, 1, 0, *below])
    worse = Ranking.of_all([*above, 0, 1, *below])
    assert all(after >= before for after, before in zip(values(better), values(worse), strict=True))
    of_map = list(METRICS).index("MAP")
    assert values(better)[of_map] > values(worse)[of_map]


def many_queries() -> dict[str, list[int]]:
    random = Random(5)
    made = {}
    for number in range(200):
        share = random.choice([0.0, 0.1, 0.3, 1.0])
        count = random.randint(1, 30)
        made[f"q{number}"] = [int(random.random() < share) for _ in range(count)]
    return made


def as_run_and_judgments(
    queries: dict[str, list[int]],
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    judgments = {
        query: {f"d{place}": label for place, label in enumerate(labels)}
        for query, labels in queries.items()
    }
    run = {
        query: {f"d{place}": float(-place) for place in range(len(labels))}
        for query, labels in queries.items()
    }
    return judgments, run


def test_ir_measures_finds_the_same_for_every_query() -> None:
    queries = many_queries()
    judgments, run = as_run_and_judgments(queries)
    found = {
        (metric.query_id, str(metric.measure)): metric.value
        for metric in ir_measures.iter_calc(list(ORACLES.values()), judgments, run)
    }
    for query, labels in queries.items():
        expected = [found[query, str(measure)] for measure in ORACLES.values()]
        assert values(Ranking.of_all(labels)) == pytest.approx(expected), query


def test_ir_measures_finds_the_same_means_the_qrc_way() -> None:
    queries = many_queries()
    judgments, run = as_run_and_judgments(queries)
    found = ir_measures.calc_aggregate(list(ORACLES.values()), judgments, run)
    ours = means(map(Ranking.of_all, queries.values()), "qrc")
    assert ours == pytest.approx({name: found[measure] for name, measure in ORACLES.items()})


def test_hit_at_every_k_is_what_ir_measures_finds() -> None:
    queries = many_queries()
    judgments, run = as_run_and_judgments(queries)
    measures = {ir_measures.Success @ k: k for k in range(1, 31)}
    found = {
        (metric.query_id, measures[metric.measure]): metric.value
        for metric in ir_measures.iter_calc(list(measures), judgments, run)
    }
    ours = hits(values_of(list(map(Ranking.of_all, queries.values()))), 30)
    for query, row in zip(queries, ours, strict=True):
        assert row.tolist() == [found[query, k] for k in range(1, 31)], query


@pytest.mark.slow
def test_ranx_finds_the_same_for_every_query() -> None:
    """In a process without its compiler, which takes half a minute to start."""
    queries = many_queries()
    script = (
        "import json, sys; from ranx import Qrels, Run, evaluate\n"
        "judgments, run, metrics = json.load(sys.stdin)\n"
        "evaluate(Qrels(judgments), found := Run(run), metrics)\n"
        "print(json.dumps({name: dict(found.scores[name]) for name in metrics}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps([*as_run_and_judgments(queries), list(RANX.values())]),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    for query, labels in queries.items():
        expected = [found[name][query] for name in RANX.values()]
        assert values(Ranking.of_all(labels)) == pytest.approx(expected), query


MIXED, ALL_POSITIVE, ALL_NEGATIVE = [0, 1], [1, 1], [0, 0]


def test_the_qrc_way_keeps_every_query_in_the_denominator() -> None:
    rankings = [Ranking.of_all(labels) for labels in (MIXED, ALL_POSITIVE, ALL_NEGATIVE, [])]
    assert means(rankings, "qrc") == {
        "P@1": 1 / 4,
        "MAP": (1 / 2 + 1) / 4,
        "MRR": (1 / 2 + 1) / 4,
        "Hit@5": 2 / 4,
        "Hit@10": 2 / 4,
    }


def test_the_clean_way_drops_queries_of_one_label() -> None:
    rankings = [Ranking.of_all(labels) for labels in (MIXED, ALL_POSITIVE, ALL_NEGATIVE, [], [1])]
    assert means(rankings, "clean") == means([Ranking.of_all(MIXED)], "clean")
    assert means(rankings, "clean")["MAP"] == 1 / 2


def test_the_clean_way_goes_by_the_judged_candidates_not_by_the_ranked_ones() -> None:
    assert is_counted(Ranking([1], positives=1, judged=2), "clean")
    assert is_counted(Ranking([], positives=1, judged=2), "clean")
    assert not is_counted(Ranking([0, 1, 0], positives=1, judged=1), "clean")


def test_without_a_query_that_counts_there_is_no_mean() -> None:
    assert set(means([], "qrc").values()) == {None}
    assert set(means([Ranking.of_all(ALL_POSITIVE)], "clean").values()) == {None}
