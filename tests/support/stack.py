"""`LocalStack` in this process, on the test's database and its emulator."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from demo.stack import LocalStack, Ran
from tests.support.command_line import quorum


class StackHere(LocalStack):
    """Commands run as calls; the database is there, and the servers are the test's."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def quorum(self, *arguments: object) -> Ran:
        # The command's default is the settings' endpoint of when it was loaded.
        there = ("--emulator", settings.MTURK_ENDPOINT) if arguments[1] == "simulate" else ()
        quorum(*arguments, *there)
        return Ran(seconds=1.0, peak_mb=1.0)

    def manage(self, *arguments: object) -> Ran:
        assert arguments[0] == "migrate", f"{arguments[0]} is run by no test"
        return Ran(seconds=1.0, peak_mb=1.0)

    def result(self, *arguments: object) -> dict[str, Any] | None:
        out = io.StringIO()
        try:
            quorum(*arguments, "--json", stdout=out)
        except CommandError:
            return None
        return dict(json.loads(out.getvalue()))

    @contextmanager
    def servers(self) -> Iterator[None]:
        yield
