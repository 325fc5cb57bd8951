"""What a page says, as the test client got it."""

from typing import TYPE_CHECKING

from lxml import html
from lxml.html import HtmlElement

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response
else:
    from django.http import HttpResponse as Response


def parse(response: Response) -> HtmlElement:
    return html.document_fromstring(response.content.decode())


def text_of(response: Response) -> str:
    """All that a person can read, with single spaces."""
    texts = parse(response).xpath("//body//text()[not(ancestor::script or ancestor::style)]")
    return " ".join(" ".join(texts).split())


def main_of(response: Response) -> str:
    """The same of the page's own part, without the frame."""
    return " ".join(parse(response).xpath("//main")[0].text_content().split())
