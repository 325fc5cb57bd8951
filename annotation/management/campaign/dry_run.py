"""`manage.py campaign dry-run`: the whole campaign on the emulator, before anything is spent."""

from argparse import SUPPRESS
from dataclasses import fields

from django.core.management.base import CommandParser

from annotation.management.campaign.base import Options as Given
from annotation.management.campaign.base import Result, Step
from annotation.models import Campaign
from annotation.simulation.options import SHARES, Options, read_options
from annotation.simulation.report import told
from annotation.simulation.run import dry_run
from core.command import QuorumCommand
from core.progress import Progress, no_progress

HELP = {
    "queries": "how many to draw; as many as make 100 HITs",
    "workers": "how many people",
    "careless": "share of careless people",
    "spammers": "share of people who answer at random",
    "accuracy": "share of the triplets that careful people get right",
    "control_accuracy": "and of the controls",
    "careless_accuracy": "share of the triplets that careless people get right",
    "careless_control_accuracy": "and of the controls",
    "seed": "of the sample, of what is true and of the people",
}


def _dry_run(command: QuorumCommand, campaign: Campaign, options: Given) -> Result:
    asked = read_options({name: options[name] for name in HELP if name in options})
    with command.progress(None, "people judge", " HITs") as bar:

        def stage(name: str, total: int | None) -> Progress:
            return bar.update if name == "people judge" else no_progress

        found = dry_run(campaign, asked, stage=stage)
    return {"campaign": campaign.name, **told(found)}


def _arguments(parser: CommandParser) -> None:
    for each in fields(Options):
        default = "" if each.default is None else f" (default {each.default})"
        parser.add_argument(
            f"--{each.name.replace('_', '-')}",
            type=float if each.name in SHARES else int,
            default=SUPPRESS,
            metavar="SHARE" if each.name in SHARES else "N",
            help=HELP[each.name] + default,
        )


STEPS = {
    "dry-run": Step(
        "play the campaign on the emulator with simulated people, and say what came of it",
        _dry_run,
        _arguments,
    )
}
