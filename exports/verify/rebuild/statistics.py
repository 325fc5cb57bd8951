"""stats.json against the figures that the files make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exports.layout.files import STATS
from exports.verify.findings import Findings, quote

Path = tuple[str, ...]


def check_stats(
    stated: Mapping[str, Any], rebuilt: Mapping[str, Any], findings: Findings, *, all_known: bool
) -> list[str]:
    """Names each figure that differs; the paths of those that nobody can compute.

    `all_known`: false where the judgments were left out, and figures with them.
    """
    there, made = dict(leaves(stated)), dict(leaves(rebuilt))
    findings.checked += len(made)
    for path, value in made.items():
        name = ".".join(path)
        if path not in there:
            findings.differ(STATS, f"{STATS}: {name} is missing, the files make {quote(value)}")
        elif not _same(there[path], value):
            findings.differ(
                STATS, f"{STATS}: {name} is {quote(there[path])}, the files make {quote(value)}"
            )
    unknown = [path for path in there if path not in made]
    if not all_known:
        return _summed_up(unknown, made)
    for path in unknown:
        findings.differ(STATS, f"{STATS}: {'.'.join(path)} is no figure of a release")
    return []


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What holds nothing else, by the names, or places in a list, that lead to it."""
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from leaves(each, (*path, str(name)))
    elif isinstance(value, list) and value:
        for place, each in enumerate(value):
            yield from leaves(each, (*path, str(place)))
    else:
        yield path, value


def overlaid(stated: Mapping[str, Any], rebuilt: Mapping[str, Any]) -> dict[str, Any]:
    """`found`, and whatever only `stated` has, in its order."""
    both = {
        name: overlaid(value, rebuilt[name])
        if isinstance(value, Mapping) and isinstance(rebuilt.get(name), Mapping)
        else rebuilt.get(name, value)
        for name, value in stated.items()
    }
    return both | {name: value for name, value in rebuilt.items() if name not in both}


def _same(one: Any, other: Any) -> bool:
    """1, 1.0 and true are three different figures."""
    return type(one) is type(other) and one == other


def _summed_up(unknown: list[Path], made: Mapping[Path, Any]) -> list[str]:
    """The shortest paths under which nothing is known."""
    known = {path[:length] for path in made for length in range(len(path) + 1)}
    shortest = {
        next(path[:length] for length in range(1, len(path) + 1) if path[:length] not in known)
        for path in unknown
    }
    return sorted(".".join(path) for path in shortest)
