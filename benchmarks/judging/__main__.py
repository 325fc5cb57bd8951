"""`make bench SIZE=desk`: taking and submitting a HIT, beside bare views of the same SQL.

PostgreSQL and gunicorn as in production: one site with the real pages, one with the views of
`bare.py`, both on one database. Rounds of one and of the other take turns, so that whatever
else the machine does falls on both. A submission takes the next HIT too, as the page does.

Results are kept in benchmarks/results/, with the machine named.
"""

import argparse
import json
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import folders
from benchmarks.campaign.size import Place
from benchmarks.judging.clients import Clients, Job
from benchmarks.judging.load import SMALL as SMALL_LOAD
from benchmarks.judging.load import Load, measure_load
from benchmarks.main_job import machine
from demo.processes import StackError
from demo.stack import LocalStack

SIDES = ("site", "bare")
VERBS = ("next", "submit")
TARGET = 1.5
SHARED = {"QUORUM_WEB_WORKERS": "2", "QUORUM_SECRET_KEY": "of a benchmark on loopback"}
COLUMNS = f"{'verb':<8}{'at once':>8}{'p50':>10}{'p95':>8}{'bare p50':>10}{'p95':>8}{'ratio':>8}"


@dataclass(frozen=True)
class Scale:
    share: float = 0.05  # of the paper's campaign: 4,563 HITs
    concurrencies: tuple[int, ...] = (1, 4, 16)
    rounds: int = 7  # the first of each is not counted
    requests: int = 48  # a round

    @property
    def members(self) -> int:
        return len(self.concurrencies) * len(SIDES) * self.rounds * self.requests


SMALL = Scale(share=0.002, concurrencies=(1, 2), rounds=3, requests=4)

Cell = tuple[int, str, str]  # concurrency, side, verb
Seconds = Mapping[Cell, Sequence[Sequence[float]]]  # of each request of each round
Figures = Mapping[str, object]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.judging", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a trial; nothing is kept")
    small = parser.parse_args(words).small
    scale = SMALL if small else Scale()
    try:
        seconds = measure(scale)
        day = measure_day(SMALL_LOAD if small else Load())
    except StackError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    cells = [(at_once, verb) for verb in VERBS for at_once in scale.concurrencies]
    figures = [figures_of(seconds, *cell) for cell in cells]
    report(figures)
    print(json.dumps(day))
    if not small:
        keep(figures, scale, day)
    return 0


def measure_day(load: Load) -> Mapping[str, object]:
    """On a site of its own."""
    folder = folders.fresh("judging-load")
    place = Place(folder)
    place.stack.environment |= SHARED
    with place:
        print(f"{load.members} at once for {load.seconds:.0f} s", flush=True)
        return measure_load(place, folder, load)


def measure(scale: Scale) -> Seconds:
    """Both sites are up all the while."""
    folder = folders.fresh("judging")
    place, bare = Place(folder), LocalStack(folder / "bare")
    place.stack.environment |= SHARED
    with place:
        print("A campaign and its team", flush=True)
        jobs = make_jobs(place, folder / "inputs.json", scale)
        database = place.stack.environment["QUORUM_DATABASE_URL"]
        bare.environment |= {**SHARED, "QUORUM_DATABASE_URL": database}
        bare.environment["DJANGO_SETTINGS_MODULE"] = "benchmarks.judging.settings"
        with bare.servers():
            return take_turns({"site": place.stack.site_url, "bare": bare.site_url}, jobs, scale)


def make_jobs(place: Place, path: Path, scale: Scale) -> Iterator[Job]:
    place.run("benchmarks.judging.inputs", str(path), str(scale.members), str(scale.share))
    inputs = json.loads(path.read_text())
    hits = iter(inputs["hits"])
    # A bare view takes what it is told: each HIT has one place for each of two members.
    pairs = zip(hits, hits, strict=False)
    for (first, keys), (second, _) in pairs:
        for _ in range(2):
            member, session = inputs["members"].pop()
            yield Job(member, session, hits=(first, second), keys=keys)


def take_turns(sites: Mapping[str, str], jobs: Iterator[Job], scale: Scale) -> Seconds:
    seconds: defaultdict[Cell, list[list[float]]] = defaultdict(list)
    for concurrency in scale.concurrencies:
        print(f"{concurrency} at once", flush=True)
        clients = {side: Clients(sites[side], concurrency, bare=side == "bare") for side in SIDES}
        for _ in range(scale.rounds):
            for side in SIDES:
                taken, submitted = clients[side].round([next(jobs) for _ in range(scale.requests)])
                seconds[concurrency, side, "next"].append(taken)
                seconds[concurrency, side, "submit"].append(submitted)
        for opened in clients.values():
            opened.close()
    return {cell: rounds[1:] for cell, rounds in seconds.items()}


def figures_of(seconds: Seconds, concurrency: int, verb: str) -> Figures:
    """Milliseconds over all requests; the ratio is the median over the rounds of their p95's."""
    site, bare = (seconds[concurrency, side, verb] for side in SIDES)
    ratios = [p95(mine) / p95(floor) for mine, floor in zip(site, bare, strict=True)]
    middle = [
        statistics.median(mine) / statistics.median(floor)
        for mine, floor in zip(site, bare, strict=True)
    ]
    return {
        "verb": verb,
        "concurrency": concurrency,
        "site": milliseconds(site),
        "bare": milliseconds(bare),
        "ratio_p50": round(statistics.median(middle), 2),
        "ratio_p95": round(statistics.median(ratios), 2),
        "ratios_p95": [round(ratio, 2) for ratio in ratios],
    }


def milliseconds(rounds: Sequence[Sequence[float]]) -> Mapping[str, float]:
    every = [seconds * 1000 for one in rounds for seconds in one]
    return {"p50": round(statistics.median(every), 1), "p95": round(p95(every), 1)}


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def report(figures: Sequence[Figures]) -> None:
    print(f"\nmilliseconds; at most {TARGET} times the bare p95 is the target\n{COLUMNS}")
    for row in figures:
        site, bare = row["site"], row["bare"]
        assert isinstance(site, dict)
        assert isinstance(bare, dict)
        print(
            f"{row['verb']:<8}{row['concurrency']:>8}{site['p50']:>10}{site['p95']:>8}"
            f"{bare['p50']:>10}{bare['p95']:>8}{row['ratio_p95']:>8}"
        )


def keep(figures: Sequence[Figures], scale: Scale, day: Mapping[str, object]) -> None:
    load = round(os.getloadavg()[1], 1)
    kept = {
        "machine": machine() | {"load": load},
        "requests": scale.requests * (scale.rounds - 1),
        "target": TARGET,
        "figures": figures,
        "load": day,
    }
    folders.keep("judging", kept)


if __name__ == "__main__":
    sys.exit(main())
