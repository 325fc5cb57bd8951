"""`manage.py controls import [FILE]`: the pool of positive controls."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command
from annotation.operations.controls import add_controls_of
from annotation.pipeline.controls.import_controls import SHIPPED
from core.command import QuorumCommand, add_subcommand


class Command(QuorumCommand):
    help = "The pool of positive controls that every campaign draws on."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        sub = add_subcommand(steps, "import", help="add positive controls from a file")
        sub.add_argument(
            "file",
            type=Path,
            nargs="?",
            default=SHIPPED,
            help="jsonl, csv or tsv with query, question and answer; none: the shipped pool",
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        path: Path = options["file"]
        return asdict(add_controls_of(by_command(), path, str(path)))
