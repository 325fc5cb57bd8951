"""The API's description, made once, and what an answer that keeps to it passes."""

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from config.wsgi import application

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@cache
def description() -> dict[str, Any]:
    return dict(SchemaGenerator().get_schema(request=None, public=True))


def operations() -> list[tuple[str, str]]:
    """(method, path)"""
    return [
        (method, path) for path, described in description()["paths"].items() for method in described
    ]


def site(environ: dict[str, Any], start_response: Any) -> Any:
    """As a server calls it: with the address of who asks."""
    return application({"REMOTE_ADDR": "127.0.0.1", **environ}, start_response)
