"""The whole job on the demo's data, with the commands a user would type: `make demo`.

Killed anywhere, the next run goes on where this one stopped.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from demo.processes import ROOT, StackError
from demo.stack import LocalStack

NAME = "demo"
# What a machine would choose for itself would change who is a candidate.
INDEX = ["--kind", "exact", "--precision", "fp32"]
QUERIES = 40
SEED = 20
BUDGET = 160  # dollars: 240 HITs with a place each for a tie, and replacements
GOLD = ["--gold", "demo/gold.jsonl", "--gold", "annotation/pipeline/controls/positive.jsonl"]
CROWD = ["--workers", 18, "--accuracy", 0.98, "--spammers", 0.12, "--seed", SEED, *GOLD]
# The campaign collects between these turns of the crowd, so that spammers are found in time.
ASSIGNMENTS_A_TURN = 120
MOST_TURNS = 60
# Between two looks for a call that a killed run had claimed: its claim runs out in some minutes.
PAUSE = 5


def main() -> int:
    data = Path(os.environ.get("QUORUM_DATA") or ROOT / "var" / "demo").resolve()
    began = time.monotonic()
    try:
        run_demo(LocalStack(data))
    except StackError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(f"\nThe whole job took {time.monotonic() - began:.0f} s.\n\n{next_commands(data)}")
    return 0


def next_commands(data: Path) -> str:
    """As the README has them."""
    folder = data.relative_to(ROOT) if data.is_relative_to(ROOT) else data
    return (
        f"The release is in {folder}/release. To see the campaign, start the site and open the "
        "link to your account that it prints:\n"
        f"  QUORUM_DATA={folder} make run"
    )


def run_demo(stack: LocalStack) -> None:
    stack.manage("migrate", "--verbosity", 0)
    stack.quorum(
        "corpus", "import", "demo/qa_pairs.jsonl", "--source", "demo", "--license", "CC0-1.0"
    )
    stack.quorum("index", "build", *INDEX)
    stack.quorum("controls", "import")
    if stack.result("campaign", "status", NAME) is None:
        sampled = ("--sample", QUERIES, "--seed", SEED)
        stack.quorum("campaign", "create", NAME, *sampled, "--budget", BUDGET)
    for step in ("retrieve", "estimate", "pack"):
        stack.quorum("campaign", step, NAME)
    with stack.servers():
        stack.quorum("doctor")
        stack.quorum("campaign", "publish", NAME)
        judge(stack)
    check_quality_control(status(stack))
    release = stack.data / "release"
    stack.quorum("release", "build", NAME, "--out", os.path.relpath(release, ROOT))


def judge(stack: LocalStack) -> None:
    """The crowd works and the campaign collects, in turns, until no vote is missing."""
    before: dict[str, Any] = {}
    for _ in range(MOST_TURNS):
        now = status(stack)
        if finished(now):
            return
        if waits_for_calls(before, now):
            time.sleep(PAUSE)
        else:
            stack.quorum("crowd", "simulate", *CROWD, "--assignments", ASSIGNMENTS_A_TURN)
        stack.quorum("campaign", "collect", NAME)
        before = now
    raise StackError(f"after {MOST_TURNS} turns of the crowd votes are still missing")


def status(stack: LocalStack) -> dict[str, Any]:
    found = stack.result("campaign", "status", NAME)
    if found is None:
        raise StackError(f"`quorum campaign status {NAME}` refused")
    return found


def finished(status: dict[str, Any]) -> bool:
    return not (status["open"] or status["messages_waiting"] or status["to_review"])


def waits_for_calls(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether the crowd has nothing to do until a waiting call is made."""
    nothing_came = before.get("submitted") == now["submitted"]
    return bool(now["messages_waiting"]) and (nothing_came or not now["open"])


def check_quality_control(status: dict[str, Any]) -> None:
    """The demo shows every rule at work, or it fails."""
    # Every triplet is decided by valid votes alone, so those discarded were replaced; and the HITs
    # got more assignments than the two that each was published with.
    decided = status["labelled"] + status["unresolved"] == status["triplets"]
    bought_again = decided and status["max_assignments"] > 2 * status["hits"]
    shown = {
        "rejected assignment": status["rejected"] > 0,
        "tie broken": status["ties"] > status["unresolved"],
        "worker excluded": status["excluded_workers"] > 0,
        "vote of an excluded worker bought again": status["votes_discarded"] > 0 and bought_again,
    }
    if missing := [what for what, seen in shown.items() if not seen]:
        raise StackError(f"the campaign ended without a single {' or '.join(missing)}")


if __name__ == "__main__":
    sys.exit(main())
