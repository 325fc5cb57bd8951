"""Lists in pages, of both styles that Prolific has, in one envelope."""

from collections.abc import Callable
from urllib.parse import urlencode

from annotation.crowd.prolific.emulator.dispatch import Call, Reply
from annotation.crowd.prolific.emulator.errors import ApiError
from annotation.crowd.prolific.emulator.fields import HIGHEST, query_number
from annotation.crowd.wire.session import Row

PAGE_SIZE = 20
LARGEST = 1_000
LIMIT = 200

Item = Callable[[Row], dict[str, object]]


def by_page(call: Call, query: str, values: tuple[object, ...], item: Item) -> Reply:
    """`page` and `page_size`; a page past the end is not found."""
    size = query_number(call.query, "page_size", PAGE_SIZE, 1, LARGEST)
    page = query_number(call.query, "page", 1, 1, HIGHEST // LARGEST)
    number = _count(call, query, values)
    last = max(1, -(-number // size))
    if page > last:
        raise ApiError(404, "Invalid page.")

    def address(which: int) -> str | None:
        return _address(call, page=which, page_size=size) if 1 <= which <= last else None

    results = _rows(call, query, values, size, (page - 1) * size)
    links = {"self": page, "next": page + 1, "previous": page - 1, "last": last}
    return _envelope(
        [item(row) for row in results], {name: address(it) for name, it in links.items()}, number
    )


def by_offset(
    call: Call, query: str, values: tuple[object, ...], item: Item, *, limit: int = LIMIT
) -> Reply:
    """`limit` and `offset`; past the end there is nothing."""
    limit = query_number(call.query, "limit", limit, 1, LARGEST)
    offset = query_number(call.query, "offset", 0, 0, HIGHEST // LARGEST)
    number = _count(call, query, values)

    def address(start: int) -> str:
        return _address(call, limit=limit, offset=start)

    links = {
        "self": address(offset),
        "next": address(offset + limit) if offset + limit < number else None,
        "previous": address(max(0, offset - limit)) if offset else None,
        "last": address(max(0, (number - 1) // limit * limit)),
    }
    results = _rows(call, query, values, limit, offset)
    return _envelope([item(row) for row in results], links, number)


def whole(results: list[dict[str, object]]) -> Reply:
    """Of lists that are documented without pages."""
    return Reply({"results": results})


def _count(call: Call, query: str, values: tuple[object, ...]) -> int:
    return call.session.count(f"SELECT COUNT(*) FROM ({query})", *values)  # noqa: S608 - ours


def _rows(call: Call, query: str, values: tuple[object, ...], limit: int, offset: int) -> list[Row]:
    return call.session.rows(f"{query} LIMIT ? OFFSET ?", *values, limit, offset)


def _address(call: Call, **changed: int) -> str:
    return f"{call.address}?{urlencode(dict(call.query) | changed)}"


def _envelope(results: list[dict[str, object]], links: dict[str, str | None], number: int) -> Reply:
    titles = {"self": "Current", "next": "Next", "previous": "Previous", "last": "Last"}
    return Reply(
        {
            "results": results,
            "_links": {name: {"href": links[name], "title": titles[name]} for name in titles},
            "meta": {"count": number},
        }
    )
