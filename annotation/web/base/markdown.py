"""Instructions for display: Markdown without HTML, pictures or anything else from elsewhere."""

from collections.abc import Sequence
from functools import lru_cache

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@lru_cache(maxsize=32)  # the same few texts are shown on every page
def render_markdown(text: str) -> SafeString:
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type.startswith("heading"):
            # The page has its own h1.
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        token.info = ""  # a fence's language would become a class of the page's
        _open_links_elsewhere(token.children or [])
    html: str = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return mark_safe(html)  # noqa: S308  # the parser escapes all text, drops javascript: links


def _open_links_elsewhere(tokens: Sequence[Token]) -> None:
    """A link followed inside the crowd's frame would take the answers given so far with it."""
    for token in tokens:
        if token.type == "link_open":
            token.attrSet("target", "_blank")
            token.attrSet("rel", "noopener noreferrer")
