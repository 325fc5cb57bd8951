"""The label error by kind, from what experts judged of labels that look alike."""

from collections import Counter

import pytest

from annotation.protocol.estimates.label_audit import Audit, Pattern, interval
from annotation.protocol.labels.label_error import LabelError, Verdict

YES, NO = Pattern(1, 2, 0), Pattern(0, 0, 2)
SPLIT_YES, SPLIT_NO = Pattern(1, 2, 1), Pattern(0, 1, 2)


def error_of(labels: dict[Pattern, tuple[int, int, int]]) -> LabelError:
    """By how many labels there are, are judged, and are wrong."""
    counts = [Counter({one: row[place] for one, row in labels.items()}) for place in range(3)]
    error = Audit(*counts).error()
    assert error is not None
    return error


def test_a_label_claims_to_be_as_wrong_as_the_votes_against_it() -> None:
    assert [one.claim for one in (YES, SPLIT_YES, NO, SPLIT_NO)] == [1 / 6, 3 / 8, 1 / 6, 3 / 8]
    imported, overruled = Pattern(1, 0, 0), Pattern(1, 0, 2)
    assert (imported.claim, overruled.claim) == (1 / 2, 5 / 6)
    assert [one.agreed for one in (YES, SPLIT_YES, imported, overruled)] == [True, *[False] * 3]


def test_what_looks_alike_counts_as_often_as_it_occurs() -> None:
    """Half of those judged are of the tenth on which votes differ."""
    error = error_of({YES: (900, 100, 2), SPLIT_YES: (100, 100, 40)})
    assert error.share == pytest.approx(0.9 * 0.02 + 0.1 * 0.4)
    assert (error.triplets, error.wrong) == (200, 42)
    low, high = interval(2, 100)
    assert error.high - error.share > 0.9 * (high - 0.02)
    assert error.share - error.low > 0.9 * (0.02 - low)


def test_kinds_are_shares_of_their_labels_and_of_all() -> None:
    error = error_of({YES: (200, 20, 4), NO: (800, 80, 2)})
    positives, negatives = error.false_positives, error.false_negatives
    assert positives is not None
    assert negatives is not None
    assert (positives.triplets, positives.wrong, positives.share.value) == (20, 4, 0.2)
    assert positives.share[1:] == pytest.approx(interval(4, 20))
    assert positives.of_all == pytest.approx([0.2 * bound for bound in positives.share])
    assert error.share == pytest.approx(positives.of_all.value + negatives.of_all.value)


def test_a_kind_of_which_none_was_judged_is_unknown() -> None:
    error = error_of({YES: (10, 0, 0), NO: (90, 50, 1)})
    assert error.false_positives is None
    assert error.share == 0.02  # as if positives were like the others


def test_an_interval_is_wilsons_with_a_lower_end_that_is_passed_less_often() -> None:
    # (2 + 3.841459 - 1 - 1.959964 * sqrt(3.841459 - 2 - 0.1 + 0.4 * 10)) / (2 * 13.841459)
    assert interval(1, 10) == pytest.approx((0.0052423, 0.4041500), abs=1e-6)
    assert interval(0, 20) == pytest.approx((0.0, 0.1611252), abs=1e-6)
    assert interval(20, 20)[1] == 1


def test_of_one_kind_with_few_judged_it_is_a_plain_interval() -> None:
    error = error_of({YES: (10, 9, 3)})
    assert error[2:5] == pytest.approx((1 / 3, *interval(3, 9)))


def test_guesses_of_votes_make_it_surer_where_enough_are_wrong() -> None:
    """Of 2 : 1 more are wrong than of 4 : 3, against what their votes claim, and the reverse."""
    close = Pattern(1, 6, 5)
    by_claims = error_of({SPLIT_YES: (500, 50, 5), close: (500, 50, 30)})
    against = error_of({SPLIT_YES: (500, 50, 30), close: (500, 50, 5)})
    low, high = interval(35, 100)
    assert by_claims.high - by_claims.low < 0.99 * (high - low)
    assert against.high - against.low == pytest.approx(high - low)


def test_experts_who_are_split_and_labels_without_a_majority_judge_nothing() -> None:
    audit = Audit()
    audit.add(YES, labels=3)
    audit.add(None, decided=True)
    audit.judge(YES, Verdict(1, yes=1, no=1))
    assert audit.error() is None
    audit.judge(YES, Verdict(1, yes=1, no=2))
    assert (audit.judged.total(), audit.wrong.total(), audit.alone) == (1, 1, 1)
