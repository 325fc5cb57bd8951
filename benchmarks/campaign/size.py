"""`make bench SIZE=paper`: a campaign of the paper's size on PostgreSQL.

1. At a tenth and at the full size: pack, publish, review, label and book, each in a process of its
   own, with its seconds and peak memory; beside them the least that the database takes.
2. At a tenth: the crowd's HTTP calls, beside those of a bare boto3 loop with as many threads.

Results are kept in benchmarks/results/, with the machine named.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import folders
from benchmarks.main_job import machine
from demo.processes import ROOT, StackError, dies_with_parent
from demo.services import Services
from demo.stack import LocalStack

TENTH, FULL = 0.1, 1.0
PARTS = ("tenth", "full", "calls")
START = "import django; django.setup(); from {module} import main; main()"
STEPS = (
    "inputs",
    "pack",
    "bare pack",
    "publish",
    "record",
    "review",
    "label",
    "bare label",
    "settle",
    "idle",
    "news",
)


@dataclass(frozen=True)
class Step:
    name: str
    share: float
    rows: int
    unit: str
    seconds: Mapping[str, float]  # of its parts
    wall: float  # with the start of Python
    peak_mb: float


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.campaign.size", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one part, whose results are not kept")
    parser.add_argument(
        "--share", type=float, default=FULL, help="of the paper's size; for a trial"
    )
    options = parser.parse_args(words)
    only, share, folder = options.only, options.share, folders.fresh("paper")
    try:
        tenth = measure(folder, TENTH * share) if only in (None, "tenth") else []
        full = measure(folder, share) if only in (None, "full") else []
        calls = measure_calls(folder, TENTH * share) if only in (None, "calls") else {}
    except StackError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if not only:
        report(tenth, full)
    if not only and share == FULL:
        keep([*tenth, *full], calls)
    return 0


def measure(folder: Path, share: float) -> list[Step]:
    with Place(folder / f"{share:g}") as place:
        print(f"\n{share:.0%} of the paper's size", flush=True)
        return [place.step(name, share) for name in STEPS]


def measure_calls(folder: Path, share: float) -> dict[str, object]:
    with Place(folder / "calls") as place:
        for name in ("inputs", "pack", "publish"):
            place.step(name, share)
        print("\nThe crowd's calls", flush=True)
        printed, _, peak = place.run(
            "benchmarks.campaign.calls", str(place.stack.data / "mturk_emulator.sqlite3")
        )
        print(printed, flush=True)
        return {**json.loads(printed), "peak_mb": round(peak)}


class Place:
    """A folder with a database, a site and an emulator of its own."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self.stack = LocalStack(folder / "data")
        self._services = Services(folder / "services", durable=durable)
        self._running = ExitStack()

    def __enter__(self) -> "Place":
        with ExitStack() as starting:
            starting.enter_context(self._services)
            self.stack.environment |= self._services.environment
            self.stack.environment.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
            self.stack.manage("migrate", "--verbosity", 0)
            starting.enter_context(self.stack.servers())
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def step(self, name: str, share: float) -> Step:
        printed, wall, peak = self.run("benchmarks.campaign.steps", name, str(share))
        step = Step(name, share, **json.loads(printed), wall=round(wall, 2), peak_mb=round(peak))
        print(row(step), flush=True)
        return step

    def run(self, module: str, *arguments: str) -> tuple[str, float, float]:
        """What it printed, its seconds and its peak memory in MB."""
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", START.format(module=module), *arguments],
            cwd=ROOT,
            env=self.stack.environment,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=dies_with_parent(),
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            raise StackError(f"{module} {' '.join(arguments)} ended with {code}")
        return printed, time.monotonic() - began, usage.ru_maxrss / 1024


def row(step: Step) -> str:
    parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in step.seconds.items())
    return f"{step.name:<11}{step.rows:>10,} {step.unit:<12}{step.peak_mb:>6,.0f} MB  {parts}"


def report(tenth: Sequence[Step], full: Sequence[Step]) -> None:
    """How each part grows from a tenth to the whole: 10 where it is linear."""
    print("\nten times as much takes")
    for small, large in zip(tenth, full, strict=True):
        for part, seconds in large.seconds.items():
            print(f"  {part:<16}{seconds / small.seconds[part]:>6.1f} times as long")


def keep(steps: Sequence[Step], calls: Mapping[str, object]) -> None:
    kept = {"machine": machine(), "steps": [asdict(step) for step in steps], "calls": calls}
    folders.keep("paper_size", kept)


if __name__ == "__main__":
    sys.exit(main())
