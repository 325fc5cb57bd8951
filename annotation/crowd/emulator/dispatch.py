"""One call of one operation, as the operations see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.crowd.emulator.errors import RequestError, invalid
from annotation.crowd.emulator.pagination import DEFAULT_RESULTS, Page, Pager
from annotation.crowd.wire.session import Row, Session

DAY = 86_400
TOKEN_LIFE = DAY  # for so long a UniqueRequestToken makes a repeated call harmless

Answer = dict[str, object]


@dataclass(frozen=True)
class Site:
    """What differs between a server for tests and one that people work at."""

    # Of notifications: the transport and the destination, or RequestError.
    check_destination: Callable[[str, str], None]
    # Whether somebody may work here who has not opened a page yet.
    is_expected: Callable[[str], bool] = lambda worker_id: False
    # Whether it refuses requirements that nobody can ever meet.
    refuses_impossible: bool = False


@dataclass(frozen=True)
class Call:
    session: Session
    parameters: Mapping[str, Any]  # valid under the service model
    request_id: str
    pager: Pager
    site: Site

    def page(self, query: str, fetch: Callable[[int | None, int], list[Row]]) -> Page:
        limit = self.parameters.get("MaxResults", DEFAULT_RESULTS)
        return self.pager.page(query, self.parameters.get("NextToken"), limit, fetch)


@dataclass(frozen=True)
class Operation:
    run: Callable[[Call], Answer]
    writes: bool


def check_range(call: Call, name: str, low: int, high: int) -> None:
    """The service model leaves these ranges to MTurk's documentation."""
    value = call.parameters.get(name)
    if value is not None and not low <= value <= high:
        raise invalid(f"{name} must be from {low} to {high}, not {value}.")


def check_length(call: Call, name: str, limit: int) -> None:
    value = call.parameters.get(name)
    if value is not None and len(value) > limit:
        raise invalid(f"{name} must be at most {limit} characters, not {len(value)}.")


def check_filled(call: Call, *names: str) -> None:
    """What people are to read must say something."""
    for name in names:
        if not call.parameters[name].strip():
            raise invalid(f"{name} must not be empty.")


def token_used(token: object, done: str) -> RequestError:
    return RequestError(
        "IdempotencyTokenAlreadyProcessed",
        f'The idempotency token "{token}" has already been processed: {done}.',
    )


def require_row(row: Row | None, code: str, message: str) -> Row:
    if row is None:
        raise RequestError(code, message)
    return row
