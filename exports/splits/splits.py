"""Which queries go to train, dev and test: by clusters of near queries, or at random.

By clusters, no two queries of one cluster are in two splits, and dev and test take whole clusters
of complete queries, with the same share of answerable ones (at most half a query away, wherever
the clusters allow). At random is the paper's way (QUADRo, table 2), which knows no clusters.

An earlier release binds this one, and binds more than the sizes do:
- A query goes to no other split than the last one that it was published in. It leaves dev or test
  once it is incomplete, and any split once it has no label; it may come back to that split alone.
- Where new evidence makes queries of two splits near each other, those of test stay, then those
  of dev: the others leave.
- A new query that is near published ones follows them (to dev and test only if it is complete and
  there is room); near published ones of two splits, it is withheld.
- All other new queries fill the splits up to the sizes wanted, as far as they go.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from annotation.protocol.estimates.split_sizes import HELD_OUT, apportion
from exports.splits.stratify import Group, Room, draw

SPLITS = ("train", "dev", "test")
STRONGEST_FIRST = ("test", "dev", "train")
WAYS = ("clusters", "random")

NO_LABEL = "no candidate has a label"
NO_LONGER_COMPLETE = "no longer complete"
BEYOND = "beyond the sizes wanted"


class SplitError(Exception):
    """The queries there are cannot fill the splits that are wanted."""


@dataclass(frozen=True)
class SplitQuery:
    id: str
    complete: bool  # all its candidates have a label
    answerable: bool  # at least one of them is a positive
    cluster: str
    labelled: bool = True  # at least one candidate has a label


@dataclass(frozen=True)
class Placement:
    split: str | None
    reason: str | None = None  # why it is in none


def split_queries(
    queries: Sequence[SplitQuery],
    *,
    train: int | float,
    dev: int | float,
    test: int | float,
    seed: int,
    way: str,
    before: Mapping[str, str | None],
) -> dict[str, Placement]:
    """Every query's split, or why it is in none.

    The sizes are three shares of the labelled queries (floats) or three counts (ints); with
    counts, queries beyond their sum are in no split. `before`: the last split that a query was
    ever published in; None, or no entry, where it never was. A place depends on the seed and on
    the other queries, never on the order in which they are given.

    SplitError where a first release cannot have the sizes: too few queries, or too few that dev
    and test can take; with counts, also where no whole clusters make them; with shares, where
    they would leave dev or test empty. A later release is never refused for its sizes.
    """
    drawn = _drawn(queries, seed, way)
    labelled = [query for query in drawn if query.labelled]
    wanted = _sizes(len(labelled), {"train": train, "dev": dev, "test": test})
    published = _published(drawn, before)
    groups = _groups((query for query in labelled if query.cluster not in published), seed)

    placements = _kept(drawn, before)
    if not published:
        _check(wanted, labelled, eligible=sum(len(group.ids) for group in groups))
    placements |= _followers(labelled, placements, published, wanted)
    if way == "random":
        placements |= _first(groups, _room(placements, wanted))
    else:
        placements |= _stratified(groups, labelled, placements, _room(placements, wanted))
    whole = isinstance(train, int)
    if not published:
        _check_clusters(wanted, placements, labelled, exact=whole)
    return placements | _rest(labelled, placements, wanted["train"] if whole or not train else None)


def _drawn(queries: Sequence[SplitQuery], seed: int, way: str) -> list[SplitQuery]:
    """By lot; at random, each is a cluster of its own."""
    if len({query.id for query in queries}) < len(queries):
        raise SplitError("two queries have the same id")
    if way not in WAYS:
        raise SplitError(f"queries are split by {' or '.join(WAYS)}, not by {way!r}")
    if way == "random":
        queries = [replace(query, cluster=query.id) for query in queries]
    return sorted(queries, key=lambda query: _lot(seed, query.id))


def _lot(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"split:{seed}:{key}".encode()).digest()


def _sizes(queries: int, wanted: Mapping[str, int | float]) -> dict[str, int]:
    counts = {name: size for name, size in wanted.items() if isinstance(size, int)}
    if len(counts) == len(wanted):
        return counts
    if counts:
        raise SplitError("train, dev and test must be all shares or all whole counts")
    shares = {name: Fraction(str(size)) for name, size in wanted.items()}
    if not any(shares.values()):
        raise SplitError("the shares of train, dev and test sum to 0")
    return apportion(queries, shares)


def _check(wanted: Mapping[str, int], labelled: Sequence[SplitQuery], *, eligible: int) -> None:
    total, held = sum(wanted.values()), wanted["dev"] + wanted["test"]
    if total > len(labelled):
        raise SplitError(f"the splits want {total} queries, but only {len(labelled)} have labels")
    complete = sum(query.complete for query in labelled)
    if held <= eligible:
        return
    fact = f"{complete} of {len(labelled)} are complete"
    if held <= complete:
        fact = f"{eligible} of {len(labelled)} are complete and near no incomplete one"
    raise SplitError(
        f"dev and test want {held} queries ({wanted['dev']} + {wanted['test']}) all of whose "
        f"candidates have a label, but only {fact}"
    )


def _check_clusters(
    wanted: Mapping[str, int],
    placements: Mapping[str, Placement],
    labelled: Sequence[SplitQuery],
    *,
    exact: bool,
) -> None:
    sizes = _taken(placements)
    missed = [split for split in HELD_OUT if sizes[split] != wanted[split]]
    if any(exact or not sizes[split] for split in missed):
        largest = max(Counter(query.cluster for query in labelled).values())
        raise SplitError(
            f"dev and test want {wanted['dev']} + {wanted['test']} queries, but whole clusters of "
            f"near queries make {sizes['dev']} + {sizes['test']} at the nearest (the largest "
            f"holds {largest} of {len(labelled)} queries)"
        )


def _published(
    queries: Iterable[SplitQuery], before: Mapping[str, str | None]
) -> dict[str, set[str]]:
    """Cluster -> the splits that queries of it were published in; only clusters with some."""
    splits: defaultdict[str, set[str]] = defaultdict(set)
    for query in queries:
        if split := before.get(query.id):
            splits[query.cluster].add(split)
    return dict(splits)


def _kept(queries: Sequence[SplitQuery], before: Mapping[str, str | None]) -> dict[str, Placement]:
    """What follows from the query's own past and labels."""
    placements = {query.id: Placement(None, NO_LABEL) for query in queries if not query.labelled}
    staying: defaultdict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for query in queries:
        split = before.get(query.id)
        if split is None or not query.labelled:
            continue
        if split in HELD_OUT and not query.complete:
            placements[query.id] = Placement(None, NO_LONGER_COMPLETE)
        else:
            staying[query.cluster][split].append(query.id)
    for members in staying.values():
        stays, *leave = sorted(members, key=STRONGEST_FIRST.index)
        placements |= {key: Placement(stays) for key in members[stays]}
        reason = f"near a query of {stays}"
        placements |= {key: Placement(None, reason) for split in leave for key in members[split]}
    return placements


