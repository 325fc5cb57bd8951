"""Pages of long lists: by key, so that each costs the same and none moves when rows are added."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeVar

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

T = TypeVar("T")

DEFAULT = 50
MOST = 200
DIGITS = 18  # of a key, at most
NO_CURSOR = "Unknown cursor: follow the `next` or `previous` of an earlier response."
NO_SIZE = f"A page has 1 to {MOST} rows."
LINK = {
    "type": ["string", "null"],
    "format": "uri",
    "example": "https://quorum.example.org/api/v1/campaigns?cursor=cD01MA%3D%3D",
}


class KeyPages(CursorPagination):
    """The oldest rows first; new ones come at the end."""

    ordering = "pk"
    page_size = DEFAULT
    max_page_size = MOST
    page_size_query_param = "page_size"

    def get_page_size(self, request: Request) -> int:
        given = request.query_params.get("page_size", str(DEFAULT))
        if not (given.isascii() and given.isdigit() and len(given) < 4 and 1 <= int(given) <= MOST):
            raise ValidationError({"page_size": [NO_SIZE]})
        return int(given)

    def decode_cursor(self, request: Request) -> Cursor | None:
        """What we never gave is refused, before the database is asked for it."""
        if "cursor" not in request.query_params:
            return None
        try:
            cursor = super().decode_cursor(request)
        except NotFound as error:
            raise ValidationError({"cursor": [NO_CURSOR]}) from error
        if not self.is_key("" if cursor is None else str(cursor.position)):
            raise ValidationError({"cursor": [NO_CURSOR]})
        return cursor

    def is_key(self, at: str) -> bool:
        return at.isascii() and at.isdigit() and len(at) <= DIGITS

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": LINK, "previous": LINK, "results": schema},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        size = {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT}
        words = "from `next` or `previous` of another page"
        return [
            {"name": "cursor", "in": "query", "description": words, "schema": {"type": "string"}},
            {"name": "page_size", "in": "query", "description": "rows a page", "schema": size},
        ]


class NewestPages(KeyPages):
    """The newest rows first."""

    ordering = "-pk"


class TextPages(KeyPages):
    """By a key that is a text."""

    longest: int

    def is_key(self, at: str) -> bool:
        return 0 < len(at) <= self.longest and "\0" not in at


class OffsetPages(KeyPages):
    """Of rows that are no table but have an order: a page goes by their offsets."""

    def paginate(self, rows: Iterable[T], request: Request) -> list[T]:
        self.base_url = request.build_absolute_uri()
        size = self.get_page_size(request)
        cursor = self.decode_cursor(request)
        self._start = int(cursor.position or 0) if cursor else 0
        page = list(islice(rows, self._start, self._start + size + 1))
        self._size, self._more = size, len(page) > size
        return page[:size]

    def get_next_link(self) -> str | None:
        return self._link(self._start + self._size) if self._more else None

    def get_previous_link(self) -> str | None:
        return self._link(max(0, self._start - self._size)) if self._start else None

    def _link(self, place: int) -> str:
        return self.encode_cursor(Cursor(offset=0, reverse=False, position=place))


def offset_page(
    view: APIView, rows: Iterable[Any], serializer: type[BaseSerializer[Any]], prepare: Any = None
) -> Response:
    """One page of an ordered list; `prepare` as with `page`."""
    paginator = OffsetPages()
    on_page: Any = paginator.paginate(rows, view.request)
    shown = prepare(on_page) if prepare else on_page
    return paginator.get_paginated_response(serializer(shown, many=True).data)


def page(
    view: APIView,
    rows: QuerySet[Any],
    serializer: type[BaseSerializer[Any]],
    *,
    pages: type[KeyPages] = KeyPages,
    prepare: Any = None,
    **context: Any,
) -> Response:
    """One page of the rows; `prepare` gets the rows of the page and gives what is shown."""
    paginator = pages()
    on_page: Iterable[Any] = paginator.paginate_queryset(rows, view.request, view) or []
    shown = prepare(list(on_page)) if prepare else on_page
    context["request"] = view.request
    return paginator.get_paginated_response(serializer(shown, many=True, context=context).data)
