"""What an expert should look at first, and the controls that the record proposes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.labels.control_candidates import is_beyond_dispute, is_clear, is_steady
from annotation.protocol.labels.disagreement_weight import disagreement_weight
from annotation.protocol.labels.label_error import wilson_interval
from annotation.protocol.screening.control_accuracy import ControlRate, worst_first

# Worked by hand: 2 (minority + 1) / (votes + 2) / log2(rank + 1), twice where it is decisive.
TABLE = [
    (4, 2, 1, False, 1.0),  # 2 * 3/6 / 1
    (2, 1, 1, False, 1.0),  # a tie is a tie
    (5, 3, 1, False, 6 / 7),  # 2 * 3/7
    (5, 2, 1, False, 6 / 7),  # the other way round
    (3, 2, 1, False, 0.8),  # 2 * 2/5
    (4, 1, 1, False, 2 / 3),  # 2 * 2/6
    (5, 4, 1, False, 4 / 7),  # 2 * 2/7
    (3, 2, 3, False, 0.4),  # half at rank 3: log2 4 = 2
    (3, 2, 7, False, 0.8 / 3),  # a third at rank 7
    (3, 2, 1, True, 1.6),
    (3, 1, 31, True, 0.32),  # a fifth at rank 31, twice
    (3, 3, 1, True, 0.0),  # nobody disagrees
    (3, 0, 1, True, 0.0),
    (0, 0, 1, True, 0.0),
]


@pytest.mark.parametrize(("votes", "positive", "rank", "decisive", "expected"), TABLE)
def test_the_weight_is_the_one_worked_by_hand(
    votes: int, positive: int, rank: int, decisive: bool, expected: float
) -> None:
    found = disagreement_weight(votes=votes, positive=positive, rank=rank, decisive=decisive)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("votes", "positive", "rank"), [(2, 3, 1), (2, -1, 1), (2, 1, 0)])
def test_counts_that_cannot_be_are_refused(votes: int, positive: int, rank: int) -> None:
    with pytest.raises(ValueError, match="no triplet of rank"):
        disagreement_weight(votes=votes, positive=positive, rank=rank, decisive=False)


@st.composite
def disputed(draw: st.DrawFn) -> tuple[int, int]:
    votes = draw(st.integers(2, 9))
    return votes, draw(st.integers(1, votes - 1))


@given(disputed(), st.integers(1, 100), st.booleans())
def test_a_higher_rank_and_being_decisive_matter_more(
    tally: tuple[int, int], rank: int, decisive: bool
) -> None:
    votes, positive = tally
    here = disagreement_weight(votes=votes, positive=positive, rank=rank, decisive=decisive)
    below = disagreement_weight(votes=votes, positive=positive, rank=rank + 1, decisive=decisive)
    other = disagreement_weight(
        votes=votes, positive=votes - positive, rank=rank, decisive=decisive
    )
    assert 0 < below < here <= 2
    assert here == other  # which way it went says nothing
    more = disagreement_weight(votes=votes, positive=positive, rank=rank, decisive=True)
    assert more == pytest.approx(here if decisive else 2 * here)


@given(disputed(), st.integers(1, 30))
def test_a_tie_of_as_many_votes_matters_most(tally: tuple[int, int], rank: int) -> None:
    votes, positive = tally
    split = disagreement_weight(votes=votes, positive=positive, rank=rank, decisive=False)
    middle = disagreement_weight(votes=votes, positive=votes // 2, rank=rank, decisive=False)
    assert split <= middle


def test_controls_that_surely_fail_stand_before_those_that_may() -> None:
    rates = [
        ControlRate(1, 100, 100, 20),
        ControlRate(2, 1, 0, 1),  # up to 0.79
        ControlRate(3, 100, 50, 20),  # up to 0.60
        ControlRate(4, 0, 0, 0),
        ControlRate(5, 10, 9, 9),  # up to 0.98
    ]
    assert [rate.control for rate in worst_first(rates)] == [3, 2, 5, 1, 4]


def test_a_rate_is_a_share_with_its_interval() -> None:
    assert (ControlRate(1, 4, 3, 2).share, ControlRate(1, 0, 0, 0).share) == (0.75, None)
    assert ControlRate(1, 4, 3, 2).interval == wilson_interval(3, 4)
    assert ControlRate(1, 0, 0, 0).interval is None


@pytest.mark.parametrize(
    ("votes", "positive", "is_confirmed", "expected"),
    [
        (3, 3, False, True),
        (5, 5, False, True),
        (3, 2, True, False),
        (2, 2, True, True),
        (2, 2, False, False),
        (1, 1, True, False),
        (3, 0, True, True),
        (3, 1, True, False),
        (0, 0, True, False),
    ],
)
def test_only_what_all_said_the_same_to_is_beyond_dispute(
    votes: int, positive: int, is_confirmed: bool, expected: bool
) -> None:
    agreed = is_beyond_dispute(votes=votes, positive=positive, is_confirmed=is_confirmed)
    assert agreed is expected


@pytest.mark.parametrize(
    ("judged", "agreed", "expected"),
    [(20, 18, True), (20, 17, False), (19, 19, False), (100, 90, True), (0, 0, False)],
)
def test_a_steady_worker_has_judged_much_and_as_the_others(
    judged: int, agreed: int, expected: bool
) -> None:
    assert is_steady(judged, agreed) is expected


@pytest.mark.parametrize(
    ("query", "question", "answer", "expected"),
    [
        ("how many legs has a spider", "number of legs a spider has", "Eight.", True),
        ("how many legs has a spider", "How many legs has a spider?", "Eight.", False),  # the same
        ("how many legs has a spider", "why is the sky blue", "Light.", False),  # no word in common
        ("how many legs has a spider", "number of legs a spider has", " ", False),
        ("price of a stamp", "stamp price", "90 cents.", True),
        ("price of a stamp", "stamp cost in euros", "90 cents.", False),  # a quarter
        ("spider " * 40, "spider legs", "Eight.", False),  # too long
        ("how many legs has a spider", "number of legs a spider has", "x" * 601, False),
        ("", "", "Eight.", False),
        ("?", "!", "Eight.", False),
    ],
)
def test_a_clear_control_says_the_same_in_other_plain_words(
    query: str, question: str, answer: str, expected: bool
) -> None:
    assert is_clear(query, question, answer) is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("why has a fly six legs", True),
        ("how many legs has a fly", False),  # five of six
        ("why is the sky blue", False),
    ],
)
def test_a_clear_negative_is_on_the_topic_and_asks_something_else(
    question: str, expected: bool
) -> None:
    assert is_clear("how many legs has a spider", question, "Six.", label=0) is expected
