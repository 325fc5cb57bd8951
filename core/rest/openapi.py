"""What the API's description says of an operation: its answers, its refusals, an example."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from core.rest.problems import MEDIA_TYPE, ProblemSerializer, problem

F = TypeVar("F", bound=Callable[..., Any])

WORDS: Mapping[int, str] = {
    400: "Not valid: see `errors`",
    401: "Not signed in",
    403: "Your role does not allow it",
    404: "Not found, or your account can't view it",
    409: "The same request is already running, or the state has changed: see `detail`",
    413: "Too large",
    415: "Not JSON",
    422: "Refused, nothing was changed: see `detail`",
    429: "Too many requests: retry after `Retry-After`",
    503: "Temporarily unavailable: retry after `Retry-After`",
}
ALWAYS = (400, 401, 403, 429, 503)
WITH_A_BODY = (413, 415)


def operation(
    name: str,
    summary: str,
    *,
    tag: str,
    answers: Mapping[int, Any],
    example: Any = None,
    examples: Mapping[int, Any] | None = None,
    request: Any = None,
    sent: Any = None,
    refusals: Iterable[int] = (),
    parameters: Sequence[Any] = (),
    description: str = "",
    auth: Sequence[str] | None = None,
) -> Callable[[F], F]:
    """`example`: of the answer, of each row where it is a list; `examples`: of each of several,
    by its status; `sent`: of the request, whose form is named where it is not JSON; `auth`: the
    ways to sign in, where the view's own do not tell."""
    statuses = sorted({*ALWAYS, *refusals, *(WITH_A_BODY if request is not None else ())})
    if examples is None:
        examples = {} if example is None else dict.fromkeys(answers, example)
    shown = [
        OpenApiExample(f"Answer {status}", value=value, response_only=True, status_codes=[status])
        for status, value in examples.items()
    ]
    if sent is not None:
        form = next(iter(request)) if isinstance(request, dict) else "application/json"
        shown.append(OpenApiExample("Request", value=sent, request_only=True, media_type=form))
    return extend_schema(
        operation_id=name,
        summary=summary,
        description=description or summary,
        tags=[tag],
        request=request,
        parameters=list(parameters),
        responses={**answers, **{status: _refusal(status) for status in statuses}},
        examples=shown,
        auth=None if auth is None else [{way: []} for way in auth],  # type: ignore[misc]
    )


def _refusal(status: int) -> OpenApiResponse:
    return OpenApiResponse(ProblemSerializer, description=WORDS[status])


def key_header(*, required: bool) -> OpenApiParameter:
    words = "any text that identifies this request; a request repeated with it changes nothing more"
    return OpenApiParameter(
        "Idempotency-Key",
        {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
        OpenApiParameter.HEADER,
        required=required,
        description=words if required else f"{words}; needed where it is carried out",
    )


def strict(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """The generator's hook: a request has no other fields than those that are described."""
    schemas = result["components"]["schemas"]
    for path in result["paths"].values():
        for described in path.values():
            content = described.get("requestBody", {}).get("content", {})
            named = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            _close(schemas, named.rpartition("/")[2])
    return result


def _close(schemas: dict[str, Any], name: str) -> None:
    """Of a component, and of the rows of its lists."""
    schema = schemas.get(name, {})
    if schema.get("type") != "object" or "additionalProperties" in schema:
        return
    schema["additionalProperties"] = False
    for field in schema.get("properties", {}).values():
        _close(schemas, field.get("items", {}).get("$ref", "").rpartition("/")[2])


def as_problems(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """The generator's hook: every error is a problem document."""
    for path in result["paths"].values():
        for described in path.values():
            for status, answer in described["responses"].items():
                content = answer.get("content", {})
                if status >= "400" and "application/json" in content:
                    example = problem(int(status), answer["description"])
                    answer["content"] = {
                        MEDIA_TYPE: {**content["application/json"], "example": example}
                    }
    return result
