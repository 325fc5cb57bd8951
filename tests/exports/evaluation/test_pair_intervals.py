"""Intervals and p of accuracy, F1 and ROC-AUC, against scikit-learn on each draw of queries."""

import math
from array import array
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exports.evaluation import pair_intervals
from exports.evaluation.pair_intervals import difference, ends, p_value, replicates
from exports.evaluation.pair_metrics import PAIRWISE, pairwise
from exports.evaluation.scoring import Pairs
from retrieval.ranking.bootstrap import REPLICATES, SEED
from tests.support.examples import examples

NAN = math.nan
Query = Sequence[tuple[int, float]]
QUERIES = st.lists(
    st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from([-3.0, 0.25, 0.5, 0.75, 1e300, -1e300, NAN])),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
    max_size=6,
).filter(lambda queries: not all(math.isnan(score) for query in queries for _, score in query))


def pairs(*queries: Query) -> Pairs:
    rows = [row for query in queries for row in query]
    return Pairs(
        bytearray(row[0] for row in rows),
        array("d", (row[1] for row in rows)),
        [len(query) for query in queries],
    )


def by_the_library(queries: Sequence[Query], drawn: Sequence[int], threshold: float) -> list[float]:
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score  # noqa: PLC0415

    rows = [row for number in drawn for row in queries[number]]
    labels = [label for label, _ in rows]
    taken = [score >= threshold for _, score in rows]
    order = [-math.inf if math.isnan(score) else score for _, score in rows]
    ranks = [sorted(set(order)).index(score) for score in order]
    both = len(set(labels)) == 2
    return [
        accuracy_score(labels, taken),
        f1_score(labels, taken, zero_division=NAN),
        roc_auc_score(labels, ranks) if both else NAN,
    ]


@settings(max_examples=examples(20), deadline=None)
@given(QUERIES)
def test_each_draw_has_the_figures_of_the_queries_drawn(queries: list[Query]) -> None:
    found = replicates([pairs(*queries)], [0.5])
    random = np.random.RandomState(SEED)
    for row in found[:40]:
        drawn = random.randint(0, len(queries), len(queries))
        expected = by_the_library(queries, drawn, 0.5)
        assert row.tolist() == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_the_draws_do_not_depend_on_how_many_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = pairs([(1, 0.9), (0, 0.2)], [(0, 0.7), (1, 0.6)], [(1, 0.1), (0, 0.4)])
    found = replicates([one], [0.5])
    monkeypatch.setattr(pair_intervals, "AT_ONCE", 333)
    assert np.array_equal(replicates([one], [0.5]), found)


def test_of_several_runs_a_draw_has_their_mean() -> None:
    good = pairs([(1, 0.9), (0, 0.2)], [(0, 0.3), (1, 0.6)])
    bad = pairs([(1, 0.2), (0, 0.9)], [(0, 0.6), (1, 0.3)])
    assert replicates([good, bad], [0.5, 0.5])[:, [0, 2]] == pytest.approx(0.5)


def test_a_figure_lies_within_its_interval() -> None:
    draw = np.random.RandomState(1)
    queries = [[(int(label), label + draw.normal()) for label in (0, 1, 0)] for _ in range(50)]
    one = pairs(*queries)
    figures = pairwise(one, 0.5)
    for name, drawn in zip(PAIRWISE, replicates([one], [0.5]).T, strict=True):
        sure = ends(drawn)
        low, value, high = (at or 0.0 for at in (sure["low"], figures[name], sure["high"]))
        assert 0 < low < value < high
        assert 0.05 < high - low < 0.3


def test_a_system_is_no_better_than_itself_and_better_than_one_that_errs_everywhere() -> None:
    right = replicates([pairs(*[[(1, 0.9), (0, 0.1)]] * 20)], [0.5])
    wrong = replicates([pairs(*[[(1, 0.1), (0, 0.9)]] * 20)], [0.5])
    assert {p_value(drawn) for drawn in (right - right).T} == {1}
    assert {p_value(drawn) for drawn in (right - wrong).T} == {2 / (REPLICATES + 1)}
    assert {p_value(drawn) for drawn in (wrong - right).T} == {2 / (REPLICATES + 1)}


def test_without_a_threshold_or_with_one_label_nothing_is_said() -> None:
    for drawn in replicates([pairs([(1, 0.9), (1, 0.1)])], [None]).T:
        assert ends(drawn) == {"low": None, "high": None}
        assert p_value(drawn) is None
        assert difference([0.5, None], [0.5], drawn) is None
