"""Play a campaign on the emulator before anything is spent, in a process and a database of its own.

1. What it needs of the campaign is read (`plan`).
2. A child process gets it: its data folder is a scratch one, its crowd the emulator that it runs
   itself, at a port that is held here. It does the real steps (`stage`, `play`).
3. It tells how far it is, then what came of it, a line of JSON each.

The plan's pipe stays open: when it closes, the asker is gone, and the child ends too.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.models import Campaign
from annotation.simulation.options import Options
from annotation.simulation.sample import Plan, make_plan, whole
from annotation.simulation.workspace import scratch
from core.errors import UserError
from core.progress import Progress, no_progress

Stage = Callable[[str, int | None], Progress]
# What could lead the child out of its folder: databases, brokers, accounts, other settings, and
# the site's own counts, which would take the emulator's calls for the crowd's.
OUTSIDE = ("QUORUM_", "AWS_", "CELERY_", "DJANGO_", "PG", "PROMETHEUS_")
LOG = "log"
LAST_CHARACTERS = 2000


class DryRunFailed(Exception):
    """By an error of ours or of the machine."""


def _unwatched(name: str, total: int | None) -> Progress:
    return no_progress


def dry_run(campaign: Campaign, options: Options, *, stage: Stage = _unwatched) -> dict[str, Any]:
    """UserError where the campaign cannot be played in a dry run, or the real steps refuse it."""
    plan = make_plan(campaign, options)
    with scratch() as (folder, lock), _listening() as site, _listening() as crowd:
        with _child(folder, {"site": site, "crowd": crowd}, lock.fileno()) as child:
            played = _play(child, plan, stage)
        log = (folder / LOG).read_text(errors="replace")[-LAST_CHARACTERS:]
    if "refused" in played:
        raise UserError(f"The dry run of {campaign} was refused: {played['refused']}")
    if "outcome" not in played:
        raise DryRunFailed(f"the dry run of {campaign} ended early: {log}")
    return {
        **played["outcome"],
        "options": {**options.to_dict(), "queries": len(plan.queries)},
        "whole": whole(campaign),
        "has_fee": campaign.policy.fee is not None,
        "reward_cents": campaign.policy.reward_cents,
    }


@contextmanager
def _listening() -> Iterator[socket.socket]:
    """At a port that nobody else can take before the child serves it."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        yield listening


@contextmanager
def _child(
    folder: Path, sockets: Mapping[str, socket.socket], lock: int
) -> Iterator[subprocess.Popen[str]]:
    """Ended when the block is left, however that happens."""
    numbers = [str(sockets[name].fileno()) for name in ("site", "crowd")]
    with (folder / LOG).open("w") as log:
        child = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "annotation.simulation", *numbers],
            cwd=settings.BASE_DIR,
            env=_environment(folder, sockets),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            pass_fds=[lock, *(each.fileno() for each in sockets.values())],
        )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def _environment(folder: Path, sockets: Mapping[str, socket.socket]) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}
    at = {name: f"http://127.0.0.1:{each.getsockname()[1]}" for name, each in sockets.items()}
    return ours | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "QUORUM_DATA": str(folder),
        "QUORUM_PUBLIC_URL": at["site"],
        "AWS_ENDPOINT_URL_MTURK": at["crowd"],
    }


def _play(child: subprocess.Popen[str], plan: Plan, stage: Stage) -> dict[str, Any]:
    """The last line, which says what came of it; nothing where the child died before."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError):  # then it has ended already, and its log says why
        child.stdin.write(json.dumps(plan.to_dict()) + "\n")
        child.stdin.flush()
    for line in child.stdout:
        report = json.loads(line)
        if "stage" not in report:
            return dict(report)
        stage(report["stage"], report["total"])(report["done"])
    return {}
