"""`manage.py mturk_emulator`: the local MTurk emulator, its state kept among Quorum's data."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from annotation.crowd.emulator.__main__ import add_arguments, announce
from annotation.crowd.emulator.errors import StartError
from annotation.crowd.emulator.http.faults import Faults
from annotation.crowd.emulator.http.server import serve
from core.command import REFUSED, Error


def _own_port(endpoint: str) -> int | None:
    """Where the crowd that the settings name can be this machine's."""
    parts = urlsplit(endpoint)
    return parts.port if parts.hostname in {"127.0.0.1", "localhost"} else None


class Command(BaseCommand):
    help = "Serves a local Mechanical Turk until it is stopped."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)
        if port := _own_port(settings.MTURK_ENDPOINT):  # where the site looks for it
            parser.set_defaults(port=port)
        parser.add_argument(
            "--state",
            type=Path,
            default=settings.DATA_DIR / "mturk_emulator.sqlite3",
            help="SQLite file (default: mturk_emulator.sqlite3 in the data folder)",
        )
        parser.add_argument(
            "--json", action="store_true", help="print the address as one line of JSON"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            serve(
                host=options["host"],
                port=options["port"],
                state=options["state"],
                balance_cents=options["balance"],
                faults=Faults(options["faults"], options["fault_seed"]),
                started=self._announce_json if options["json"] else announce,
            )
        except StartError as error:
            raise Error(str(error), returncode=REFUSED) from error

    def _announce_json(self, url: str) -> None:
        self.stdout.write(json.dumps({"url": url}))
        self.stdout.flush()
