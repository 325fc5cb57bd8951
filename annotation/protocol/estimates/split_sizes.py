"""How many queries train, dev and test get."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from annotation.protocol.policy.policy import Policy
from core.text.words import plural

HELD_OUT = ("dev", "test")
LEAST_QUERIES = 10  # of a split whose metrics get an interval: of fewer, it would say nothing


def apportion(total: int, shares: Mapping[str, Fraction]) -> dict[str, int]:
    """Whole sizes that sum to `total`, by largest remainder; of equal ones the first named."""
    whole = sum(shares.values())
    exact = {name: share * total / whole for name, share in shares.items()}
    sizes = {name: int(size) for name, size in exact.items()}
    by_remainder = sorted(exact, key=lambda name: sizes[name] - exact[name])
    for name in by_remainder[: total - sum(sizes.values())]:
        sizes[name] += 1
    return sizes


def small_splits(queries: int, policy: Policy) -> str | None:
    """A warning where dev or test is going to be empty, or nearly, all queries labelled.

    Or where no release can be made, as the sizes are counts of more queries than there are.
    """
    sizes: Mapping[str, int | float] = {
        "train": policy.train,
        "dev": policy.dev,
        "test": policy.test,
    }
    if isinstance(policy.train, float):
        sizes = apportion(queries, {name: Fraction(str(size)) for name, size in sizes.items()})
    elif (total := int(sum(sizes.values()))) > queries:
        return (
            f"train, dev and test want {total:,} queries ({' + '.join(map(str, sizes.values()))}), "
            f"but the campaign has {queries:,}, so no release can be made: choose more queries, or "
            "smaller splits in the policy."
        )
    empty = [name for name in HELD_OUT if not sizes[name]]
    if empty:
        lack = f"{' and '.join(empty)} will be empty, and no metric can be computed there"
    elif small := [f"{name} ({sizes[name]})" for name in HELD_OUT if sizes[name] < LEAST_QUERIES]:
        lack = f"{' and '.join(small)} will have too few for an interval of any metric"
    else:
        return None
    return (
        f"With {plural(queries, 'query', 'queries')}, {lack}: choose more queries, or larger "
        "splits in the policy."
    )


def too_small_to_measure(queries: Mapping[str, int]) -> str | None:
    """`queries` of each split; of those held out, which are too few, in a sentence."""
    small = [
        f"{name} has {plural(queries[name], 'query', 'queries')}"
        for name in HELD_OUT
        if 0 < queries.get(name, 0) < LEAST_QUERIES
    ]
    if not small:
        return None
    return (
        f"Too few queries for an interval: {', '.join(small)}. At least {LEAST_QUERIES} give one."
    )