def _followers(
    labelled: Sequence[SplitQuery],
    placements: Mapping[str, Placement],
    published: Mapping[str, set[str]],
    wanted: Mapping[str, int],
) -> dict[str, Placement]:
    """The new queries near published ones, save those that follow to train."""
    room = _room(placements, wanted)
    placed: dict[str, Placement] = {}
    for query in labelled:
        splits = sorted(published.get(query.cluster, ()), key=SPLITS.index)
        if query.id in placements or splits in ([], ["train"]):
            continue
        split = splits[0]
        if len(splits) > 1:
            placed[query.id] = Placement(None, f"near queries of {' and '.join(splits)}")
        elif not query.complete:
            placed[query.id] = Placement(None, f"near a query of {split}, but not complete")
        elif not room[split]:
            placed[query.id] = Placement(None, BEYOND)
        else:
            room[split] -= 1
            placed[query.id] = Placement(split)
    return placed


def _taken(placements: Mapping[str, Placement]) -> Counter[str | None]:
    return Counter(placement.split for placement in placements.values())


def _room(placements: Mapping[str, Placement], wanted: Mapping[str, int]) -> dict[str, int]:
    taken = _taken(placements)
    return {split: max(0, wanted[split] - taken[split]) for split in HELD_OUT}


def _groups(free: Iterable[SplitQuery], seed: int) -> list[Group]:
    """The clusters that dev and test can take, by lot: all their labelled queries are complete."""
    clusters: defaultdict[str, list[SplitQuery]] = defaultdict(list)
    for query in free:
        clusters[query.cluster].append(query)
    return [
        Group(tuple(query.id for query in members), sum(query.answerable for query in members))
        for cluster, members in sorted(clusters.items(), key=lambda item: _lot(seed, item[0]))
        if all(query.complete for query in members)
    ]


def _first(groups: Sequence[Group], room: Mapping[str, int]) -> dict[str, Placement]:
    """Of single queries."""
    ids = [group.ids[0] for group in groups[: sum(room.values())]]
    return {
        key: Placement("dev" if number < room["dev"] else "test") for number, key in enumerate(ids)
    }


def _stratified(
    groups: Sequence[Group],
    labelled: Sequence[SplitQuery],
    placements: Mapping[str, Placement],
    room: Mapping[str, int],
) -> dict[str, Placement]:
    """Whole clusters."""
    rooms = {}
    for split in HELD_OUT:
        there = [query for query in labelled if placements.get(query.id) == Placement(split)]
        answerable = sum(query.answerable for query in there)
        rooms[split] = Room(len(there), answerable, room[split])
    chosen = draw(groups, rooms)
    return {
        key: Placement(split)
        for split, taken in chosen.items()
        for group in taken
        for key in group.ids
    }


def _rest(
    labelled: Sequence[SplitQuery], placements: Mapping[str, Placement], limit: int | None
) -> dict[str, Placement]:
    """To train, as long as there is room."""
    rest = [query.id for query in labelled if query.id not in placements]
    room = len(rest) if limit is None else max(0, limit - _taken(placements)["train"])
    return {
        key: Placement("train") if number < room else Placement(None, BEYOND)
        for number, key in enumerate(rest)
    }
