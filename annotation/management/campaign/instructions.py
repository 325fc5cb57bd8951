"""`manage.py campaign instructions`: what annotators read, printed or superseded."""

from dataclasses import asdict
from pathlib import Path

from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command
from annotation.management.campaign.base import Options, Result, Step
from annotation.models import Campaign
from annotation.operations.instructions import save_instructions
from annotation.pipeline.setup.instructions import read_instructions
from core.command import QuorumCommand


def _instructions(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    if options["file"] is None:
        newest = campaign.instructions.latest("version")
        return {"campaign": campaign.name, "version": newest.version, "text": newest.text}
    text = read_instructions(options["file"])
    added = save_instructions(by_command(), campaign, text)
    return {"campaign": campaign.name, **asdict(added)}


def _file_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="Markdown: the new version"
    )


STEPS = {
    "instructions": Step(
        "print the annotators' instructions, or take a new version of them from FILE, for the "
        "HITs not asked for yet",
        _instructions,
        _file_argument,
    ),
}
