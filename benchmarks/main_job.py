"""`make bench`: the main job on real data, with the seconds and peak memory of each step.

Ingests the 177,281 real pairs of ../shared/data, holds out 500 queries and runs the campaign to a
release with simulated workers. Nobody has judged these pairs, so the workers' gold is a stand-in:
two questions count as equivalent when they use the same words of four letters or more. It makes
the crowd work; it says nothing about the labels.

Results are kept in benchmarks/results/, with the machine named.
"""

import argparse
import gzip
import json
import os
import platform
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import folders
from demo.processes import StackError
from demo.stack import LocalStack, Ran

NAME = "bench"
SEED = 1
MOST_TURNS = 60


@dataclass(frozen=True)
class Step:
    name: str
    rows: int
    unit: str
    seconds: float
    peak_mb: float


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--form", default="QQ", choices=["QQA", "QQ"])
    parser.add_argument("--pairs", type=int, help="only the first so many")
    parser.add_argument("--queries", type=int, default=500)
    options = parser.parse_args(words)
    if paths := folders.missing([folders.PAIRS]):
        print(f"{paths[0]} is not here: this benchmark needs the real pairs.", file=sys.stderr)
        return 2
    try:
        stack = LocalStack(folders.fresh("main_job"))
        steps = run(stack, options.form, options.pairs, options.queries)
    except StackError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    report(steps, options.form)
    return 0


def run(stack: LocalStack, form: str, limit: int | None, queries: int) -> list[Step]:
    pairs, gold = stack.data / "pairs.jsonl", stack.data / "gold.jsonl"
    rows = write_inputs(pairs, gold, limit)
    steps: list[Step] = []

    def step(name: str, rows: int, unit: str, *command: object) -> None:
        ran = stack.quorum(*command)
        steps.append(Step(name, rows, unit, ran.seconds, ran.peak_mb))

    stack.manage("migrate", "--verbosity", 0)
    stack.quorum("controls", "import")
    step("ingest", rows, "pairs", "corpus", "import", pairs, "--source", "real")
    step("index", rows, "pairs", "index", "build", "--form", form)
    campaign = ["campaign", "create", NAME, "--sample", queries, "--seed", SEED]
    campaign += ["--budget", queries * 10]  # dollars: more than it can need
    step("create", queries, "queries", *campaign)
    step("retrieve", queries, "queries", "campaign", "retrieve", NAME)
    step("pack", queries * 30, "triplets", "campaign", "pack", NAME)
    with stack.servers():
        step("publish", queries * 6, "HITs", "campaign", "publish", NAME)
        steps += judge(stack, gold)
    release = ("release", "build", NAME, "--out", stack.data / "release")
    step("release", queries * 30, "triplets", *release)
    return steps


def write_inputs(pairs: Path, gold: Path, limit: int | None) -> int:
    written = 0
    with (
        gzip.open(folders.DATA / folders.PAIRS, "rt") as source,
        pairs.open("w") as out,
        gold.open("w") as meanings,
    ):
        for line in source:
            if written == limit:
                break
            question = json.loads(line)["question"]
            out.write(line)
            meanings.write(json.dumps({"question": question, "meaning": meaning(question)}) + "\n")
            written += 1
    return written


def meaning(question: str) -> str:
    return " ".join(sorted(set(re.findall(r"\w{4,}", question.casefold())))) or question


def judge(stack: LocalStack, gold: Path) -> list[Step]:
    """Turns of the crowd and of the campaign; the times of each side added up."""
    crowd: list[Ran] = []
    collect: list[Ran] = []
    options = ["--workers", 60, "--accuracy", 0.99, "--spammers", 0.1, "--seed", SEED]
    options += ["--gold", gold, "--gold", "annotation/pipeline/controls/positive.jsonl"]
    for _ in range(MOST_TURNS):
        crowd.append(stack.quorum("crowd", "simulate", *options, "--assignments", 1500))
        collect.append(stack.quorum("campaign", "collect", NAME))
        status = stack.result("campaign", "status", NAME)
        if status and not status["open"]:
            done = status["submitted"]
            return [total("crowd run", done, crowd), total("collect", done, collect)]
    raise StackError(f"after {MOST_TURNS} turns of the crowd votes are still missing")


def total(name: str, rows: int, runs: list[Ran]) -> Step:
    seconds, peak = sum(ran.seconds for ran in runs), max(ran.peak_mb for ran in runs)
    return Step(name, rows, "assignments", seconds, peak)


def report(steps: list[Step], form: str) -> None:
    lines = [f"{'step':<10}{'rows':>10} {'unit':<12}{'seconds':>9}{'rows/s':>10}{'peak MB':>9}"]
    for step in steps:
        rate = step.rows / step.seconds
        lines.append(
            f"{step.name:<10}{step.rows:>10,} {step.unit:<12}{step.seconds:>9.1f}"
            f"{rate:>10,.0f}{step.peak_mb:>9,.0f}"
        )
    print("\n" + "\n".join(lines))
    kept = {"machine": machine(), "form": form, "steps": [asdict(step) for step in steps]}
    folders.keep(f"main_job_{form.lower()}", kept)


def machine() -> dict[str, object]:
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": cpu[1] if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    sys.exit(main())
