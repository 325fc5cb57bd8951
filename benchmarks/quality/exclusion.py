"""`make bench SIZE=exclusion`: whom the paper's rule and the sequential one exclude, and how soon.

Ten thousand made-up workers of each kind do 300 HITs, and both rules look after each review. A HIT
has as many controls as the paper's, and one that is missed fails it.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import benchmarks.ready  # noqa: F401
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import is_crossed
from benchmarks import folders

PAPER = Policy()
RULES = {"share": PAPER, "sequential": replace(PAPER, exclusion_rule="sequential")}
CONTROLS = PAPER.positive_controls + PAPER.negative_controls  # of a HIT
# The chance to fail a HIT.
KINDS = {
    **{f"fails {rate:.0%}": rate for rate in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)},
    "misses a control in three": 1 - (2 / 3) ** CONTROLS,
    "answers at random": 1 - 0.5**CONTROLS,
    "always answers the same": 1.0,
}
EARLY = 30  # HITs


@dataclass(frozen=True)
class Size:
    workers: int = 10_000
    hits: int = 300


def line(policy: Policy, hits: int) -> NDArray[np.int64]:
    """With how many failed HITs somebody is excluded, after each review."""
    return np.array(
        [
            next((k for k in range(n + 1) if is_crossed(k, n, policy)), hits + 1)
            for n in range(1, hits + 1)
        ]
    )


def out_after(rate: float, least: NDArray[np.int64], size: Size) -> NDArray[np.float64]:
    """Of each worker: HITs, or infinity."""
    random = np.random.default_rng(7)
    failed = (random.random((size.workers, size.hits)) < rate).cumsum(axis=1)
    crossed = failed >= least
    return np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, np.inf)


def figures(after: NDArray[np.float64]) -> dict[str, float | None]:
    middle = float(np.median(after))
    known = np.isfinite(middle)
    return {
        "excluded_early": float(np.mean(after <= EARLY)),
        "excluded": float(np.isfinite(after).mean()),
        "hits_in_the_middle": middle if known else None,
        "controls_in_the_middle": CONTROLS * middle if known else None,
    }


def main(size: Size = Size()) -> int:
    lines = {name: line(policy, size.hits) for name, policy in RULES.items()}
    kept = {
        "workers": size.workers,
        "hits": size.hits,
        "controls_of_a_hit": CONTROLS,
        "kinds": {
            kind: {name: figures(out_after(rate, least, size)) for name, least in lines.items()}
            for kind, rate in KINDS.items()
        },
    }
    folders.keep("labels/exclusion", kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
