"""The dry run's own world: its database, its site and its emulator, all in this one process."""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from waitress.server import create_server

from annotation.crowd.emulator.http.server import Server
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import CrowdError
from annotation.crowd.simulated.browser import WorkerSite
from annotation.crowd.simulated.profiles import WorkerProfiles
from annotation.crowd.simulated.workers import Simulation
from annotation.protocol.policy.crowds import PAPER_CROWD
from annotation.simulation.outcome import outcome
from annotation.simulation.play import play
from annotation.simulation.populate import fill, gold_of
from annotation.simulation.sample import Plan
from annotation.simulation.schema import make_database
from annotation.simulation.workspace import MARKER
from core.errors import UserError

MUCH = 100_000_000_000  # cents on the account at the emulator: the budget alone sets a limit
THREADS = 4
REMOVE = "import shutil, sys; shutil.rmtree(sys.argv[1]); sys.exit(1)"


def main(site: int, crowd: int) -> None:
    """The plan comes as a line on standard input, lines about it go to standard output.

    `site`, `crowd`: sockets that listen already, by their numbers.
    """
    if not (settings.DATA_DIR / MARKER).exists():
        sys.exit("This is the inside of a dry run: start one by `campaign dry-run NAME`.")
    plan = Plan.from_dict(json.loads(sys.stdin.readline()))
    _in_background(_end_with_the_asker)
    try:
        report = _played(plan, socket.socket(fileno=site), socket.socket(fileno=crowd))
    except (UserError, CrowdError) as error:
        report = {"refused": str(error)}
    print(json.dumps(report), flush=True)


def _played(plan: Plan, site: socket.socket, crowd: socket.socket) -> dict[str, Any]:
    _report("setting the stage", 0, None)
    make_database(Path(str(settings.DATABASES["default"]["NAME"])), settings.DATA_DIR.parent)
    campaign = fill(plan)
    profiles, gold = WorkerProfiles(**plan.profiles), gold_of(plan)
    pages = get_wsgi_application()
    _in_background(create_server(pages, sockets=[site], map={}, threads=THREADS).run)
    state = settings.DATA_DIR / "mturk_emulator.sqlite3"
    _in_background(Server(listening=crowd, state=state, balance_cents=MUCH).run)
    with WorkerSite(settings.MTURK_ENDPOINT) as workers:
        simulation = Simulation(profiles, gold, workers)
        turk = open_crowd(PAPER_CROWD.kind, live=False, shared_rate=False)
        end = play(campaign, turk, simulation, report=_report)
    return {"outcome": outcome(campaign, profiles, gold, plan) | {"end": end}}


def _report(stage: str, done: int, total: int | None) -> None:
    print(json.dumps({"stage": stage, "done": done, "total": total}), flush=True)


def _in_background(work: Callable[[], object]) -> None:
    """It ends with the process."""
    threading.Thread(target=work, daemon=True).start()


def _end_with_the_asker() -> None:
    """Nothing more comes on standard input: when it closes, nobody waits for the outcome.

    Another program takes this one's place: no thread is left that could write to the folder.
    """
    sys.stdin.read()
    program = [sys.executable, "-c", REMOVE, str(settings.DATA_DIR)]
    os.execv(program[0], program)  # noqa: S606 - our own words
