"""No text of a user's is taken for Markdown, HTML, a link or a formula."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markdown_it import MarkdownIt

from core.text.markdown import Markdown, escape, one_line, table
from exports.card.readme import environment

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE = [
    "<script>alert(1)</script>",
    "a | b || c",
    "`code` ``more``",
    "line\nbreak\r\n# heading",
    "![x](http://tests.invalid/x.png)",
    "[x](javascript:alert(1))",
    "*a* _b_ **c** ~~d~~",
    "&lt;b&gt; &amp; &#35;",
    "\\| \\` \\<b>",
    "$x$ $$y$$",
    "tab\there\x00\x07",
    "--- \n--- | ---",
    "<!-- comment",
    "<https://tests.invalid>",
    "  spaces  around  ",
    "\u2028\u2029\x85 separators",
    "]]>",
    "{{ 7 * 7 }} {% raw %}",
]


def shown(markdown: str) -> str:
    """What a reader sees of a paragraph."""
    rendered = READER.render(markdown)
    assert re.fullmatch(r"<p>[^<]*</p>\n", rendered), rendered
    return html.unescape(rendered[3:-5])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_shown_as_it_is(text: str) -> None:
    assert shown(f"x {escape(text)} x") == f"x {one_line(text)} x"


@given(st.text())
def test_any_text_is_shown_as_it_is(text: str) -> None:
    assert shown(f"x{escape(text)}x") == f"x{one_line(text)}x"


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_any_text_stays_in_its_cell(texts: list[str]) -> None:
    rendered = READER.render(table(texts, [texts, ["1", "2"]]))
    cells = [html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", rendered)]
    wanted = [one_line(text) for text in texts]
    assert cells == [*wanted, *wanted, "1", "2"]
    assert set(re.findall(r"<(\w+)", rendered)) == {"table", "thead", "tbody", "tr", "th", "td"}


def test_numbers_stand_to_the_right() -> None:
    assert table(("a", "b", "c"), [("1", "2", "3")], left=2) == (
        "| a | b | c |\n| --- | --- | ---: |\n| 1 | 2 | 3 |"
    )


def test_a_text_in_one_line_has_no_controls_and_turns_no_direction() -> None:
    assert one_line("a\x00b\n\tc\u202ed\u2066 e") == "a b cd e"


def test_emoji_and_joined_letters_stay() -> None:
    family = "\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u0631"
    assert one_line(family) == family


def test_a_template_escapes_what_it_prints_but_markdown() -> None:
    page = environment().from_string("{{ text }} {{ ours }} {{ number }} {{ text | plain }}")
    assert page.render(text="*a*", ours=Markdown("*b*"), number=3) == r"\*a\* *b* 3 *a*"


def test_a_template_refuses_a_name_that_is_not_there() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing.there }}").render()


def test_addresses_in_texts_are_no_links() -> None:
    """Where a reader makes links of bare addresses, as the Hub and GitHub do."""
    reader = MarkdownIt("commonmark", {"linkify": False})
    marked = escape("http://tests.invalid and www.tests.invalid")
    assert marked == r"http\://tests.invalid and www\.tests.invalid"
    assert "<a" not in reader.render(marked)
