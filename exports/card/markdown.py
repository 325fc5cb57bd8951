"""The templates of the card: what they print is escaped as Markdown unless it is ours."""

from __future__ import annotations

import html

from jinja2 import Environment, PackageLoader, StrictUndefined

from core.text.markdown import Markdown, printed


def environment() -> Environment:
    """Not HTML: autoescape would write `&#39;` for an apostrophe. `finalize` escapes instead."""
    made = Environment(  # noqa: S701 - escaped by `finalize`, as Markdown
        loader=PackageLoader("exports.card", "."),
        undefined=StrictUndefined,
        finalize=printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["plain"] = Markdown
    made.filters["attribute"] = lambda text: Markdown(html.escape(text))
    return made
