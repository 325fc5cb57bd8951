"""`make bench SIZE=dashboard`: every page of the dashboard over a campaign of the paper's size.

1. A database of that size on PostgreSQL (`inputs`); `--keep` takes that of the last run.
2. Each page's queries and the rows that they read (`plans`).
3. The real server, by the Procfile's own command: the time to the first byte of each page over a
   kept connection, in rounds in which an empty signed-in page (`empty`) takes its turn
   before each three of them; medians and their ratio.

Results are kept in benchmarks/results/, with the machine named.
"""

import argparse
import http.client
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import folders
from benchmarks.campaign.size import Place
from benchmarks.dashboard.plot import draw
from benchmarks.main_job import machine
from demo.processes import StackError

MADE = "made"  # a file: the database is whole, and so may be taken again
ROUNDS = 15
WARM = 1  # rounds that are not counted
GROUP = 3  # pages after each empty one
TARGET, MOST_QUERIES = 3, 20
SHARE_READ = 0.1  # of a long table: a page that reads more of it counts it
LONG = 20_000
EMPTY = "/empty"
SHARED = {
    "QUORUM_SECRET_KEY": "of a benchmark on loopback",
    "DJANGO_SETTINGS_MODULE": "benchmarks.dashboard.settings",
}

Figures = dict[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench SIZE=dashboard", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="take the database of the last run")
    parser.add_argument("--share", type=float, default=1.0, help="of the paper's size; for a trial")
    parser.add_argument("--only", default="", help="pages whose name fits this pattern")
    parser.add_argument("--plans", action="store_true", help="queries and rows alone")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(words)
    folder = folders.WORK / "dashboard"
    if not (options.keep and (folder / MADE).exists()):
        folders.fresh("dashboard")
    try:
        figures = measure(options, folder)
    except StackError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    report(figures["pages"])
    if (options.share, options.only, options.rounds) == (1, "", ROUNDS) and not options.plans:
        keep(figures)
    return 0


def measure(options: argparse.Namespace, folder: Path) -> Figures:
    place = Place(folder, durable=False)
    place.stack.environment |= SHARED
    with place:
        if not (folder / MADE).exists():
            print("A database of the paper's size", flush=True)
            print(place.run("benchmarks.dashboard.inputs", str(options.share))[0], flush=True)
            (folder / MADE).touch()
        path = folder / "pages.json"
        every = json.loads(place.run("benchmarks.dashboard.pages")[0])
        pages = [page for page in every if re.search(options.only, page["name"])]
        path.write_text(json.dumps(pages))
        asked = json.loads(place.run("benchmarks.dashboard.plans", str(path))[0])
        sessions = json.loads((place.stack.data / "sessions.json").read_text())
        rows = [page | seen for page, seen in zip(pages, asked["pages"], strict=True)]
        if not options.plans:
            print(f"{len(pages)} pages, {options.rounds} rounds", flush=True)
            taken = Reader(place.stack.site_url, sessions).rounds(pages, options.rounds)
            rows = [row | times for row, times in zip(rows, taken, strict=True)]
    return {"tables": asked["lengths"], "pages": [judged(row, asked["lengths"]) for row in rows]}


class Reader:
    """Everybody who reads, over one kept connection."""

    def __init__(self, url: str, sessions: Mapping[str, str]) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._sessions = sessions

    def rounds(self, pages: Sequence[Mapping[str, str]], count: int) -> list[Figures]:
        """Page by page, in milliseconds. Each few of a reader follow an empty page of theirs."""
        seconds: list[list[tuple[float, float]]] = [[] for _ in pages]
        for number in range(WARM + count):
            empty, age, last = 0.0, 0, ""
            for page, taken in zip(pages, seconds, strict=True):
                if page["who"] != last or age == GROUP:
                    empty, age, last = self._first_byte(page["who"], EMPTY), 0, page["who"]
                whole, age = self._first_byte(page["who"], page["path"], page["kind"]), age + 1
                if number >= WARM:
                    taken.append((whole, empty))
        return [figures_of(taken) for taken in seconds]

    def _first_byte(self, who: str, path: str, kind: str = "page") -> float:
        if self._connection.sock is None:
            self._connection.connect()
        began = time.perf_counter()
        cookie = {"Cookie": f"sessionid={self._sessions[who]}"}
        self._connection.request("GET", path, headers=cookie)
        response = self._connection.getresponse()
        taken = time.perf_counter() - began
        if kind == "file":
            self._connection.close()  # the next request opens another
        else:
            response.read()
        if response.status >= 400 and kind != "refusal":
            raise StackError(f"{path} answered {response.status} to {who}")
        return taken


def figures_of(taken: Sequence[tuple[float, float]]) -> Figures:
    whole, empty = ([1000 * one[side] for one in taken] for side in (0, 1))
    middle, bare = statistics.median(whole), statistics.median(empty)
    return {
        "ms": round(middle, 1),
        "p95_ms": round(statistics.quantiles(whole, n=20)[-1], 1),
        "empty_ms": round(bare, 1),
        "ratio": round(middle / bare, 2),
    }


def judged(row: Figures, lengths: Mapping[str, int]) -> Figures:
    """With what is wrong with it; of the rows read, those of long tables alone."""
    row["read"] = {name: rows for name, rows in row["read"].items() if lengths[name] > LONG}
    whole = row.pop("whole")
    if row["kind"] == "file":  # all of it is what is asked for
        return row | {"faults": []}
    faults = [f"reads {name} whole" for name in whole]
    faults += [
        f"{rows:,} of {lengths[name]:,} rows of {name}"
        for name, rows in row["read"].items()
        if rows > SHARE_READ * lengths[name]
    ]
    if row["queries"] > MOST_QUERIES:
        faults.append(f"{row['queries']} queries")
    if row.get("ratio", 0) > TARGET:
        faults.append(f"{row['ratio']} times the empty page")
    return row | {"faults": faults}


def report(rows: Sequence[Figures]) -> None:
    for row in sorted(rows, key=lambda row: -row.get("ratio", 0)):
        times = f"{row['ms']:>8}{row['p95_ms']:>8}{row['ratio']:>7}" if "ms" in row else ""
        most = max(row["read"].values(), default=0)
        faults = "; ".join(row["faults"])
        print(f"{row['name']:<50}{times}{row['queries']:>4}{most:>9,}  {faults}")


def keep(figures: Figures) -> None:
    load = round(os.getloadavg()[1], 1)
    kept = {"machine": machine() | {"load": load}, "rounds": ROUNDS, "target": TARGET, **figures}
    draw(figures["pages"], folders.RESULTS / "dashboard.svg")
    folders.keep("dashboard", kept)


if __name__ == "__main__":
    sys.exit(main())
