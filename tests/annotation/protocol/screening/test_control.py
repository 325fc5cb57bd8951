from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.screening.control import RejectionReason, check_controls
from tests.annotation.protocol.steady import steady

ITEMS = ("a", "b", "c", "d", "e", "neg", "pos")
EXPECTED = {"pos": 1, "neg": 0}
MISSED, UNANSWERED = RejectionReason.MISSED, RejectionReason.UNANSWERED
GOOD = {"a": 1, "b": 0, "c": 0, "d": 1, "e": 0, "pos": 1, "neg": 0}


def without(*keys: str) -> dict[str, int]:
    return {key: value for key, value in GOOD.items() if key not in keys}


@pytest.mark.parametrize(
    ("answers", "missed", "unanswered"),
    [
        (GOOD, (), ()),
        (GOOD | {"a": 0, "b": 1, "c": 1, "d": 0, "e": 1}, (), ()),
        (GOOD | {"pos": 0}, ("pos",), ()),
        (GOOD | {"neg": 1}, ("neg",), ()),
        (GOOD | {"pos": 0, "neg": 1}, ("neg", "pos"), ()),
        (without("pos"), (), ("pos",)),
        (without("c"), (), ("c",)),
        (without("c") | {"neg": 1}, ("neg",), ("c",)),
        (without("e", "a"), (), ("a", "e")),
        (GOOD | {"c": 2}, (), ("c",)),
        (GOOD | {"pos": 2}, (), ("pos",)),
        ({}, (), ITEMS),
    ],
)
def test_one_missed_control_or_one_item_left_out_fails(
    answers: dict[str, int], missed: tuple[str, ...], unanswered: tuple[str, ...]
) -> None:
    check = check_controls(EXPECTED, answers, ITEMS)
    assert check.passed is (missed == unanswered == ())
    assert check.failures == {MISSED: missed, UNANSWERED: unanswered}


def test_all_controls_yes_fails_on_the_negative_and_all_no_on_the_positive() -> None:
    assert check_controls(EXPECTED, dict.fromkeys(ITEMS, 1), ITEMS).failures[MISSED] == ("neg",)
    assert check_controls(EXPECTED, dict.fromkeys(ITEMS, 0), ITEMS).failures[MISSED] == ("pos",)


@pytest.mark.parametrize(
    ("cannot", "missed"), [({"a", "b"}, ()), ({"pos"}, ("pos",)), (set(ITEMS), ("neg", "pos"))]
)
def test_who_cannot_judge_an_item_has_answered_it_and_misses_a_control(
    cannot: set[str], missed: tuple[str, ...]
) -> None:
    answers = without(*cannot)
    check = check_controls(EXPECTED, answers, ITEMS, cannot)
    assert check.failures == {MISSED: missed, UNANSWERED: ()}


def test_fields_that_are_no_items_are_ignored() -> None:
    assert check_controls(EXPECTED, GOOD | {"csrf": 1, "zzz": 0}, ITEMS).passed


def test_a_control_missing_from_the_items_is_still_to_be_answered() -> None:
    assert check_controls({"pos": 1}, {"a": 1}, ["a"]).failures[UNANSWERED] == ("pos",)


def test_a_hit_without_items_passes() -> None:
    assert check_controls({}, {}, []).passed


def test_the_worker_reads_the_first_reason_that_holds() -> None:
    assert check_controls(EXPECTED, without("c"), ITEMS).explain() == (
        "Questions left without an answer: 1."
    )
    missed = check_controls(EXPECTED, GOOD | {"pos": 0, "neg": 1}, ITEMS).explain()
    assert missed.startswith("Check questions answered wrongly: 2. ")
    both = check_controls(EXPECTED, without("c") | {"neg": 1}, ITEMS).explain()
    assert both.startswith("Questions left")


@steady
@given(answers=st.fixed_dictionaries({}, optional={key: st.integers(0, 2) for key in ITEMS}))
def test_passing_means_seven_answers_and_both_controls_right(answers: dict[str, int]) -> None:
    complete = len(answers) == 7 and 2 not in answers.values()
    right = complete and (answers["pos"], answers["neg"]) == (1, 0)
    assert check_controls(EXPECTED, answers, set(ITEMS)).passed is right
