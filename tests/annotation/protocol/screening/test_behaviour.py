"""What a browser may send of its worker is anything: the rules hold for all of it."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotation.protocol.screening.behaviour import (
    BEHAVIOUR_LENGTH,
    MOST_CHANGES,
    MOST_MS,
    TEXT_LENGTH,
    Behaviour,
    Report,
    is_straight,
    read_behaviour,
    read_reports,
)
from tests.annotation.protocol.steady import steady

KEYS = ("a1", "b2", "c3")
WALL = 60_000

# Anything that JSON can say, and what Python's reader takes beyond it.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)
ITEM = st.fixed_dictionaries({}, optional={"ms": VALUES, "changes": VALUES})
ALMOST = st.fixed_dictionaries(
    {"v": st.sampled_from([1, 1.0, True, 2, "1"])},
    optional={
        "active_ms": VALUES,
        "items": st.dictionaries(st.sampled_from([*KEYS, "zz"]), ITEM | VALUES) | VALUES,
    },
)


def report(**behaviour: Any) -> str:
    return json.dumps({"v": 1, **behaviour})


def test_what_an_honest_browser_sends_is_read_as_it_stands() -> None:
    text = report(
        active_ms=41_000,
        items={"a1": {"ms": 9000, "changes": 0}, "b2": {"ms": 30_000, "changes": 2}},
        order=["b2", "a1"],
    )
    expected = Behaviour(active_ms=41_000, item_ms={"a1": 9000, "b2": 30_000}, changes=2)
    assert read_behaviour(text, KEYS, wall_ms=WALL) == expected


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "[]",
        "null",
        "{",
        '{"active_ms": 5}',  # no version
        '{"v": 2, "active_ms": 5}',
        '{"v": true, "active_ms": 5}',
        '{"v": 1.0, "active_ms": 5}',
        '{"v": "1", "active_ms": 5}',
        '{"v": 1, "active_ms": ' + "9" * 5000 + "}",  # more digits than Python reads
        "[" * BEHAVIOUR_LENGTH,
        '{"v":' * 6000,
        '{"v": 1, "active_ms": 5, "more": "' + "x" * BEHAVIOUR_LENGTH + '"}',
        "\ud800",
        "\x00",
    ],
)
def test_what_is_no_signal_of_this_version_tells_nothing(text: object) -> None:
    assert read_behaviour(text, KEYS, wall_ms=WALL) == Behaviour()


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("0", 0),
        ("59999", 59_999),
        ("60000", WALL),
        ("60001", WALL),
        ("9" * 300, WALL),
        ("-1", None),
        ("-0", 0),
        ("1.5", None),
        ("1e3", None),
        ("1e999", None),
        ("NaN", None),
        ("Infinity", None),
        ("-Infinity", None),
        ("true", None),
        ("null", None),
        ('"5"', None),
        ("[5]", None),
        ("{}", None),
    ],
)
def test_a_time_is_whole_and_at_most_the_assignment_s(value: str, kept: int | None) -> None:
    assert read_behaviour(f'{{"v": 1, "active_ms": {value}}}', KEYS, wall_ms=WALL).active_ms == kept
    text = f'{{"v": 1, "items": {{"a1": {{"ms": {value}}}}}}}'
    found = read_behaviour(text, KEYS, wall_ms=WALL).item_ms
    assert found == ({} if kept is None else {"a1": kept})


def test_no_item_takes_longer_than_the_whole() -> None:
    text = report(active_ms=5000, items={"a1": {"ms": 5001}, "b2": {"ms": 4999}})
    assert read_behaviour(text, KEYS, wall_ms=WALL).item_ms == {"a1": 5000, "b2": 4999}


@pytest.mark.parametrize("wall", [0, -5000])
def test_work_without_any_time_of_its_own_has_none(wall: int) -> None:
    assert read_behaviour(report(active_ms=700), KEYS, wall_ms=wall).active_ms == 0


def test_a_time_of_months_fits_its_column() -> None:
    year = 365 * 86_400_000
    assert read_behaviour(report(active_ms=year), KEYS, wall_ms=year).active_ms == MOST_MS


@pytest.mark.parametrize(
    ("changes", "counted"),
    [(0, 0), (3, 3), (MOST_CHANGES + 1, MOST_CHANGES), (-1, 0), (True, 0), (2.0, 0), ("2", 0)],
)
def test_changes_are_counted_within_reason(changes: object, counted: int) -> None:
    text = report(items={"a1": {"changes": changes}, "b2": {"changes": 1}})
    assert read_behaviour(text, KEYS, wall_ms=WALL).changes == counted + 1


def test_items_of_other_hits_are_not_read() -> None:
    text = report(items={"zz": {"ms": 5, "changes": 5}, "__proto__": {"ms": 5}, "a1": {"ms": 4}})
    assert read_behaviour(text, KEYS, wall_ms=WALL) == Behaviour(item_ms={"a1": 4})


@steady
@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")))
@example("[" * 10_000)
def test_no_text_whatever_raises(text: str) -> None:
    check_bounds(read_behaviour(text, KEYS, wall_ms=WALL), WALL)


@steady
@given(ALMOST, st.integers(min_value=-10_000, max_value=10**12))
def test_no_almost_right_signal_passes_its_bounds(behaviour: dict[str, object], wall: int) -> None:
    check_bounds(read_behaviour(json.dumps(behaviour), KEYS, wall_ms=wall), wall)


def check_bounds(found: Behaviour, wall: int) -> None:
    most = max(0, min(wall, MOST_MS))
    assert found.active_ms is None or 0 <= found.active_ms <= most
    assert set(found.item_ms) <= set(KEYS)
    longest = most if found.active_ms is None else found.active_ms
    assert all(type(ms) is int and 0 <= ms <= longest for ms in found.item_ms.values())
    assert 0 <= found.changes <= MOST_CHANGES * len(KEYS)


@pytest.mark.parametrize(
    ("reason", "text", "kept"),
    [
        ("unclear", "", ("unclear", "")),
        ("offensive", "rude", ("offensive", "rude")),
        ("other", "", ("other", "")),
        ("", "", None),
        (None, None, None),
        ("boring", "", None),
        ("boring", "It is dull.", ("other", "It is dull.")),
        ("", "It is dull.", ("other", "It is dull.")),
        (None, "It is dull.", ("other", "It is dull.")),
        ("UNCLEAR", "", None),
        (["unclear"], "", None),
        ("unclear", ["x"], ("unclear", "")),
        ("boring", " \x00\x07\n", None),
    ],
)
def test_a_report_has_a_known_reason_or_words_of_its_own(
    reason: object, text: object, kept: tuple[str, str] | None
) -> None:
    fields = {"report-a1": reason, "report-text-a1": text, "report-zz": "unclear"}
    expected = [] if kept is None else [Report("a1", *kept)]
    assert read_reports(fields, KEYS) == expected


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("  two words ", "two words"),
        ("a\x00b\x07c\x1b[31m\x7f\x85d", "abc[31m d"),
        ("one\r\ntwo\tthree\u2028four", "one  two three four"),
        ("half \ud83d of a pair", "half  of a pair"),
        ("שלום \u202e <b>\U0001f600</b>", "שלום \u202e <b>\U0001f600</b>"),
        ("x" * 501, "x" * 500),
        ("x" * 499 + "\n" + "y", "x" * 499),
        ("\x00" * 600 + "y", "y"),
    ],
)
def test_a_report_s_text_is_one_short_line_without_controls(text: str, kept: str) -> None:
    assert read_reports({"report-text-a1": text}, KEYS) == [Report("a1", "other", kept)]


@steady
@given(st.text(st.characters(), max_size=1200))
def test_every_kept_text_can_be_stored_and_shown(text: str) -> None:
    for report in read_reports({"report-a1": "unclear", "report-text-a1": text}, KEYS):
        assert len(report.text) <= TEXT_LENGTH
        assert report.text == report.text.strip()
        report.text.encode()
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in report.text)


@pytest.mark.parametrize(
    ("answers", "straight"),
    [
        ({"a1": 1, "b2": 1, "c3": 1}, True),
        ({"a1": 0, "b2": 0, "c3": 0}, True),
        ({"a1": 0, "b2": 0, "c3": 1}, False),
        ({"a1": 0, "b2": 0}, False),  # one is not answered
        ({}, False),
    ],
)
def test_one_answer_throughout_needs_all_items(answers: dict[str, int], straight: bool) -> None:
    assert is_straight(answers, KEYS) is straight
