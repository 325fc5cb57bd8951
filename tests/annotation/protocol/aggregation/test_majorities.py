import numpy as np
import pytest

from annotation.protocol.aggregation.majorities import majority, weighted_majority
from annotation.protocol.aggregation.table import UNKNOWN, VoteTable
from tests.annotation.protocol.aggregation.crowd import table


def test_as_many_more_votes_for_than_against_say_as_much() -> None:
    votes = [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (2, 0, 1), (2, 1, 0), (2, 2, 0)]
    given = table(votes, [UNKNOWN] * 4)
    assert majority(given).log_odds(given)[:3].tolist() == [2.0, 0.0, -1.0]
    assert np.isnan(majority(given).shares(given)[3])  # nobody has voted


def test_a_known_item_keeps_its_label_whatever_the_votes_say() -> None:
    votes = [(0, 0, 1), (0, 1, 1)]
    for aggregate in (majority, weighted_majority):
        given = table(votes, [0, 1])
        assert aggregate(given).shares(given).tolist() == [0.0, 1.0]


def test_whoever_fails_controls_loses_a_tie() -> None:
    # Items 1 to 3 are controls: worker 0 is right on all, worker 1 on none.
    answers = [(item, worker, int(worker == 0)) for item in (1, 2, 3) for worker in (0, 1)]
    given = table([(0, 0, 1), (0, 1, 0), *answers], [UNKNOWN, 1, 1, 1])
    claimed = weighted_majority(given).log_odds(given)
    assert claimed[0] == pytest.approx((3 + 0.5) / 4 - 0.5 / 4)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([0], [0, 0], [1]), "the columns of votes differ in length"),
        (([1], [0], [1]), "items are 0 to 0, not 1 to 1"),
        (([0], [3], [1]), "workers are 0 to 2, not 3 to 3"),
        (([0], [0], [2]), "votes are 0 to 1, not 2 to 2"),
    ],
)
def test_columns_that_do_not_belong_together_are_refused(
    columns: tuple[list[int], ...], words: str
) -> None:
    item, worker, vote = map(np.array, columns)
    with pytest.raises(ValueError, match=words):
        VoteTable(item, worker, vote, np.array([UNKNOWN]), 3)
