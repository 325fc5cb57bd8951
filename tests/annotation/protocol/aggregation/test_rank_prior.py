"""What ranks say before any vote, where votes show it."""

import numpy as np
import pytest
from scipy.special import expit, logit

from annotation.protocol.aggregation.calibration import RIDGE
from annotation.protocol.aggregation.fit import Fit, fit
from annotation.protocol.aggregation.rank_prior import fit_rank_prior
from annotation.protocol.aggregation.table import UNKNOWN, Floats, Ints
from tests.annotation.protocol.aggregation.crowd import crowd

RANKS, ITEMS = np.arange(1, 31), 3000


def drawn(slope: float, *, items: int = ITEMS, seed: int = 1) -> tuple[Floats, Ints]:
    """What two votes say of each, right four times in five, and its rank."""
    random = np.random.default_rng(seed)
    ranks = random.choice(RANKS, items)
    labels = random.random(items) < expit(0.5 + slope * np.log(ranks))
    right = random.random((items, 2)) < 0.8
    return np.where(right == labels[:, None], 1, -1).sum(axis=1) * logit(0.8), ranks


@pytest.mark.parametrize("slope", [-0.8, -0.4])
def test_the_slope_is_found_within_its_error(slope: float) -> None:
    found = [fit_rank_prior(*drawn(slope, seed=seed), alike=0.0) for seed in range(10)]
    slopes = np.array([one.slope for one in found])
    assert slopes.mean() == pytest.approx(slope, abs=3 * slopes.std() / np.sqrt(10))
    assert slopes.std() < 0.15
    assert np.mean([one.offset for one in found]) == pytest.approx(0.5, abs=0.15)


def test_it_is_where_a_search_of_all_pairs_ends() -> None:
    said, ranks = drawn(-1.0, items=200)
    made = fit_rank_prior(said, ranks, alike=-1.0)
    apart = np.log(ranks) - np.log(ranks).mean()

    def posterior(middle: float, slope: float) -> float:
        share = expit(middle + slope * apart)
        votes = np.log(share * np.exp(said) + 1 - share).sum()
        return float(votes - RIDGE * ((middle + 1) ** 2 + slope**2) / 2)

    steps = np.arange(-3, 1.5, 0.05)
    _, middle, slope = max((posterior(one, two), one, two) for one in steps for two in steps)
    assert made.slope == pytest.approx(slope, abs=0.05)
    assert made(np.exp([np.log(ranks).mean()]))[0] == pytest.approx(middle, abs=0.05)


def test_a_slope_upwards_is_none() -> None:
    assert fit_rank_prior(*drawn(0.8), alike=0.0).slope == 0


def test_votes_that_say_nothing_of_labels_say_nothing_of_ranks() -> None:
    said, ranks = drawn(-1.0)
    assert fit_rank_prior(0 * said, ranks, alike=-1.0).slope == 0
    assert fit_rank_prior(said[:12], ranks[:12], alike=-1.0).slope == 0


def fits(slope: float) -> tuple[Fit, Fit, Ints]:
    """Without the ranks, with them, and the labels: log-odds of 1 fall with the rank by `slope`."""
    votes, labels = crowd(
        [(0.75, 0.75)] * 20, items=ITEMS, votes=2, controls=60, answers=60, ones=0.2
    )
    random, of_1 = np.random.default_rng(2), RANKS**slope
    ranks = np.where(
        labels[:ITEMS] == 1,
        random.choice(RANKS, ITEMS, p=of_1 / of_1.sum()),
        random.choice(RANKS, ITEMS),
    )
    unsaid = np.full(ITEMS, UNKNOWN)
    return fit(votes, unsaid, unsaid), fit(votes, unsaid, unsaid, ranks), labels[:ITEMS]


def test_labels_are_right_more_often_where_ranks_say_something() -> None:
    without, with_ranks, labels = fits(-1.0)
    assert with_ranks.begin.slope * with_ranks.prior.slope == pytest.approx(-1.0, abs=0.25)
    wrong = [((one.log_odds > 0) != labels).mean() for one in (without, with_ranks)]
    assert wrong[1] < 0.9 * wrong[0]
    assert with_ranks.facts() == without.facts() | {
        "prior": with_ranks.prior.offset, "rank_slope": with_ranks.prior.slope,
    }  # fmt: skip


def test_where_ranks_say_nothing_nothing_is_changed() -> None:
    without, with_ranks, _ = fits(0.0)
    assert with_ranks.prior.slope == 0
    assert (with_ranks.log_odds == without.log_odds).all()
