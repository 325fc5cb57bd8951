"""What is drawn as true is positive as often as in the paper."""

import pytest

from annotation.protocol.studies.simulated_labels import (
    ANSWERABLE,
    chance_of_a_positive,
    draw_labels,
)

RANKS = range(1, 31)


def test_thirty_candidates_have_the_papers_positives() -> None:
    chances = [chance_of_a_positive(rank) for rank in RANKS]
    assert sum(chances) == pytest.approx(5.8, abs=0.02)
    assert sum(chances) / 30 == pytest.approx(0.19, abs=0.005)
    assert chances[0] == 0.426
    assert chances == sorted(chances, reverse=True)


def test_many_draws_come_to_these_figures() -> None:
    drawn = [draw_labels(f"q{number}", RANKS, seed=3) for number in range(4000)]
    assert sum(map(sum, drawn)) / 4000 == pytest.approx(5.8, abs=0.2)
    assert sum(map(any, drawn)) / 4000 == pytest.approx(ANSWERABLE, abs=0.02)
    assert sum(labels[0] for labels in drawn) / 4000 == pytest.approx(0.426, abs=0.025)


def test_the_seed_and_the_query_decide() -> None:
    assert draw_labels("q1", RANKS, seed=1) == draw_labels("q1", RANKS, seed=1)
    assert len({tuple(draw_labels(f"q{n}", RANKS, seed=n % 2)) for n in range(40)}) > 20
