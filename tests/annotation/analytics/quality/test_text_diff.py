"""Which words of two questions are marked as differing."""

import time
import timeit
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.analytics.quality.text_diff import LONGEST, Part, mark_differences
from tests.support.examples import examples


def shown(parts: list[Part]) -> str:
    return "".join(f"[{part.text}]" if part.differs else part.text for part in parts)


def unmarked(text: str) -> str:
    return text.replace("[", "").replace("]", "")


NEAR_MISSES = [
    ("How do I change the [strap] of my watch?", "how do i change the [battery] of my watch"),
    (
        "What is the best restaurant in LA ?",
        "What is the best [dish of the best] restaurant in LA?",
    ),
    ("Who did [kill] Brutus?", "Who did Brutus [kill]?"),
    (
        "How many [kilometers] are in one [nautical mile]?",
        "How many [nautical miles] are in one [kilometer]?",
    ),
    ("convert [km to] miles", "convert miles [to km]"),
    ("name of the back of a boat", "name of the back [and front] of a boat"),
    ("how to [replace] the battery", "how to [change] the battery"),
    ("Is it [2] or more?", "Is it [two] or more?"),
    ("about [3.5] percent off", "about [35] percent off"),
    ("at [10:30] in Rome", "at [10:45] in Rome"),
    ("is [-5] degrees cold", "is [5] degrees cold"),
    ("is [€]5 enough", "is [$]5 enough"),
    ("a loop in C[++] please", "a loop in C[#] please"),
    ("the flag [🇩🇪] now", "the flag [🇩🇰] now"),
    ("who is [José] there", "who is [Jose] there"),
    ("[東京]の人口は。", "[大阪]の人口は。"),
    ("ราคา[แ]ม[ว]นี้", "ราคา[ห]ม[า]นี้"),
    ("كم عمر [القطة] الآن؟", "كم عمر [الكلبة] الآن؟"),
]
NO_DIFFERENCE = [
    ("Why is the sky blue?", "why is the sky blue"),
    ("It's well-known; e-mail!", "its well known email"),
    ("THE STRASSE", "the straße"),
    ("cafe\u0301 au lait", "caf\u00e9 au lait"),
    ("\uff26\uff55\uff4c\uff4c width 5", "Full width \uff15"),
    ("“quoted” words…", "'quoted' words"),
    ("می\u200cروم خانه", "میروم خانه"),
    ("", ""),
    ("?!", "..."),
]
WHOLLY_DIFFERENT = [
    ("How do I sharpen a knife?", "Which is the driest desert?"),
    ("How many legs has a spider?", "number of legs on a spider"),
    ("why do my ears hurt", "what makes the ears of passengers hurt before landing"),
    ("one two three four five six", "six five four three two one"),
    ("", "anything"),
    ("word", ""),
    ("猫は好きですか", "明日の天気"),
]


@pytest.mark.parametrize(("query", "question"), NEAR_MISSES)
def test_the_words_of_a_near_miss_are_marked(query: str, question: str) -> None:
    ours, theirs = mark_differences(unmarked(query), unmarked(question))
    assert (shown(ours), shown(theirs)) == (query, question)


@pytest.mark.parametrize(("query", "question"), NO_DIFFERENCE)
def test_case_punctuation_and_encoding_are_no_difference(query: str, question: str) -> None:
    ours, theirs = mark_differences(query, question)
    assert (shown(ours), shown(theirs)) == (query, question)


@pytest.mark.parametrize(("query", "question"), WHOLLY_DIFFERENT)
def test_where_most_differs_nothing_is_marked(query: str, question: str) -> None:
    ours, theirs = mark_differences(query, question)
    assert not any(part.differs for part in ours + theirs)


# Few letters make near misses likely; the others try every kind of character.
WORDS = st.lists(st.sampled_from(["a", "b", "c-d", "É", "猫", "แม", "3.5", "👍🏽"]), max_size=12)
TEXTS = st.one_of(WORDS.map(" ".join), st.text(max_size=60))


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, TEXTS)
def test_joined_the_parts_are_the_text(query: str, question: str) -> None:
    ours, theirs = mark_differences(query, question)
    assert "".join(part.text for part in ours) == query
    assert "".join(part.text for part in theirs) == question
    assert all(part.text for part in ours + theirs)


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS)
def test_no_text_differs_from_itself_with_other_spaces_and_ends(text: str) -> None:
    for parts in mark_differences(text, f"  {text} ?"):
        assert not any(part.differs for part in parts)


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS, TEXTS)
def test_neighbours_are_not_marked_twice(query: str, question: str) -> None:
    for parts in mark_differences(query, question):
        assert all(one.differs != next_.differs for one, next_ in pairwise(parts))


@pytest.mark.parametrize(
    ("query", "question"),
    [
        ("x " * (LONGEST // 2), "y " * (LONGEST // 2)),
        ("a b " * 99, "b a c " * 66),
        ("w" * 1_000_000, "w" * 1_000_000 + "x"),
        ("猫" * LONGEST, "犬" * LONGEST),
        ("\u0301" * LONGEST, "'" * LONGEST),
    ],
)
def test_no_text_takes_long(query: str, question: str) -> None:
    # This thread alone, without the collector: it takes up to 20 ms.
    timer = timeit.Timer(lambda: mark_differences(query, question), timer=time.thread_time)
    assert min(timer.repeat(repeat=3, number=1)) < 0.3
    ours, _ = mark_differences(query, question)
    assert "".join(part.text for part in ours) == query
