"""`manage.py crowd run`: simulated workers on the local MTurk emulator."""

import re
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation.crowd.gold import read_gold
from annotation.crowd.simulate import Crew, Simulation
from annotation.crowd.worker_site import WorkerSite
from annotation.pipeline.import_controls import SHIPPED
from retrieval.cli import QuorumCommand, add_subcommand
from retrieval.errors import UserError

DEFAULTS = Crew()
AMAZON = re.compile(r"\.(amazonaws\.com|api\.aws|mturk\.com)\b", re.IGNORECASE)
HELP = "simulated workers take HITs from the emulator, judge them and submit, until none is left"


class Command(QuorumCommand):
    help = "A simulated crowd for the local MTurk emulator."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        sub = add_subcommand(steps, "run", help=HELP)
        for name, kind, text in (
            ("workers", _count, "how many"),
            ("accuracy", _share, "share of judgments that careful workers get right"),
            ("spammers", _share, "share of the workers who answer at random, from 0 to 1"),
            ("seed", int, "of the workers and their judgments"),
            (
                "faults",
                _share,
                "share of the assignments that are returned, abandoned, handed in twice or only"
                " when the run ends, from 0 to 1",
            ),
        ):
            default = getattr(DEFAULTS, name)
            sub.add_argument(
                f"--{name}", type=kind, default=default, help=f"{text} (default {default})"
            )
        sub.add_argument(
            "--gold",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="what careful workers know, besides the shipped controls; may be repeated. Rows:"
            " question and meaning, or query and question, with a label of 1 or 0 (1 when left"
            " out). A pair that no file knows is judged 1 if its texts are equal, else 0",
        )
        sub.add_argument(
            "--emulator",
            default=settings.MTURK_ENDPOINT,
            metavar="URL",
            help="(default: AWS_ENDPOINT_URL_MTURK, now %(default)s)",
        )
        sub.add_argument(
            "--assignments", type=_count, metavar="MAX", help="stop after so many (default: never)"
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        url = options["emulator"].rstrip("/")
        _refuse_amazon(url)
        crew = Crew(**{each.name: options[each.name] for each in fields(Crew)})
        gold = read_gold([SHIPPED, *options["gold"]])
        most = options["assignments"]
        with WorkerSite(url) as site:
            simulation = Simulation(crew, gold, site)
            with self.progress(most, "assignments") as bar:
                return simulation.run(most, progress=bar.update).to_dict()

    def render(self, result: dict[str, object]) -> str:
        faults = result["faults"]
        assert isinstance(faults, Mapping)
        told = [f"{count:,} {way.replace('_', ' ')}" for way, count in faults.items() if count]
        return super().render({**result, "faults": ", ".join(told) or "none"})


def _refuse_amazon(url: str) -> None:
    if AMAZON.search(url):
        raise UserError(
            f"{url} is Amazon's: simulated workers work for the local emulator alone. Set"
            " AWS_ENDPOINT_URL_MTURK to its address, or name it with --emulator."
        )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1 on, not {text!r}")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"must be a share from 0 to 1, such as 0.15, not {text!r}")
    return share
