from __future__ import annotations

from collections import Counter

import pytest

from annotation.protocol.packing.own_controls import (
    MOST_USES,
    Exposure,
    OwnControl,
    exposures_of,
    own_needed,
    pack_own,
    uses_of_one,
)
from annotation.protocol.packing.pack import HitSpec, PackingError, TripletRef, pack
from annotation.protocol.policy.policy import Policy

PAPER = Policy()


def triplets(queries: int, candidates: int = 30) -> list[TripletRef]:
    return [
        TripletRef(f"q{query}/{rank}", f"q{query}", rank)
        for query in range(queries)
        for rank in range(1, candidates + 1)
    ]


def controls(prefix: str, queries: int, each: int) -> list[OwnControl]:
    return [
        OwnControl(f"q{query}/{prefix}{number}", f"q{query}")
        for query in range(queries)
        for number in range(each)
    ]


def packed(queries: int, each: int, *, candidates: int = 30, seed: int = 7) -> list[HitSpec]:
    own = {name: controls(name[0], queries, each) for name in ("positives", "negatives")}
    return pack_own(triplets(queries, candidates), **own, policy=PAPER, seed=seed)


def queries_of(hit: HitSpec) -> list[str]:
    return [item.key.split("/")[0] for item in hit.items]


def uses(hits: list[HitSpec]) -> Counter[str]:
    return Counter(item.key for hit in hits for item in hit.items if item.kind != "real")


def test_every_hit_has_five_triplets_and_a_control_of_each_kind() -> None:
    hits = packed(10, 6)
    assert len(hits) == 60
    for hit in hits:
        assert sorted(item.kind for item in hit.items) == ["negative", "positive"] + ["real"] * 5
    real = [item.key for hit in hits for item in hit.items if item.kind == "real"]
    assert sorted(real) == sorted(triplet.key for triplet in triplets(10))


def test_a_query_of_controls_comes_back_as_often_as_any_other() -> None:
    """Each of the 10 queries is asked 30 times for real, 6 times as a Yes and 6 times as a No."""
    counts = Counter(query for hit in packed(10, 6) for query in queries_of(hit))
    assert set(counts.values()) == {42}


def test_a_control_is_shown_once_where_there_are_enough() -> None:
    assert set(uses(packed(10, 6)).values()) == {1}


def test_controls_take_turns_so_that_none_is_shown_more_than_the_bound() -> None:
    """10 controls of each kind for 50 HITs."""
    assert own_needed(250, PAPER) == (10, 10)
    assert set(uses(packed(10, 1, candidates=25)).values()) == {5} == {MOST_USES}


@pytest.mark.parametrize("number", [12, 20, 29, 30, 59, 60, 90])
def test_none_is_shown_more_than_once_more_than_another(number: int) -> None:
    """60 HITs; of each kind the most uses are as few as the number allows."""
    own = {kind: controls(kind[0], number, 1) for kind in ("positives", "negatives")}
    hits = pack_own(triplets(10), **own, policy=PAPER, seed=7)
    for kind in ("p", "n"):
        shown = Counter({f"q{query}/{kind}0": 0 for query in range(number)})
        shown.update({key: n for key, n in uses(hits).items() if f"/{kind}" in key})
        assert max(shown.values()) - min(shown.values()) <= 1
    assert max(uses(hits).values()) == uses_of_one(300, PAPER, number, number) == -(-60 // number)


@pytest.mark.parametrize(
    ("positives", "negatives", "times"), [(60, 60, 1), (59, 60, 2), (30, 29, 3), (12, 12, 5)]
)
def test_the_kind_that_there_are_fewer_of_decides(
    positives: int, negatives: int, times: int
) -> None:
    assert uses_of_one(300, PAPER, positives, negatives) == times
    assert own_needed(300, PAPER, uses=2) == (30, 30)


def test_a_control_comes_back_only_after_all_others() -> None:
    shown = [item.key for hit in packed(10, 2) for item in hit.items if item.kind == "positive"]
    assert len(set(shown[:20])) == len(set(shown[20:40])) == len(set(shown[40:])) == 20


def test_a_query_meets_itself_in_hardly_any_hit() -> None:
    """At the end of a round, the last controls that are left must serve."""
    met = [len(set(queries_of(hit))) < 7 for hit in packed(20, 6)]
    assert sum(met) <= 2


def test_the_triplets_are_put_together_as_with_the_pool() -> None:
    pool = pack(
        triplets(10),
        positives=[f"p{n}" for n in range(60)],
        negatives=[f"n{n}" for n in range(60)],
        policy=PAPER,
        seed=7,
    )
    real = [
        [{item.key for item in hit.items if item.kind == "real"} for hit in hits]
        for hits in (pool, packed(10, 6))
    ]
    assert real[0] == real[1]


def test_neither_the_order_of_the_inputs_nor_chance_matters() -> None:
    positives, negatives = controls("p", 10, 3), controls("n", 10, 3)
    found = [
        pack_own(refs, positives=pos, negatives=neg, policy=PAPER, seed=3)
        for refs, pos, neg in (
            (triplets(10), positives, negatives),
            (triplets(10)[::-1], positives[::-1], negatives[::-1]),
        )
    ]
    assert found[0] == found[1]
    assert packed(10, 3, seed=3) != packed(10, 3, seed=4)


def test_a_short_last_hit_shows_no_control_twice() -> None:
    """One triplet and six controls: three of each kind, of the three that there are."""
    own = {name: controls(name[0], 3, 1) for name in ("positives", "negatives")}
    (hit,) = pack_own(triplets(1, 1), **own, policy=PAPER, seed=1)
    assert own_needed(1, PAPER) == (3, 3)
    assert len({item.key for item in hit.items}) == 7


def test_too_few_controls_are_refused() -> None:
    with pytest.raises(PackingError, match=r"10 positive and 10 negative .* at least 12 and 12"):
        packed(10, 1)


@pytest.mark.parametrize(
    ("exposure", "worn"),
    [
        (Exposure(), False),
        (Exposure(workers=49, most=1), False),
        (Exposure(workers=50, most=1), True),  # known
        (Exposure(workers=1, most=2), True),  # met twice by one worker
        (Exposure(workers=1, most=1, revealed=1), True),  # one worker knows its answer
    ],
)
def test_a_control_is_worn_that_is_known_or_met_twice(exposure: Exposure, worn: bool) -> None:
    assert exposure.is_worn == worn


def test_exposures_are_counted_by_control() -> None:
    """Two workers have met the first control, one of them three times."""
    meetings = [(1, 3, False), (1, 1, True), (2, 1, False)]
    assert exposures_of(meetings) == {1: Exposure(2, 3, revealed=1), 2: Exposure(1, 1)}
