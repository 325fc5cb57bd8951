from datetime import UTC, datetime, timedelta, timezone
from unicodedata import combining

import pytest
from django.template import engines
from django.template.defaultfilters import date, truncatechars
from hypothesis import given
from hypothesis import strategies as st

from core.text.filters import clip, minute


@given(st.text(st.characters(max_codepoint=0x2FF)), st.integers(2, 30))
def test_a_text_without_accents_of_their_own_is_clipped_as_django_does(
    text: str, letters: int
) -> None:
    assert clip(text, letters) == truncatechars(text, letters)


@given(st.text("ae\u0301\u0e17\u0e35\u0e48"), st.integers(2, 9))
def test_no_letter_loses_its_accents(text: str, letters: int) -> None:
    clipped = clip(text, letters)
    assert len(clipped) <= letters
    kept = clipped.removesuffix("…")
    assert text.startswith(kept)
    assert clipped == text or not combining(text[len(kept)]) or not kept


@pytest.mark.parametrize("hours", [0, 5, -11])
def test_a_moment_is_shown_to_the_minute_in_utc(hours: int) -> None:
    moment = datetime(2026, 3, 1, 2, 59, 59, tzinfo=timezone(timedelta(hours=hours)))
    assert minute(moment) == date(moment.astimezone(UTC), "Y-m-d H:i")


def test_what_was_never_has_no_moment() -> None:
    assert minute(None) == ""


def test_templates_have_them_without_loading_them_and_escape_what_they_clip() -> None:
    template = engines["django"].from_string("{{ text|clip:6 }} {{ number|floatformat:'0g' }}")
    assert template.render({"text": "<script>", "number": 1234567}) == "&lt;scri… 1,234,567"
