"""What a text that is shown must not have become: read off the page's elements."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from lxml import html
from lxml.html import HtmlElement

from tests.worlds.hostile import HOST, MARK

ADDRESSES = {"href", "src", "action", "formaction", "data", "poster", "background", "srcset"}
SCHEMES = {"", "http", "https", "mailto"}
# Their values are markup, code or names, never words.
NO_WORDS = {"class", "id", "style", "srcdoc", "name", "for", "http-equiv", "content", "type"}


def parse(page: bytes) -> HtmlElement:
    return html.document_fromstring(page, parser=html.HTMLParser(encoding="utf-8"))


def harm(page: bytes) -> list[str]:
    """Each element and attribute that stems from an attack; none where all are mere texts."""
    return [fault for element in parse(page).iter() for fault in _faults(element)]


def _faults(element: HtmlElement) -> Iterator[str]:
    tag = element.tag
    if not isinstance(tag, str):  # a comment
        if MARK in (element.text or ""):
            yield f"comment {element.text!r}"
        return
    if MARK in tag:
        yield f"element {tag}"
    if tag in {"script", "style", "template", "noscript"} and MARK in element.text_content():
        yield f"<{tag}> holds {element.text_content()[:80]!r}"
    for name, value in element.attrib.items():
        if MARK in name or (MARK in value and (name in NO_WORDS or name.startswith("on"))):
            yield f"<{tag} {name}={value[:80]!r}>"
        if name in ADDRESSES and not _is_harmless(tag, value):
            yield f"<{tag}> leads to {value[:80]!r}"


def _is_harmless(tag: str, address: str) -> bool:
    """A link may lead out when somebody follows it; nothing may be loaded from elsewhere."""
    bare = "".join(letter for letter in address if letter > " ")
    parts = urlsplit(bare)
    if parts.scheme not in SCHEMES:
        return False
    return tag == "a" or HOST not in parts.netloc
