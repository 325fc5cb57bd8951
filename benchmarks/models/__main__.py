"""`make bench-models`: what models learn from releases, and how fast they learn and score.

Each part is a release with the systems that are trained on it and compared on its test, `qbert`:
an experiment, or `speed`: beside a plain script. The machine of each part is named with its
results, which are kept in benchmarks/results/models.json; what is made on the way lies in
var/bench/models, so that a killed run goes on. `--small` is a trial of some minutes whose results
are only printed.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import folders
from benchmarks.main_job import machine
from benchmarks.models import qbert, reranking, speed
from benchmarks.models.data import NEEDED, missing
from benchmarks.models.papers import PRINTED, printed
from benchmarks.models.splits import Size
from benchmarks.models.systems import MPNET, STUDENT, Place, Trainings, fewer_layers
from benchmarks.quality.tasks import MINILM
from benchmarks.retrieval.parts import names_of
from core.errors import UserError
from demo.processes import ROOT, StackError
from demo.stack import LocalStack
from exports.comparison.report import markdown
from exports.experiments import table
from retrieval.encoders.loading import chosen_device

MPNET_FOLDER = folders.WORK / "all-mpnet-base-v2"  # no package has it whole: put it there
SPEED = "speed"
PARTS = tuple(NEEDED)
SMALL = (
    Size(
        queries=20,
        corpus=400,
        sentences=(10, 15),
        transferred=20,
        pairs=60,
        ranks=100,
        shots=2,
        learned=100,
        measured=300,
    ),
    Trainings(seeds=(1,), epochs=1, rank_steps=5, task_epochs=1),
)
# The paper's size has 15,211 queries; so many groups of known duplicates there are not.
FULL = Size(
    queries=2_000,
    corpus=150_000,
    depths=(30, 30),
    transferred=10_000,
    pairs=20_000,
    shots=1_000,
    learned=20_000,
)


def main(words: Sequence[str] | None = None) -> int:
    options = _options(words)
    size, trainings = _sizes(options)
    try:
        device = chosen_device(options.device)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    asked = [asdict(size), asdict(trainings), device]
    key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]
    stack = LocalStack(folders.WORK / "models" / key)  # other sizes, other folder
    stack.manage("migrate", "--verbosity", 0)
    bases = {"MiniLM": MINILM, STUDENT: fewer_layers(MINILM, stack.data / STUDENT)}
    bases |= {MPNET: options.mpnet} if options.mpnet else {}
    place = Place(stack, size, trainings, device, bases)
    failed = [part for part in options.only if not _measure(part, place, small=options.small)]
    if failed:
        print(f"bench: {', '.join(failed)} ended with an error", file=sys.stderr)
    return 1 if failed else 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-models", description=__doc__)
    parser.add_argument("--only", type=names_of(PARTS), default=PARTS, help=f"of {','.join(PARTS)}")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--full", action="store_true", help="the paper's grid: for a GPU")
    parser.add_argument("--queries", type=int, help="of each release that the crowd judges")
    parser.add_argument("--accuracy", type=float, help="of the simulated workers")
    parser.add_argument("--seeds", type=int, help="trainings of each system")
    parser.add_argument(
        "--mpnet",
        metavar="FOLDER",
        default=str(MPNET_FOLDER) if MPNET_FOLDER.is_dir() else None,
        help="with all-mpnet-base-v2",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    return parser.parse_args(words)


def _sizes(options: argparse.Namespace) -> tuple[Size, Trainings]:
    size, trainings = Size(), Trainings()
    if options.full:
        size, trainings = FULL, Trainings(paper=True, task_epochs=5)
    if options.small:
        size, trainings = SMALL
    if options.queries:
        size = replace(size, queries=options.queries)
    if options.accuracy:
        size = replace(size, accuracy=options.accuracy)
    if options.seeds:
        trainings = replace(trainings, seeds=tuple(range(1, options.seeds + 1)))
    return size, trainings


def _measure(part: str, place: Place, *, small: bool) -> bool:
    """False where it fails: the other parts run all the same."""
    print(f"\n{part}", flush=True)
    if paths := missing(part):
        print(f"{paths[0]} is not here: {part} is skipped.", flush=True)
        return True
    began, load = time.monotonic(), os.getloadavg()
    try:
        found = _speed(place, small) if part == SPEED else _models(part, place, small)
    except StackError as error:
        print(f"bench: {part}: {error}", file=sys.stderr)
        return False
    seconds = round(time.monotonic() - began, 1)  # of a run that went on: of its rest
    kept = {"machine": machine() | {"device": place.device}, "load_average_before": load}
    if not small:
        _keep(_named(part, place), kept | {"seconds": seconds, **found})
    return True


def _models(part: str, place: Place, small: bool) -> dict[str, Any]:
    plots = place.folder if small else folders.RESULTS / "models"
    plots.mkdir(exist_ok=True)
    plot = plots / f"{_named(part, place)}.svg"
    if part == qbert.PART:
        report = qbert.compared(place)
        print(table.markdown(report))
    else:
        report = place.compared(part, Path(os.path.relpath(plot, ROOT))) | {"release": part}
        print(markdown(report))
    if part in PRINTED:
        print("", *printed(part), sep="\n")
    left_out = []
    if MPNET not in place.bases:
        left_out.append("MPNet: its folder is not here (--mpnet)")
    elif part == qbert.PART or not place.systems(part, MPNET):
        left_out.append("MPNet: for want of time (--full has it)")
    return {
        "size": asdict(place.size),
        "dataset": place.counts(qbert.RELEASE if part == qbert.PART else part),
        "trainings": [
            one
            for one in place.trained(part)
            if part != qbert.PART or qbert.is_of(report, one["name"])
        ],
        "left_out": left_out,
        "compared": report,
        "beside_plain": {} if part == qbert.PART else place.beside_plain(part),
        "beside_bm25": {} if part == qbert.PART else place.beside_bm25(part),
        "best": {} if part == qbert.PART else place.best(part),
    }


def _named(part: str, place: Place) -> str:
    """As its results are kept: a GPU's beside a CPU's, those of the paper's grid beside others."""
    words = [part, "full" if place.trainings.paper else "", place.device.replace("cpu", "")]
    return "-".join(word for word in words if word)


def _speed(place: Place, small: bool) -> dict[str, Any]:
    scale = speed.SMALL if small else speed.Scale()
    found = speed.measured(place.stack.data / SPEED, place.device, scale)
    print(speed.in_words(found))
    selecting = reranking.measured(place.device, scale)
    print(reranking.in_words(selecting))
    return found | selecting


def _keep(part: str, found: Mapping[str, Any]) -> None:
    """Beside the parts that other runs, perhaps of other machines, have measured."""
    path = folders.RESULTS / "models.json"
    parts = json.loads(path.read_text()) if path.is_file() else {}
    folders.keep("models", {**parts, part: found})


if __name__ == "__main__":
    sys.exit(main())
