"""Whole clusters for dev and test, against every way there is to choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from exports.splits.stratify import Group, Room, draw
from tests.annotation.protocol.steady import steady

Cost = tuple[int, Fraction]


def groups_of(kinds: Sequence[tuple[int, int]]) -> list[Group]:
    """Sizes and how many are answerable."""
    return [
        Group(tuple(f"q{number}-{n}" for n in range(size)), min(yes, size))
        for number, (size, yes) in enumerate(kinds)
    ]


def cost(chosen: Mapping[str, Sequence[Group]], rooms: Mapping[str, Room], share: Fraction) -> Cost:
    """By how many queries the sizes are missed, then by how many the shares are."""
    missed, skew = 0, Fraction(0)
    for split, room in rooms.items():
        size = sum(len(group.ids) for group in chosen.get(split, ()))
        answerable = room.answerable + sum(group.answerable for group in chosen.get(split, ()))
        missed += abs(size - room.room)
        skew += abs(answerable - share * (room.size + size))
    return missed, skew


def share_of(groups: Sequence[Group], rooms: Mapping[str, Room]) -> Fraction:
    size = sum(len(group.ids) for group in groups) + sum(room.size for room in rooms.values())
    yes = sum(group.answerable for group in groups)
    return Fraction(yes + sum(room.answerable for room in rooms.values()), size)


def least_cost(groups: Sequence[Group], rooms: Mapping[str, Room]) -> Cost:
    share = share_of(groups, rooms)
    every = product(("dev", "test", None), repeat=len(groups))
    return min(
        cost(
            {
                split: [g for g, to in zip(groups, way, strict=True) if to == split]
                for split in rooms
            },
            rooms,
            share,
        )
        for way in every
    )


rooms_there = st.builds(
    lambda size, yes, room: Room(size, min(size, yes), room),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 6),
)


@steady
@given(
    kinds=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=7),
    dev=rooms_there,
    test=rooms_there,
)
def test_no_choice_comes_nearer_to_sizes_and_shares(
    kinds: list[tuple[int, int]], dev: Room, test: Room
) -> None:
    groups, rooms = groups_of(kinds), {"dev": dev, "test": test}
    chosen = draw(groups, rooms)
    taken = [key for found in chosen.values() for group in found for key in group.ids]
    assert len(taken) == len(set(taken))
    if not dev.room and not test.room:
        assert not taken
        return
    missed, skew = cost(chosen, rooms, share_of(groups, rooms))
    least_missed, least_skew = least_cost(groups, rooms)
    assert missed == least_missed
    assert abs(skew - least_skew) < 1e-6


def test_the_first_groups_that_fit_are_taken() -> None:
    groups = groups_of([(1, 1), (3, 1), (1, 0), (1, 1), (1, 0), (1, 1), (1, 0)])
    chosen = draw(groups, {"dev": Room(0, 0, 2), "test": Room(0, 0, 2)})
    assert chosen == {"dev": [groups[0], groups[2]], "test": [groups[3], groups[4]]}


def test_what_is_there_already_counts_for_the_share() -> None:
    """Four answerable of eight: dev has its two, and gets none."""
    groups = groups_of([(1, 1), (1, 1), (1, 0), (1, 0), (1, 0), (1, 0)])
    assert draw(groups, {"dev": Room(2, 2, 2)}) == {"dev": [groups[2], groups[3]]}


def test_clusters_of_one_size_alone_still_make_both_splits() -> None:
    """By lot, dev would take the pair that test needs, and test end one short."""
    groups = groups_of([(2, 2), (3, 3)])
    chosen = draw(groups, {"dev": Room(0, 0, 3), "test": Room(0, 0, 2)})
    assert chosen == {"dev": [groups[1]], "test": [groups[0]]}


def test_thousands_of_clusters_of_many_kinds_are_chosen_in_seconds() -> None:
    """None of them single, and dev odd: the draw by lot cannot end well."""
    groups = groups_of([(2 + n % 9, n % 7) for n in range(3_000)])
    chosen = draw(groups, {"dev": Room(0, 0, 1_501), "test": Room(0, 0, 2_003)})
    assert [sum(len(g.ids) for g in chosen[split]) for split in chosen] == [1_501, 2_003]
