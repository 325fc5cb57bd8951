"""Means that guesses make surer, beside ppi-python's."""

import numpy as np
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

from annotation.protocol.estimates.label_audit import Floats, ppi_mean
from annotation.protocol.labels.label_error import NINETY_FIVE_PERCENT


def drawn(help_of_guesses: float) -> tuple[Floats, Floats, Floats]:
    """Truths with their guesses, and guesses of others."""
    random = np.random.default_rng(7)
    truths = (random.random(1_000) < 0.2).astype(float)
    guesses = help_of_guesses * truths + random.random(1_000)
    return truths[:150], guesses[:150], guesses[150:]


@pytest.mark.parametrize("help_of_guesses", [0.0, 0.5, 5.0])
def test_value_and_interval_are_those_of_ppi_python(help_of_guesses: float) -> None:
    truths, guesses, others = drawn(help_of_guesses)
    mean = ppi_mean(truths, guesses, others)
    assert mean.value == pytest.approx(ppi_mean_pointestimate(truths, guesses, others)[0])
    low, high = ppi_mean_ci(truths, guesses, others, alpha=0.05)
    half = NINETY_FIVE_PERCENT * mean.error
    assert (mean.value - half, mean.value + half) == pytest.approx((low[0], high[0]), abs=1e-6)


def test_good_guesses_make_it_surer_and_bad_ones_cost_nothing() -> None:
    by_guesses = [ppi_mean(*drawn(help_of_guesses)) for help_of_guesses in (0.0, 5.0)]
    truths = drawn(0.0)[0]
    plain = truths.std() / np.sqrt(len(truths))
    assert by_guesses[0].error <= plain
    assert by_guesses[1].error < 0.6 * plain


def test_without_others_or_with_one_guess_for_all_it_is_the_plain_mean() -> None:
    truths, guesses, others = drawn(1.0)
    plain = (pytest.approx(truths.mean()), pytest.approx(truths.std() / np.sqrt(len(truths))), 0)
    assert ppi_mean(truths, guesses, others[:0]) == plain
    assert ppi_mean(truths, np.ones_like(truths), np.ones_like(others)) == plain
