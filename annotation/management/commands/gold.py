"""`manage.py gold import FILE --campaign NAME`: what experts say of a campaign's triplets."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command
from annotation.operations.gold import add_gold_of
from annotation.pipeline.gold.import_gold import EXPERT
from annotation.pipeline.setup.create import get_campaign
from core.command import QuorumCommand, add_subcommand

FILE = (
    "jsonl, csv or tsv, or one of these as .gz, with query, question and label (1: equivalent, 0: "
    "not), and, where there are, answer (to tell pairs of the same question apart), expert and "
    "note; or with question and meaning: equal meanings, equivalent questions"
)


class Command(QuorumCommand):
    help = "Labels of experts, kept beside the votes: what the crowd's are measured by."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        sub = add_subcommand(steps, "import", help="take experts' labels from a file")
        sub.add_argument("file", type=Path, help=FILE)
        sub.add_argument("--campaign", required=True, metavar="NAME", help="whose triplets")
        sub.add_argument(
            "--expert",
            default=EXPERT,
            metavar="NAME",
            help="who gave the labels, where the file does not say (default %(default)s)",
        )
        sub.add_argument(
            "--replace",
            action="store_true",
            help="put the file's labels in place of others that the same expert gave before",
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        campaign = get_campaign(options["campaign"])
        with self.progress(None, "importing", "B") as bar:
            found = add_gold_of(
                by_command(),
                campaign,
                options["file"],
                str(options["file"]),
                expert=options["expert"],
                replace=options["replace"],
                progress=bar.update,
            )
        return {"campaign": campaign.name, **asdict(found)}

    def render(self, result: dict[str, object]) -> str:
        lines = result["first_lines_without"]
        assert isinstance(lines, list)
        shown = ", ".join(map(str, lines)) or None
        return super().render({**result, "first_lines_without": shown})
