"""FormattedContent: the part of XHTML that MTurk lets requesters use, and nothing else of it."""

import html
import re
from urllib.parse import urlsplit

from lxml import etree

from annotation.crowd.emulator.question.document import fault, parse

TEXT_TAGS = "a b big blockquote br center cite code dd del dl dt em font h1 h2 h3 h4 h5 h6 hr i"
OTHER_TAGS = (
    "area col colgroup img ins li map ol p pre q small strong sub sup table tbody td tfoot th"
    " thead tr u ul"
)
TAGS = frozenset(f"{TEXT_TAGS} {OTHER_TAGS}".split())
# None of them runs anything; those that name an address are looked at one by one.
TABLE_ATTRIBUTES = (
    "abbr align axis bgcolor border cellpadding cellspacing char charoff cols colspan frame headers"
    " noshade nowrap rowspan rules scope span summary valign width"
)
OTHER_ATTRIBUTES = (
    "alt charset color compact coords datetime dir face height hreflang hspace ismap lang nohref"
    " rel rev shape size start target title type usemap value vspace"
)
ATTRIBUTES = frozenset(f"{TABLE_ATTRIBUTES} {OTHER_ATTRIBUTES}".split())
NAMED = ("a", "map")  # may have a name of their own
ADDRESSES = frozenset(("cite", "href", "longdesc", "src"))
SCHEMES = ("http", "https", "ftp", "mailto", "news", "nntp", "gopher", "telnet")
XML_ENTITIES = ("amp", "apos", "gt", "lt", "quot")


def clean(xhtml: str, parameter: str) -> str:
    """HTML to be put into a page as it is; RequestError where XHTML goes beyond the subset."""
    text = re.sub(r"&([A-Za-z][A-Za-z0-9]*);", _character, xhtml)
    root = parse(f"<FormattedContent>{text}</FormattedContent>", parameter)
    for element in root.iterdescendants():
        if element.tag not in TAGS:
            raise fault(parameter, f"<{element.tag}> is not allowed in FormattedContent.")
        for name, value in element.items():
            _check(str(element.tag), str(name), str(value), parameter)
        if element.tag == "a":
            element.set("target", "_blank")
            element.set("rel", "noopener noreferrer")
    inside = [html.escape(root.text or "", quote=False)]
    return "".join(inside + [etree.tostring(e, method="html", encoding="unicode") for e in root])


def _character(entity: re.Match[str]) -> str:
    """XML knows five names; XHTML all of HTML's."""
    return entity[0] if entity[1] in XML_ENTITIES else html.escape(html.unescape(entity[0]))


def _check(tag: str, name: str, value: str, parameter: str) -> None:
    if name in ADDRESSES:
        if not _leads_outside(value):
            raise fault(parameter, f"the {name} of <{tag}> must be the address of a page or file.")
    elif name not in ATTRIBUTES and not (name == "name" and tag in NAMED):
        raise fault(parameter, f"{name} of <{tag}> is not allowed in FormattedContent.")


def _leads_outside(address: str) -> bool:
    try:
        return urlsplit(address.strip()).scheme in SCHEMES or address.startswith("#")
    except ValueError:
        return False
