"""All that links lead to, and the texts of a page that people read or hear."""

from collections.abc import Iterable, Iterator
from urllib.parse import urljoin

from django.test import Client
from lxml import html

ATTRIBUTES = ("title", "aria-label", "placeholder", "alt", "content")


def crawl(client: Client, first: Iterable[str], within: tuple[str, ...]) -> dict[str, str]:
    """The pages by their addresses: "" for what is no page, or does not open."""
    waiting, pages = [*first], {}
    while waiting:
        address = waiting.pop()
        if address in pages:
            continue
        answer = client.get(address)
        pages[address] = ""
        if answer.status_code != 200 or "text/html" not in answer.get("Content-Type", ""):
            continue
        pages[address] = answer.content.decode()
        links = html.document_fromstring(pages[address]).xpath("//a/@href | //iframe/@src")
        found = (urljoin(address, link).partition("#")[0] for link in links)
        waiting += [link for link in found if link.startswith(within) and "sort=" not in link]
    return pages


def texts(page: str, *, outside: Iterable[str] = ()) -> Iterator[str]:
    """Those of charts included; `outside`: elements whose texts are left out."""
    left_out = " or ".join(f"ancestor::{name}" for name in ("style", *outside))
    attributes = " | ".join(f"//@{name}" for name in ATTRIBUTES)
    document = html.document_fromstring(page)
    for text in document.xpath(f"//text()[not({left_out})] | {attributes}"):
        yield " ".join(text.split())
