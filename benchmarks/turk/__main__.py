"""`make bench SIZE=turk`: HITs that are created, worked and paid at the site's Turk.

Requesters with boto3 create them and pay for what 50 people submit by HTTP, all at once. The
same is then done with the emulator, which is a process of its own. In the end the records are
compared with what was done.

Results are kept in benchmarks/results/, with the machine named.
"""

import argparse
import json
import os
import sqlite3
import statistics
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks import folders
from benchmarks.campaign.size import Place
from benchmarks.main_job import machine
from benchmarks.turk.people import Member, Person, Stranger, Times
from benchmarks.turk.requesters import BONUS_CENTS, REWARD_CENTS, Requester
from demo.processes import StackError

SHARED = {"QUORUM_WEB_WORKERS": "2", "QUORUM_SECRET_KEY": "of a benchmark on loopback"}
CALLS = ("create", "reviewable", "list", "approve", "bonus", "delete")
REQUESTS = ("list", "accept", "open", "submit", "next")
BALANCE_CENTS = 10_000_000  # as the emulator's stack has it

Figures = Mapping[str, object]


@dataclass(frozen=True)
class Scale:
    hits: int = 10_000
    people: int = 50
    # Each may make 3,000 calls a minute, and a HIT takes more than four.
    requesters: int = 4


SMALL = Scale(hits=24, people=4, requesters=2)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.turk", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a trial; nothing is kept")
    parser.add_argument("--hits", type=int, help="so many instead of all; nothing is kept")
    options = parser.parse_args(words)
    scale = SMALL if options.small else Scale()
    if options.hits:
        scale = Scale(hits=options.hits)
    try:
        sides = measure(scale)
    except StackError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(json.dumps(sides, indent=1))
    if scale == Scale():
        load = round(os.getloadavg()[2], 1)
        folders.keep("turk", {"machine": machine() | {"load": load}, **vars(scale), **sides})
    return 0


def measure(scale: Scale) -> dict[str, Figures]:
    place = Place(folders.fresh("turk"))
    place.stack.environment |= SHARED
    share = scale.hits // scale.requesters
    with place:
        site, emulator = place.stack.site_url, place.stack.emulator_url
        options = str(scale.requesters), str(scale.people), str(BALANCE_CENTS)
        made = json.loads(place.run("benchmarks.turk.inputs", *options)[0])
        members = [Member(site, session) for session in made["sessions"]]
        requesters = [Requester(f"{site}/turk/", key, share) for key in made["keys"]]
        stores = [
            place.stack.data / "turk" / f"lab{number}" / "production.sqlite3"
            for number in range(scale.requesters)
        ]
        figures = {"site": run(members, requesters, stores)}
        strangers = [Stranger(emulator, number) for number in range(scale.people)]
        keys = [("none", "none")] * scale.requesters
        requesters = [
            Requester(emulator, key, share, f"{number}-") for number, key in enumerate(keys)
        ]
        store = place.stack.data / "mturk_emulator.sqlite3"
        return {**figures, "emulator": run(strangers, requesters, [store])}


def run(
    people: Sequence[Person], requesters: Sequence[Requester], stores: Sequence[Path]
) -> Figures:
    over, began = threading.Event(), time.perf_counter()
    with ThreadPoolExecutor(len(people) + 2 * len(requesters)) as threads:
        working = [threads.submit(one.work, over) for one in people]
        paying = [threads.submit(one.create) for one in requesters]
        paying += [threads.submit(one.review, over) for one in requesters]
        waiting = {*working, *paying}
        while not all(one.done() for one in paying):
            done, waiting = wait(waiting, timeout=1, return_when=FIRST_EXCEPTION)
            if any(one.exception() for one in done):
                break
        over.set()
        for one in (*paying, *working):
            one.result()
    seconds = time.perf_counter() - began
    check(people, requesters, stores)
    print(f"{len(people)} people and {len(requesters)} requesters: {seconds:.0f} s", flush=True)
    paid = sum(one.paid for one in requesters)
    created = max(one.create_seconds for one in requesters)
    return {
        "seconds": round(seconds, 1),
        "created_a_second": round(paid / created, 1),
        "paid_a_second": round(paid / seconds, 1),
        "taken_by_others": sum(one.taken_by_others for one in people),
        "calls": table(CALLS, [one.times for one in requesters]),
        "requests": table(REQUESTS, [one.times for one in people]),
    }


def check(
    people: Sequence[Person], requesters: Sequence[Requester], stores: Sequence[Path]
) -> None:
    """What the records hold is what was done, to the cent."""
    done = [0, 0, 0]
    for path in stores:
        with closing(sqlite3.connect(path)) as db:
            row = db.execute(
                "SELECT (SELECT COUNT(*) FROM hits),"
                " (SELECT COUNT(*) FROM assignments WHERE status = 'Approved'),"
                " (SELECT SUM(spent) FROM money WHERE kind IN ('reward', 'bonus'))"
            ).fetchone()
            done = [one + other for one, other in zip(done, row, strict=True)]
    paid = sum(one.paid for one in requesters)
    bonuses = sum(one.bonuses for one in requesters)
    expected = [
        paid,
        sum(one.submitted for one in people),
        paid * REWARD_CENTS + bonuses * BONUS_CENTS,
    ]
    if done != expected:
        raise StackError(f"HITs, assignments and cents are {done}, and not {expected}")


def table(names: Sequence[str], times: Sequence[Times]) -> dict[str, Mapping[str, float]]:
    every = Times()
    for one in times:
        every.add(one)
    return {name: milliseconds(every.seconds[name]) for name in names if every.seconds[name]}


def milliseconds(seconds: Sequence[float]) -> Mapping[str, float]:
    cuts = statistics.quantiles(seconds, n=20) if len(seconds) > 1 else [*seconds] * 19
    return {
        "number": len(seconds),
        "p50": round(1000 * statistics.median(seconds), 1),
        "p95": round(1000 * cuts[-1], 1),
    }


if __name__ == "__main__":
    sys.exit(main())
