from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from annotation.protocol.packing.pack import (
    HitSpec,
    TripletRef,
    draw_negatives,
    hits_needed,
    negatives_needed,
    pack,
    positives_needed,
)
from annotation.protocol.policy.policy import Policy
from tests.annotation.protocol.steady import steady

seeds = st.integers(0, 2**63 - 1)
policies = st.builds(
    lambda real, positive, negative, pool: Policy(
        hit_size=real + positive + negative,
        positive_controls=positive,
        negative_controls=negative,
        control_pool_size=pool,
    ),
    st.integers(1, 7),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 60),
)
candidates_by_query = st.lists(st.integers(1, 9), max_size=12)


def campaign(sizes: list[int]) -> list[TripletRef]:
    return [
        TripletRef(f"t{number}.{rank}", f"query {number}", rank)
        for number, size in enumerate(sizes)
        for rank in range(1, size + 1)
    ]


def controls_for(triplets: int, policy: Policy, spare: int = 0) -> dict[str, list[str]]:
    return {
        "positives": [f"p{n}" for n in range(positives_needed(triplets, policy) + spare)],
        "negatives": [f"n{n}" for n in range(negatives_needed(triplets, policy) + spare)],
    }


def keys(hits: list[HitSpec], kind: str) -> list[str]:
    return [item.key for hit in hits for item in hit.items if item.kind == kind]


def queries(hit: HitSpec) -> list[str]:
    return [item.key.split(".")[0] for item in hit.items if item.kind == "real"]


def most_meetings(sizes: list[int], room: int) -> int:
    """The most (query, HIT) meetings of any arrangement: the smallest cut of its flow network."""
    total = sum(sizes)
    rooms = [min(room, total - start) for start in range(0, total, room)]
    falling = sorted(sizes, reverse=True)
    return min(
        sum(falling[cut:]) + sum(min(each, cut) for each in rooms)
        for cut in range(len(falling) + 1)
    )


@steady
@given(sizes=candidates_by_query, policy=policies, spare=st.integers(0, 9), seed=seeds)
def test_every_triplet_is_in_exactly_one_hit_and_every_hit_is_full(
    sizes: list[int], policy: Policy, spare: int, seed: int
) -> None:
    triplets = campaign(sizes)
    supply = controls_for(len(triplets), policy, spare)
    hits = pack(triplets, **supply, policy=policy, seed=seed)
    assert len(hits) == hits_needed(len(triplets), policy)
    assert sorted(keys(hits, "real")) == sorted(triplet.key for triplet in triplets)
    for hit in hits:
        assert len(set(hit.items)) == len(hit.items) == policy.hit_size
    for hit in hits[:-1]:
        kinds = Counter(item.kind for item in hit.items)
        assert kinds["positive"] == policy.positive_controls
        assert kinds["negative"] == policy.negative_controls


@steady
@given(sizes=candidates_by_query, policy=policies, spare=st.integers(0, 9), seed=seeds)
def test_positives_are_used_evenly_and_negatives_once(
    sizes: list[int], policy: Policy, spare: int, seed: int
) -> None:
    triplets = campaign(sizes)
    supply = controls_for(len(triplets), policy, spare)
    hits = pack(triplets, **supply, policy=policy, seed=seed)
    negatives = keys(hits, "negative")
    assert len(set(negatives)) == len(negatives) == negatives_needed(len(triplets), policy)
    uses = Counter(keys(hits, "positive"))
    counts = [uses[key] for key in supply["positives"]]
    assert max(counts, default=0) - min(counts, default=0) <= 1


@steady
@given(queries_=st.integers(5, 16), candidates=st.integers(1, 12), seed=seeds)
def test_five_queries_of_equal_length_are_enough_for_five_different_ones_in_each_hit(
    queries_: int, candidates: int, seed: int
) -> None:
    triplets = campaign([candidates] * queries_)
    policy = Policy()
    for hit in pack(triplets, **controls_for(len(triplets), policy), policy=policy, seed=seed):
        assert len(set(queries(hit))) == len(queries(hit))


@steady
@given(sizes=candidates_by_query, policy=policies, seed=seeds)
@example(sizes=[12, 2, 9], policy=Policy(hit_size=9), seed=1)
@example(sizes=[1, 3, 1, 9], policy=Policy(hit_size=8), seed=1)
@example(sizes=[10, 3, 4], policy=Policy(hit_size=9), seed=1)
def test_no_arrangement_has_more_different_queries(
    sizes: list[int], policy: Policy, seed: int
) -> None:
    triplets = campaign(sizes)
    hits = pack(triplets, **controls_for(len(triplets), policy), policy=policy, seed=seed)
    meetings = sum(len(set(queries(hit))) for hit in hits)
    assert meetings == most_meetings(sizes, policy.real_items)


@steady
@given(sizes=candidates_by_query, seed=seeds, data=st.data())
def test_the_order_of_the_inputs_does_not_matter(
    sizes: list[int], seed: int, data: st.DataObject
) -> None:
    triplets = campaign(sizes)
    supply: dict[str, Any] = controls_for(len(triplets), Policy(), spare=3)
    plain = pack(triplets, **supply, policy=Policy(), seed=seed)
    mixed = {name: data.draw(st.permutations(given_)) for name, given_ in supply.items()}
    assert plain == pack(data.draw(st.permutations(triplets)), **mixed, policy=Policy(), seed=seed)


@steady
@given(count=st.integers(0, 30), questions=st.integers(7, 40), near=st.integers(1, 4), seed=seeds)
def test_drawn_negatives_are_distinct_and_far_apart(
    count: int, questions: int, near: int, seed: int
) -> None:
    def too_near(query: str, question: str) -> bool:
        return abs(int(query) - int(question)) < near

    names = [str(number) for number in range(questions)]
    possible = sum(not too_near(*pair) for pair in itertools.permutations(names, 2))
    wanted = min(count, possible)
    drawn = draw_negatives(names, count=wanted, seed=seed, too_near=too_near)
    assert len(set(drawn)) == wanted
    assert not any(too_near(*pair) for pair in drawn)
