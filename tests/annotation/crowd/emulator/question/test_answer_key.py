"""The value of a qualification from the answers to its test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.question.answer_key import MAX_VALUE, read_key
from annotation.crowd.emulator.question.answers import read_reply
from annotation.crowd.emulator.question.form import Form, read_form
from tests.annotation.crowd.emulator.forms import answer_key, asked, choice, question_form

TEST = read_form(
    question_form(
        asked("move", choice("c", "d"))
        + asked("fruit", choice("apples", "pears", "plums", low=0, high=3))
    ),
    "Test",
)
SCORES = {"move": {"d": 5}, "fruit": {"apples": 10, "apples+pears": 3, "": -1}}
PERCENT = "<PercentageMapping><MaximumSummedScore>15</MaximumSummedScore></PercentageMapping>"
SCALE = "<ScaleMapping><SummedScoreMultiplier>1.5</SummedScoreMultiplier></ScaleMapping>"
RANGES = (
    "<RangeMapping>"
    "<SummedScoreRange><InclusiveLowerBound>5</InclusiveLowerBound>"
    "<InclusiveUpperBound>9</InclusiveUpperBound><QualificationValue>50</QualificationValue>"
    "</SummedScoreRange>"
    "<SummedScoreRange><InclusiveLowerBound>10</InclusiveLowerBound>"
    "<InclusiveUpperBound>15</InclusiveUpperBound><QualificationValue>100</QualificationValue>"
    "</SummedScoreRange>"
    "<OutOfRangeQualificationValue>7</OutOfRangeQualificationValue></RangeMapping>"
)


def grade(key: str, move: str, *fruit: str) -> int:
    fields = [("answer-0", move), *(("answer-1", each) for each in fruit)]
    return read_key(key, TEST).grade(read_reply(TEST, fields).answers)


@pytest.mark.parametrize(
    ("chosen", "score", "percent", "scaled", "ranged"),
    [
        (("d", "apples"), 15, 100, 23, 100),
        (("c", "apples"), 10, 67, 15, 100),
        (("d", "pears", "apples"), 8, 53, 12, 50),
        (("d", "apples", "pears", "plums"), 4, 27, 6, 7),
        (("c",), -1, -7, -2, 7),
        (("", "plums"), -1, -7, -2, 7),
    ],
)
def test_scores_become_a_value(
    chosen: tuple[str, ...], score: int, percent: int, scaled: int, ranged: int
) -> None:
    expected = {"": score, PERCENT: percent, SCALE: scaled, RANGES: ranged}
    assert {
        mapping: grade(answer_key(SCORES, mapping), *chosen) for mapping in expected
    } == expected


@pytest.mark.parametrize("score", [2**31 - 1, -(2**31)])
def test_a_value_never_leaves_the_range_of_mturks_integers(score: int) -> None:
    key = answer_key({"move": {"d": score}, "fruit": {"apples": score}}, SCALE)
    assert abs(grade(key, "d", "apples")) == MAX_VALUE


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_every_question_counts_once(right: int, wrong: int) -> None:
    key = answer_key({"move": {"d": right, "": wrong}})
    assert (grade(key, "d"), grade(key, "c"), grade(key, "")) == (right, wrong, wrong)


FREE = read_form(question_form(asked("free") + asked("move", choice("d"))), "Test")
OTHER = read_form(question_form(asked("move", choice("d", other="<OtherSelection/>"))), "Test")


@pytest.mark.parametrize(
    ("key", "test", "part"),
    [
        ("<x", TEST, "AnswerKey is not well-formed"),
        (answer_key({}), TEST, "Missing child"),
        (answer_key({"move": {"": 1}}), TEST, "AnswerOption"),
        (answer_key({"move": {"d": 1}}, PERCENT.replace("15", "0")), TEST, "positiveInteger"),
        (answer_key({"nosuch": {"d": 1}}), TEST, "nosuch, which Test does not have"),
        (answer_key({"move": {"d": 1}}), FREE, "free, which takes free text"),
        (answer_key({"move": {"d": 1}}), OTHER, "move, which takes free text"),
        (answer_key({"move": {"d": 1}}).replace("2005", "2006"), TEST, "root must be"),
    ],
)
def test_a_key_that_cannot_grade_the_test_is_refused(key: str, test: Form, part: str) -> None:
    with pytest.raises(RequestError, match=part):
        read_key(key, test)
