"""How requests are read: JSON of a bounded size, answered in JSON whatever is asked for."""

from collections.abc import Iterable, Mapping
from typing import IO, Any, TypeVar

from django.http import QueryDict
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.serializers import Serializer

TOO_DEEP = "The JSON is nested too deeply."
PAGING = ("cursor", "page_size")  # what every list has, see `pagination`


class BoundedJson(JSONParser):
    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError(TOO_DEEP) from error


class AlwaysJson(BaseContentNegotiation):
    """Each answer has one form: to refuse it to a client that asks for another helps nobody."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> Any:
        given = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == given), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        only = next(iter(renderers))
        return only, str(only.media_type)


S = TypeVar("S", bound=Serializer[Any])


class Nothing(Serializer[dict[str, Any]]):
    """An empty object."""


def body(request: Request, serializer: type[S], **context: Any) -> dict[str, Any]:
    """What was sent, checked; ValidationError names the fields, and those that there are not.

    A misspelt one must not pass for one that was left out: its default may cost money.
    """
    asked = serializer(data=request.data, context=context)
    is_form = isinstance(request.data, QueryDict)  # which has its token and its files, too
    if not is_form and (lost := _unknown(asked, request.data)):
        raise ValidationError(lost)
    return _checked(asked)


def query(request: Request, serializer: type[S]) -> dict[str, Any]:
    """The address's parameters that were given; as of a form, a flag that is absent were false."""
    asked = serializer(data=request.query_params.dict())
    refuse_unknown(request, asked.fields)
    return _checked(asked)


def refuse_unknown(request: Request, names: Iterable[str]) -> None:
    """A misspelt parameter must not pass for none: the answer would be the whole list."""
    known = [*names, *PAGING]
    words = f"Unknown parameter: choose among {', '.join(known)}."
    if unknown := request.query_params.keys() - known:
        raise ValidationError({name: [words] for name in unknown})


def _unknown(serializer: Serializer[Any], data: Any) -> dict[str, list[str]]:
    """Names that are none of a field, each with what to do; those of a list's rows, too."""
    if not isinstance(data, Mapping):
        return {}
    there_are = ", ".join(serializer.fields) or "none"
    not_known = {
        str(name): [f"Unknown field: choose among {there_are}."]
        for name in data
        if name not in serializer.fields
    }
    for name, field in serializer.fields.items():
        rows = data.get(name)
        child = getattr(field, "child", None)
        if isinstance(child, Serializer) and isinstance(rows, list):
            for number, row in enumerate(rows):
                unknown = _unknown(child, row)
                not_known |= {f"{name}.{number}.{key}": words for key, words in unknown.items()}
    return not_known


def _checked(serializer: Serializer[Any]) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
