"""`manage.py crowd`: simulated workers for the MTurk emulator, invitations to the own crowd."""

import re
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from annotation.access.audit_log import by_command, record
from annotation.crowd.inhouse.members import invite
from annotation.crowd.simulated.browser import WorkerSite
from annotation.crowd.simulated.knowledge import read_gold
from annotation.crowd.simulated.profiles import Crew
from annotation.crowd.simulated.workers import Simulation
from annotation.pipeline.controls.import_controls import SHIPPED
from core.command import QuorumCommand, add_subcommand
from core.errors import UserError

DEFAULTS = Crew()
CREW = ("workers", "accuracy", "spammers", "seed", "faults")
AMAZON = re.compile(r"\.(amazonaws\.com|api\.aws|mturk\.com)\b", re.IGNORECASE)
RUN = "simulated workers take HITs from the emulator, judge them and submit, until none is left"
INVITE = "makes a link by which people join the in-house crowd; it is shown this once"


class Command(QuorumCommand):
    help = "A simulated crowd for the local MTurk emulator, and invitations to the in-house crowd."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        _run_arguments(add_subcommand(steps, "run", help=RUN))
        _invite_arguments(add_subcommand(steps, "invite", help=INVITE))

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        return _invite(options) if options["step"] == "invite" else self._simulate(options)

    def _simulate(self, options: Mapping[str, Any]) -> dict[str, object]:
        url = options["emulator"].rstrip("/")
        _refuse_amazon(url)
        crew = Crew(**{name: options[name] for name in CREW})
        gold = read_gold([SHIPPED, *options["gold"]])
        most = options["assignments"]
        with WorkerSite(url) as site:
            simulation = Simulation(crew, gold, site)
            with self.progress(most, "assignments") as bar:
                return simulation.run(most, progress=bar.update).to_dict()

    def render(self, result: dict[str, object]) -> str:
        faults = result.get("faults")
        if not isinstance(faults, Mapping):
            return super().render(result)
        told = [f"{count:,} {way.replace('_', ' ')}" for way, count in faults.items() if count]
        return super().render({**result, "faults": ", ".join(told) or "none"})


@transaction.atomic
def _invite(options: Mapping[str, Any]) -> dict[str, object]:
    note, days, uses = options["note"], options["days"], options["uses"]
    code = invite(None, note=note, days=days, uses=uses, now=timezone.now())
    record(by_command(), "invite", subject=note, details={"days": days, "uses": uses})
    link = settings.PUBLIC_URL + reverse("join", args=[code])
    return {"link": link, "days": days, "uses": uses}


def _run_arguments(sub: CommandParser) -> None:
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


def _invite_arguments(sub: CommandParser) -> None:
    sub.add_argument("--note", default="", metavar="TEXT", help="for whom it is; the staff see it")
    sub.add_argument("--days", type=int, default=14, metavar="N", help="it lasts (default 14)")
    sub.add_argument(
        "--uses", type=int, default=1, metavar="N", help="how many can join by it (default 1)"
    )


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
