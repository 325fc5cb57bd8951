"""How votes lie on the workers, by hand and by definition."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.statistics.votes import read_votes
from exports.statistics.workers import BINS, WorkerTally, gini
from tests.exports.statistics.tables import Campaign, write_judgments


def figures(folder: Path, campaign: Campaign) -> dict[str, object]:
    tally = WorkerTally()
    for votes in read_votes(write_judgments(folder, campaign), {}):
        tally.add(votes)
    return tally.figures()


@given(st.lists(st.integers(1, 500), min_size=1, max_size=40))
def test_gini_is_half_the_mean_difference_over_the_mean(votes: list[int]) -> None:
    differences = sum(abs(one - other) for one, other in product(votes, votes))
    wanted = differences / (2 * len(votes) ** 2 * np.mean(votes))
    assert gini(np.array(votes)) == pytest.approx(wanted, abs=5.1e-5)


def test_gini_by_hand() -> None:
    assert gini(np.array([5, 5, 5])) == 0.0
    assert gini(np.array([1, 1, 1, 97])) == 0.72  # 288 / 400
    assert gini(np.array([], dtype=int)) is None


def test_the_busiest_workers_share_is_of_all_votes(tmp_path: Path) -> None:
    campaign = {"moon": [[("ada", 1), ("bob", 1)], [("ada", 0), ("cleo", 0)], [("ada", 1)]]}
    found = figures(tmp_path, campaign)
    assert (found["workers"], found["top_share"]) == (3, 0.6)


def test_a_vote_is_compared_with_the_majority_of_the_others(tmp_path: Path) -> None:
    """Bob is compared with ada and cleo where they agree, and with nobody where they do not."""
    agreed = [("ada", 1), ("bob", 0), ("cleo", 1)]
    torn = [("ada", 1), ("bob", 0), ("cleo", 0)]  # ada is against both, the others are torn
    alone = [("bob", 1)]
    histogram = figures(tmp_path, {"moon": [agreed] * 9 + [torn] * 3 + [alone]})[
        "agreement_with_label"
    ]
    # ada: of agreed, the others are torn; of torn, never like them: 0 of 3, too few.
    # bob: of agreed never; of torn, the others are torn: 0 of 9, too few.
    assert isinstance(histogram, dict)
    assert sum(histogram["workers"]) == 0
    histogram = figures(tmp_path, {"moon": [agreed] * 12 + [[("bob", 1), ("ada", 1)]] * 3})[
        "agreement_with_label"
    ]
    # bob: 3 of 15. ada: 3 of 3, too few.
    assert isinstance(histogram, dict)
    assert histogram["edges"] == [number / BINS for number in range(BINS + 1)]
    assert [(number, n) for number, n in enumerate(histogram["workers"]) if n] == [(4, 1)]
    assert histogram["votes"][4] == 15


def test_full_agreement_is_in_the_last_bin(tmp_path: Path) -> None:
    campaign = {"moon": [[("ada", 1), ("bob", 1)]] * 10}
    histogram = figures(tmp_path, campaign)["agreement_with_label"]
    assert isinstance(histogram, dict)
    assert (histogram["workers"][-1], histogram["votes"][-1]) == (2, 20)


def test_without_votes_there_is_nothing_to_tell(tmp_path: Path) -> None:
    found = figures(tmp_path, {})
    assert (found["workers"], found["gini"], found["top_share"]) == (0, None, None)
