"""The whole job on the demo's data, with the commands a user would type: `make demo`.

Killed anywhere, the next run goes on where this one stopped.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from demo.stack import ROOT, LocalStack, StackError

NAME = "demo"
QUERIES = 40
SEED = 20
GOLD = ["--gold", "demo/gold.jsonl", "--gold", "annotation/controls/positive.jsonl"]
CROWD = ["--workers", 18, "--accuracy", 0.99, "--spammers", 0.12, "--seed", SEED, *GOLD]
# The campaign collects between these turns of the crowd, so that spammers are found in time.
ASSIGNMENTS_A_TURN = 120
MOST_TURNS = 60


def main() -> int:
    data = Path(os.environ.get("QUORUM_DATA") or ROOT / "var" / "demo").resolve()
    began = time.monotonic()
    try:
        run_demo(LocalStack(data))
    except StackError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(f"\nThe whole job took {time.monotonic() - began:.0f} s.")
    return 0


def run_demo(stack: LocalStack) -> None:
    stack.manage("migrate", "--verbosity", 0)
    stack.manage("ingest", "demo/qa_pairs.jsonl", "--source", "demo", "--license", "CC0-1.0")
    stack.manage("index")
    stack.manage("controls", "import")
    if stack.result("campaign", "status", NAME) is None:
        stack.manage("campaign", "create", NAME, "--sample", QUERIES, "--seed", SEED)
    for step in ("retrieve", "quote", "pack"):
        stack.manage("campaign", step, NAME)
    with stack.servers():
        stack.manage("doctor")
        stack.manage("campaign", "publish", NAME)
        judge(stack)
    check_quality_control(status(stack))
    release = stack.data / "release"
    stack.manage("export", NAME, "--out", os.path.relpath(release, ROOT))


def judge(stack: LocalStack) -> None:
    """The crowd works and the campaign collects, in turns, until no vote is missing."""
    for _ in range(MOST_TURNS):
        if finished(status(stack)):
            return
        stack.manage("crowd", "run", *CROWD, "--assignments", ASSIGNMENTS_A_TURN)
        stack.manage("campaign", "collect", NAME)
    raise StackError(f"after {MOST_TURNS} turns of the crowd votes are still missing")


def status(stack: LocalStack) -> dict[str, Any]:
    found = stack.result("campaign", "status", NAME)
    if found is None:
        raise StackError(f"`manage.py campaign status {NAME}` refused")
    return found


def finished(status: dict[str, Any]) -> bool:
    return not (status["open"] or status["calls_waiting"] or status["to_review"])


def check_quality_control(status: dict[str, Any]) -> None:
    """The demo shows every rule at work, or it fails."""
    shown = {
        "rejected assignment": status["rejected"],
        "tie broken": status["ties"],
        "worker excluded": status["excluded_workers"],
        "vote of an excluded worker bought again": status["votes_discarded"],
    }
    if missing := [what for what, times in shown.items() if not times]:
        raise StackError(f"the campaign ended without a single {' or '.join(missing)}")


if __name__ == "__main__":
    sys.exit(main())
