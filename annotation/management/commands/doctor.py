"""`manage.py doctor`: what is missing for the crowd chosen."""

from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation.crowd.factory import open_crowd
from annotation.monitoring.doctor import Check, examine
from annotation.protocol.policy.crowds import CROWDS, PAPER_CROWD
from core.command import REFUSED, Error, QuorumCommand


class Command(QuorumCommand):
    help = (
        "Says what is missing for the crowd chosen: database, broker, endpoint and balance or the"
        " team's people, public address, control pool, index. Exit status 2 where anything is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--crowd",
            choices=CROWDS,
            default=PAPER_CROWD.kind,
            help="who judges (default: %(default)s)",
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        # It only looks: nothing is spent, so production asks for no --live here.
        # Its one call waits for no Redis: whether that answers is a check of its own.
        crowd = open_crowd(options["crowd"], live=True, shared_rate=False)
        broker = settings.CELERY_BROKER_URL
        self.checks = list(examine(crowd, public_url=settings.PUBLIC_URL, broker=broker))
        return {
            "ok": all(check.ok for check in self.checks),
            "checks": [asdict(check) for check in self.checks],
        }

    def render(self, result: dict[str, object]) -> str:
        return "\n".join(line for check in self.checks for line in _lines(check))

    def execute(self, *args: Any, **options: Any) -> str | None:
        """The report is printed first, in full; then the exit status says what it came to."""
        output = super().execute(*args, **options)
        missing = [check.name for check in self.checks if not check.ok]
        if missing:
            raise Error(f"Something is missing: {', '.join(missing)}.", returncode=REFUSED)
        return output


def _lines(check: Check) -> list[str]:
    state = "ok" if check.ok else "missing"
    hint = [] if check.ok else [f"{'':<24}{check.hint}"]
    return [f"{state:<8}{check.name:<16}{check.message}", *hint]
