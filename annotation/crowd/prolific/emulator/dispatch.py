"""One call of one operation, as the operations see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.crowd.prolific.emulator.session import Session


@dataclass(frozen=True)
class Call:
    session: Session
    body: Mapping[str, Any]
    query: Mapping[str, str]
    address: str  # without the query, for links to other pages


@dataclass(frozen=True)
class Reply:
    body: object = None  # None: no body at all
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """`path` has werkzeug's form; its parts are the arguments of `run` after the call."""

    method: str
    path: str
    run: Callable[..., Reply]
    bare: bool = False  # an error is declared as E, else as {"error": E}

    @property
    def writes(self) -> bool:
        return self.method != "GET"
