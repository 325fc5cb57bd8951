"""`make bench SIZE=release`: a release of the paper's size on PostgreSQL.

At a tenth and at the full size (456,330 triplets, about a million votes), each step in a process
of its own, with its seconds and peak memory: what JSONL, Parquet and qrels take, beside a bare
server cursor to JSONL. Results are kept in benchmarks/results/, with the machine named.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import folders
from benchmarks.campaign.size import FULL, TENTH, Place, Step, row
from benchmarks.main_job import machine
from demo.processes import StackError

PREPARING = ("inputs", "pack")
RECORD = "record"
STEPS = ("bare", "extract", "place", "write", "formats")
ASKED = ("extract", "write")  # of which JSONL, Parquet and qrels come


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.release.size", description=__doc__)
    parser.add_argument(
        "--share", type=float, default=FULL, help="of the paper's size; for a trial"
    )
    full = parser.parse_args(words).share
    folder = folders.fresh("release")
    try:
        measured = {share: measure(folder / f"{share:g}", share) for share in (TENTH * full, full)}
    except StackError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    totals = report(measured)
    if full == FULL:
        keep(measured, totals)
    return 0


def measure(folder: Path, share: float) -> list[Step]:
    with Place(folder) as place:
        print(f"\n{share:.0%} of the paper's size", flush=True)
        for name in PREPARING:
            place.step(name, share)
        return [step(place, name, share) for name in (RECORD, *STEPS)]


def step(place: Place, name: str, share: float) -> Step:
    printed, wall, peak = place.run("benchmarks.release.steps", name)
    taken = Step(name, share, **json.loads(printed), wall=round(wall, 2), peak_mb=round(peak))
    print(row(taken), flush=True)
    return taken


def report(measured: dict[float, list[Step]]) -> dict[str, dict[str, float]]:
    """What JSONL, Parquet and qrels take together at each size."""
    totals = {f"{share:g}": total(steps) for share, steps in measured.items()}
    print(json.dumps(totals, indent=2))
    return totals


def keep(measured: dict[float, list[Step]], totals: dict[str, dict[str, float]]) -> None:
    steps = [asdict(each) for steps in measured.values() for each in steps]
    kept = {"machine": machine(), "steps": steps, "totals": totals}
    folders.keep("release_size", kept)


def total(steps: Sequence[Step]) -> dict[str, float]:
    """Of JSONL, Parquet and qrels, out of the database into the files."""
    took = {each.name: sum(each.seconds.values()) for each in steps}
    ours = sum(took[name] for name in ASKED)
    return {
        "seconds": round(ours, 2),
        "bare_seconds": round(took["bare"], 2),
        "ratio": round(ours / took["bare"], 2),
        "peak_mb": max(each.peak_mb for each in steps if each.name in ASKED),
    }


if __name__ == "__main__":
    sys.exit(main())
