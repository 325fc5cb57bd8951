"""What can go wrong at the in-house crowd, as CrowdErrors of one sentence each."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError

from annotation.crowd.port import CrowdError


@contextmanager
def translated() -> Iterator[None]:
    """Raises a database that is away or busy as a CrowdError that passes."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        line = " ".join(str(error).split())
        message = f"The database cannot take a call to the in-house crowd now, try again: {line}"
        raise CrowdError(message, permanent=False) from error


def refused(message: str) -> CrowdError:
    return CrowdError(message, permanent=True)


def missing(kind: str, name: str) -> CrowdError:
    return refused(f"The in-house crowd does not have this: {kind} {name} does not exist.")
