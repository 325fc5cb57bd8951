"""Which queries go to train, dev and test: at random, the paper's way (QUADRo, table 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

SPLITS = ("train", "dev", "test")


class SplitError(Exception):
    """The queries there are cannot fill the splits that are wanted."""


@dataclass(frozen=True)
class QueryRef:
    key: str
    complete: bool  # all its candidates have a label


def split(
    queries: Sequence[QueryRef],
    *,
    train: int | float,
    dev: int | float,
    test: int | float,
    seed: int,
) -> dict[str, list[str]]:
    """Split name -> its queries' keys, sorted; only complete queries are in dev and test.

    The sizes are three shares of the queries (floats) or three counts (ints); with counts, queries
    beyond their sum are in no split. A query's place depends on the seed and on the other
    queries, never on the order in which they are given. Raises SplitError.
    """
    wanted = _sizes(len(queries), {"train": train, "dev": dev, "test": test})
    drawn = _shuffled(queries, seed)
    complete = [query.key for query in drawn if query.complete]
    held = wanted["dev"] + wanted["test"]
    _check(wanted, queries=len(drawn), complete=len(complete))
    held_out = set(complete[:held])
    rest = [query.key for query in drawn if query.key not in held_out]
    return {
        "train": sorted(rest[: wanted["train"]]),
        "dev": sorted(complete[: wanted["dev"]]),
        "test": sorted(complete[wanted["dev"] : held]),
    }


def _sizes(queries: int, wanted: Mapping[str, int | float]) -> dict[str, int]:
    counts = {name: size for name, size in wanted.items() if isinstance(size, int)}
    if len(counts) == len(wanted):
        return counts
    if counts:
        raise SplitError("train, dev and test must be all shares or all whole counts")
    return _apportion(queries, {name: Fraction(str(size)) for name, size in wanted.items()})


def _apportion(total: int, shares: Mapping[str, Fraction]) -> dict[str, int]:
    """Whole sizes that sum to `total`, by largest remainder; of equal ones the first named."""
    whole = sum(shares.values())
    if not whole:
        raise SplitError("the shares of train, dev and test sum to 0")
    exact = {name: share * total / whole for name, share in shares.items()}
    sizes = {name: int(size) for name, size in exact.items()}
    by_remainder = sorted(exact, key=lambda name: sizes[name] - exact[name])
    for name in by_remainder[: total - sum(sizes.values())]:
        sizes[name] += 1
    return sizes


def _shuffled(queries: Sequence[QueryRef], seed: int) -> list[QueryRef]:
    """By a hash of seed and key: random, and the same whatever order the queries come in."""
    if len({query.key for query in queries}) < len(queries):
        raise SplitError("two queries have the same key")
    return sorted(
        queries, key=lambda query: hashlib.sha256(f"split:{seed}:{query.key}".encode()).digest()
    )


def _check(wanted: Mapping[str, int], *, queries: int, complete: int) -> None:
    total = sum(wanted.values())
    if total > queries:
        raise SplitError(f"the splits want {total} queries, but only {queries} have labels")
    held = wanted["dev"] + wanted["test"]
    if held > complete:
        raise SplitError(
            f"dev and test want {held} queries ({wanted['dev']} + {wanted['test']}) all of whose "
            f"candidates have a label, but only {complete} of {queries} are complete"
        )
