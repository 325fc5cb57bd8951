"""FormattedContent: what of XHTML reaches a worker's page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.question.formatted import ATTRIBUTES, TAGS, clean


@pytest.mark.parametrize(
    ("xhtml", "shown"),
    [
        ("plain", "plain"),
        ("a &lt; b &amp;&amp; c", "a &lt; b &amp;&amp; c"),
        ("a&nbsp;b &eacute; &#233;", "a\u00a0b \u00e9 \u00e9"),
        ("&lt;script&gt;", "&lt;script&gt;"),
        ("<p>one<br/>two</p> tail", "<p>one<br>two</p> tail"),
        ("<b>x <i>y</i></b>", "<b>x <i>y</i></b>"),
        ('<td colspan="2">x</td>', '<td colspan="2">x</td>'),
        (
            '<img src="http://x/a.gif" alt="&quot;&lt;"/>',
            """<img src="http://x/a.gif" alt='"&lt;'>""",
        ),
        ("&nosuch; &amp;lt;", "&amp;nosuch; &amp;lt;"),
        (
            '<a href="https://x/?a=1&amp;b" target="_top">x</a>',
            '<a href="https://x/?a=1&amp;b" target="_blank" rel="noopener noreferrer">x</a>',
        ),
        ("<b><![CDATA[<script>]]></b>", "<b>&lt;script&gt;</b>"),
        ("<!-- note -->x", "x"),
    ],
)
def test_the_subset_is_shown_as_it_is(xhtml: str, shown: str) -> None:
    assert clean(xhtml, "Question") == shown


@pytest.mark.parametrize(
    "xhtml",
    [
        "<script>alert(1)</script>",
        "<SCRIPT>alert(1)</SCRIPT>",
        "<style>p {}</style>",
        "<div>x</div>",
        "<span>x</span>",
        '<iframe src="http://x"/>',
        '<form action="http://x"/>',
        "<input/>",
        "<svg><a/></svg>",
        '<svg xmlns="http://www.w3.org/2000/svg"/>',
        '<b xmlns="http://www.w3.org/2000/svg"/>',
        '<p onclick="x()">x</p>',
        '<p style="position:fixed">x</p>',
        '<p class="x">x</p>',
        '<p id="x">x</p>',
        '<img name="cookie" src="http://x" alt=""/>',
        '<a href="javascript:alert(1)">x</a>',
        '<a href="JaVa&#10;Script:alert(1)">x</a>',
        '<a href=" javascript:alert(1)">x</a>',
        '<a href="&#1;javascript:alert(1)">x</a>',
        '<a href="data:text/html,x">x</a>',
        '<a href="/worker">x</a>',
        '<img src="//x" alt=""/>',
        '<q cite="javascript:x">x</q>',
        "<p>open",
        "</FormattedContent><script/><FormattedContent>",
    ],
)
def test_all_else_is_refused(xhtml: str) -> None:
    with pytest.raises(RequestError) as caught:
        clean(xhtml, "Question")
    assert caught.value.code == "AWS.MechanicalTurk.XMLParseError"


NAMES = st.sampled_from([*sorted(TAGS), "script", "style", "svg", "math", "noscript", "template"])
PAIRS = st.dictionaries(
    st.sampled_from([*sorted(ATTRIBUTES), "href", "src", "onload", "style", "name"]),
    st.sampled_from(["1", "http://x/", "javascript:x", "data:x", "&quot;&gt;&lt;script&gt;"]),
    max_size=2,
)


def element(node: tuple[str, dict[str, str], list[str]]) -> str:
    name, attributes, inside = node
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(inside)}</{name}>"


XHTML = st.recursive(
    st.sampled_from(["text", "&lt;script&gt;", "&nbsp;", "&amp;lt;script&amp;gt;", "--&gt;"]),
    lambda inner: st.tuples(NAMES, PAIRS, st.lists(inner, max_size=3)).map(element),
    max_leaves=8,
)


@given(XHTML)
def test_nothing_that_runs_is_ever_shown(xhtml: str) -> None:
    try:
        shown = clean(xhtml, "Question")
    except RequestError:
        return
    page = html.document_fromstring(f"<div>{shown}</div>")
    assert not page.xpath("//script | //style | //iframe | //@*[starts-with(name(), 'on')]")
    for address in page.xpath("//@href | //@src"):
        assert str(address).startswith("http://")
