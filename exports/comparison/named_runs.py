"""Which systems a comparison is of, as they are named on the command line.

    mine=seed-1.run,seed-2.run    a name, and a run of each seed
    bm25                          a baseline that the release brings along

The runs of one system differ in nothing but their seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from exports.evaluation.systems import BASELINES, DEV
from retrieval.ranking.read_runs import quote, run_path

LONGEST = 40
FORM = f"NAME=RUN[,RUN...] or a baseline ({', '.join(BASELINES)})"


@dataclass(frozen=True)
class NamedRuns:
    name: str
    runs: tuple[Path, ...]  # one a seed
    dev_runs: tuple[Path, ...] = ()  # the same seeds' on dev, or none at all


def named_runs(
    named: Iterable[str], dev_runs: Iterable[str], *, release: Path, split: str, against: str
) -> list[NamedRuns]:
    """In the order given; the baseline to test against comes first if it was not named."""
    given = list(named)
    if against in BASELINES and against not in given:
        given.insert(0, against)
    dev = _by_name(dev_runs)
    made = [_one(text, dev, release, split) for text in given]
    names = [entry.name for entry in made]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{name} is named twice: give each system a name of its own.")
    if against not in names:
        raise UserError(f"--against {quote(against)} names none of {', '.join(names)}.")
    unknown = [name for name in dev if name not in names]
    if unknown:
        raise UserError(f"--dev-run {unknown[0]} names none of {', '.join(names)}.")
    return made


def _one(text: str, dev: dict[str, tuple[Path, ...]], release: Path, split: str) -> NamedRuns:
    if text in BASELINES:
        run = run_path(release, DEV, text)
        known = split != DEV and run.is_file() and run.stat().st_size > 0
        return NamedRuns(text, (run_path(release, split, text),), (run,) if known else ())
    name, runs = _parted(text)
    dev_runs = dev.get(name, ())
    if dev_runs and len(dev_runs) != len(runs):
        raise UserError(
            f"{name} has {len(runs)} runs and {len(dev_runs)} of dev: give one of dev for each, in "
            "the same order."
        )
    return NamedRuns(name, runs, dev_runs)


def _by_name(texts: Iterable[str]) -> dict[str, tuple[Path, ...]]:
    of_name: dict[str, tuple[Path, ...]] = {}
    for name, runs in map(_parted, texts):
        if name in of_name:
            raise UserError(f"--dev-run names {name} twice: give all its runs at once.")
        of_name[name] = runs
    return of_name


def _parted(text: str) -> tuple[str, tuple[Path, ...]]:
    name, _, rest = text.partition("=")
    paths = rest.split(",")
    if not rest or not all(paths):
        raise UserError(f"{quote(text)} names no runs: write {FORM}.")
    if name in BASELINES:
        raise UserError(f"{name} is the name of a baseline: choose another for your own runs.")
    if not (name[:1].isalnum() and name.isprintable() and len(name) <= LONGEST):
        raise UserError(
            f"{quote(name)!r} is no name for a table: begin with a letter or a digit, and take at "
            f"most {LONGEST} characters."
        )
    return name, _each_once(name, [Path(path) for path in paths])


def _each_once(name: str, runs: Sequence[Path]) -> tuple[Path, ...]:
    """A seed counted twice would make the deviation too small."""
    for run in runs:
        if runs.count(run) > 1:
            raise UserError(f"{name} has the run {run} twice: name each seed's once.")
    return tuple(runs)
