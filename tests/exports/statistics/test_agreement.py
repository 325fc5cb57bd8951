"""Agreement: against the libraries of the field, and against a bootstrap written out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.labels.agreement import (
    REPLICATES,
    SEED,
    bootstrap,
    interval,
    kappa,
    observed,
)
from exports.statistics.agreement import VoteCounts, agreement_figures, alpha

Votes = list[list[int]]  # of each triplet
triplets = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=5), min_size=1, max_size=40)


def counted(queries: list[Votes]) -> VoteCounts:
    """The tables, counted one vote after the other."""
    kinds = sorted({(len(votes), sum(votes)) for own in queries for votes in own})
    pairs = np.zeros((len(queries), 4), dtype=np.int64)
    units = np.zeros((len(queries), len(kinds)), dtype=np.int64)
    for query, votes in ((query, votes) for query, own in enumerate(queries) for votes in own):
        units[query, kinds.index((len(votes), sum(votes)))] += 1
        if len(votes) > 1:
            pairs[query, 2 * votes[0] + votes[1]] += 1
    return VoteCounts(pairs, units, kinds)


def total(table: np.ndarray) -> np.ndarray:
    return table.sum(axis=0, dtype=float)[None, :]


def library_alpha(votes: Votes) -> float:
    width = max(map(len, votes))
    units = [[*own, *[np.nan] * (width - len(own))] for own in votes]
    return float(krippendorff.alpha(np.array(units).T, level_of_measurement="nominal"))


def library_kappa(pairs: Sequence[Sequence[int]]) -> float:
    from sklearn.metrics import cohen_kappa_score  # noqa: PLC0415

    return float(cohen_kappa_score(*zip(*pairs, strict=True)))


@given(triplets)
def test_alpha_is_that_of_the_krippendorff_library(votes: Votes) -> None:
    counts = counted([votes])
    found = float(alpha(total(counts.units), counts.kinds)[0])
    pairable = [vote for own in votes if len(own) > 1 for vote in own]
    if len(set(pairable)) < 2:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(library_alpha(votes), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60))
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    counts = counted([[list(pair) for pair in pairs]])
    found = float(kappa(total(counts.pairs))[0])
    if len({vote for pair in pairs for vote in pair}) < 2:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(library_kappa(pairs), abs=1e-12)


def test_agreement_is_over_the_first_two_votes_of_triplets_that_have_them() -> None:
    counts = counted([[[1, 1], [1, 0, 0]], [[0, 0], [0, 1, 1], [1]]])
    assert observed(total(counts.pairs))[0] == 0.5
    # By chance 2/4 * 2/4 + 2/4 * 2/4 = 1/2, so kappa is 0.
    assert kappa(total(counts.pairs))[0] == 0.0


def test_alpha_by_hand() -> None:
    # Units 11, 10, 00: o01 = 1, n1 = 3, n0 = 3, so alpha = 1 - (6 - 1) * 1 / 9 = 4/9.
    counts = counted([[[1, 1], [1, 0], [0, 0], [1]]])
    assert alpha(total(counts.units), counts.kinds)[0] == pytest.approx(4 / 9)


def random_queries(seed: int, queries: int) -> list[Votes]:
    random = np.random.default_rng(seed)
    made = []
    for _ in range(queries):
        ease = random.random()
        sizes = random.integers(1, 5, size=random.integers(1, 6))
        made.append([(random.random(size) < ease).astype(int).tolist() for size in sizes])
    return made


@pytest.mark.parametrize("seed", range(3))
def test_the_bootstrap_is_one_over_whole_queries_written_out(seed: int) -> None:
    """The same draws, but the drawn queries' votes are laid out and counted by the libraries."""
    queries = random_queries(seed, 12)
    counts = counted(queries)
    alphas = bootstrap(counts.units, lambda totals: alpha(totals, counts.kinds))
    kappas = bootstrap(counts.pairs, kappa)
    random = np.random.RandomState(SEED)
    for replicate in range(60):
        drawn = [votes for row in random.randint(0, 12, 12) for votes in queries[row]]
        pairs = [votes[:2] for votes in drawn if len(votes) > 1]
        assert alphas[replicate] == pytest.approx(library_alpha(drawn), abs=1e-12)
        wanted = library_kappa(pairs)
        assert kappas[replicate] == pytest.approx(wanted, abs=1e-12)
    assert len(alphas) == len(kappas) == REPLICATES


def test_an_interval_holds_the_middle_of_the_resamples_that_are_defined() -> None:
    assert interval(np.append(np.arange(1001) / 1000, np.nan)) == (0.025, 0.975)
    assert interval(np.array([np.nan])) == (None, None)


def test_queries_that_agree_with_themselves_alone_make_the_interval_wide() -> None:
    """Ten queries of 30 triplets each: as independent triplets, they would look ten times surer."""
    agreed, split = [[1, 1]] * 30, [[1, 0]] * 30
    found = agreement_figures(counted([agreed] * 5 + [split] * 5))
    assert found["agreement"] == 0.5
    low, high = found["agreement_interval"]  # type: ignore[misc]
    assert low <= 0.2
    assert high >= 0.8


def test_all_that_is_undefined_is_null() -> None:
    nobody = agreement_figures(counted([]))
    assert (nobody["triplets"], nobody["votes"]) == (0, 0)
    same = agreement_figures(counted([[[1, 1], [1, 1]]]))
    assert (same["agreement"], same["agreement_interval"]) == (1.0, [1.0, 1.0])
    for found in (nobody, same):
        for name in ("kappa", "kappa_interval", "alpha", "alpha_interval"):
            assert found[name] is None
