"""A list's filter as the API reads and describes it: the same that stands on the list's page."""

from typing import Any, TypeVar

from django import forms
from django.db.models import Model, QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from annotation.web.base.filters import Choice, Filter
from core.rest.parsing import refuse_unknown

M = TypeVar("M", bound=Model)


def read_filter(request: Request, kind: type[Filter], rows: QuerySet[M]) -> QuerySet[M]:
    """The rows that the address asks for; ValidationError names the parameters that are wrong."""
    refuse_unknown(request, kind.base_fields)
    given = kind(request.query_params)
    if not given.is_valid():
        raise ValidationError(
            {name: [str(word) for word in words] for name, words in given.errors.items()}
        )
    return rows.filter(given.where())


def parameters(kind: type[Filter]) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(name, _schema(field), description=str(field.help_text))
        for name, field in kind.base_fields.items()
    ]


def _schema(field: forms.Field) -> dict[str, Any]:
    if isinstance(field, Choice):
        return {"type": "string", "enum": field.values}
    if isinstance(field, forms.IntegerField):
        return {"type": "integer", "minimum": field.min_value, "maximum": field.max_value}
    if isinstance(field, forms.DateField):
        return {"type": "string", "format": "date"}
    assert isinstance(field, forms.CharField)
    return {"type": "string", "maxLength": field.max_length}
