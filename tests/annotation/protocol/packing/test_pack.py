from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from annotation.protocol.packing.pack import (
    HitSpec,
    PackingError,
    TripletRef,
    hits_needed,
    negatives_needed,
    pack,
    positives_needed,
    presentation,
)
from annotation.protocol.policy.policy import Policy

PAPER = Policy()


def campaign(queries: int, candidates: int) -> list[TripletRef]:
    return [
        TripletRef(key=f"q{query}/{rank}", query=f"q{query}", rank=rank)
        for query in range(queries)
        for rank in range(1, candidates + 1)
    ]


def keys(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def packed(
    triplets: Sequence[TripletRef], *, pool: int = 60, policy: Policy = PAPER, seed: int = 7
) -> list[HitSpec]:
    negatives = keys("neg", negatives_needed(len(triplets), policy))
    positives = keys("pos", pool)
    return pack(triplets, positives=positives, negatives=negatives, policy=policy, seed=seed)


def of_kind(hit: HitSpec, kind: str) -> list[str]:
    return [item.key for item in hit.items if item.kind == kind]


def query_and_rank(key: str) -> tuple[str, int]:
    query, rank = key.split("/")
    return query, int(rank)


@pytest.mark.parametrize(
    ("triplets", "hits", "negatives", "positives"),
    [
        (0, 0, 0, 0),
        (1, 1, 3, 3),  # one real item, and 3 + 3 controls to fill up seven
        (5, 1, 1, 1),
        (6, 2, 4, 3),
        (7, 2, 4, 2),
        (8, 2, 3, 2),
        (9, 2, 3, 2),
        (10, 2, 2, 2),
        (295, 59, 59, 59),
        (300, 60, 60, 60),
        (305, 61, 61, 60),
        (456_330, 91_266, 91_266, 60),
    ],
)
def test_the_papers_policy_needs_so_many_hits_and_controls(
    triplets: int, hits: int, negatives: int, positives: int
) -> None:
    assert hits_needed(triplets, PAPER) == hits
    assert negatives_needed(triplets, PAPER) == negatives
    assert positives_needed(triplets, PAPER) == positives


def test_other_policies_need_other_numbers() -> None:
    policy = Policy(hit_size=10, positive_controls=2, negative_controls=3, control_pool_size=4)
    assert hits_needed(11, policy) == 3
    assert negatives_needed(11, policy) == 11  # three HITs of 3, and 2 of the 4 empty places
    assert positives_needed(11, policy) == 4
    assert positives_needed(100, policy) == 4


def test_five_triplets_of_five_queries_make_one_hit_of_seven() -> None:
    (hit,) = packed(campaign(5, 1))
    assert sorted(of_kind(hit, "real")) == ["q0/1", "q1/1", "q2/1", "q3/1", "q4/1"]
    assert len(of_kind(hit, "positive")) == len(of_kind(hit, "negative")) == 1
    assert len(hit.items) == 7


def test_no_triplets_make_no_hits() -> None:
    assert pack([], positives=[], negatives=[], policy=PAPER, seed=1) == []


@pytest.mark.parametrize(
    ("triplets", "real", "positives", "negatives"),
    [(10, 5, 1, 1), (9, 4, 1, 2), (8, 3, 2, 2), (7, 2, 2, 3), (6, 1, 3, 3)],
)
def test_a_short_last_hit_is_filled_with_controls_of_both_kinds(
    triplets: int, real: int, positives: int, negatives: int
) -> None:
    first, last = packed(campaign(triplets, 1))
    assert [len(of_kind(first, kind)) for kind in ("real", "positive", "negative")] == [5, 1, 1]
    assert len(of_kind(last, "real")) == real
    assert len(set(of_kind(last, "positive"))) == positives
    assert len(set(of_kind(last, "negative"))) == negatives


def test_a_query_never_meets_itself_in_a_hit() -> None:
    for hit in packed(campaign(20, 30)):
        assert len({query_and_rank(key)[0] for key in of_kind(hit, "real")}) == 5


def test_one_long_query_is_started_early_enough_to_meet_nobody_twice() -> None:
    triplets = campaign(1, 6) + [TripletRef(f"s{n}/1", f"s{n}", 1) for n in range(24)]
    for hit in packed(triplets):
        assert len({query_and_rank(key)[0] for key in of_kind(hit, "real")}) == 5


def test_a_query_that_must_meet_itself_is_shared_out_over_all_hits() -> None:
    triplets = campaign(1, 9) + [TripletRef(f"s{n}/1", f"s{n}", 1) for n in range(6)]
    for hit in packed(triplets):
        assert sum(key.startswith("q0/") for key in of_kind(hit, "real")) == 3


def test_the_same_five_queries_do_not_meet_again_and_again() -> None:
    company = {
        frozenset(query_and_rank(key)[0] for key in of_kind(hit, "real"))
        for hit in packed(campaign(20, 30))
    }
    assert len(company) > 100  # of 120 HITs


def test_ranks_are_mixed_within_a_hit_and_over_the_campaign() -> None:
    ranks = [
        [query_and_rank(key)[1] for key in of_kind(hit, "real")] for hit in packed(campaign(20, 30))
    ]
    assert all(len(set(own)) > 1 for own in ranks)
    opening = [rank for own in ranks[:40] for rank in own]
    assert 13 < sum(opening) / len(opening) < 18  # 15.5 over all


def test_the_order_of_a_hit_follows_from_its_own_seed() -> None:
    hits = packed(campaign(20, 30))
    for hit in hits:
        assert presentation(reversed(hit.items), seed=hit.seed) == hit.items
    assert len({hit.seed for hit in hits}) == len(hits)


def test_every_position_may_hold_a_control() -> None:
    hits = packed(campaign(20, 30))
    for kind in ("positive", "negative"):
        places = Counter([item.kind for item in hit.items].index(kind) for hit in hits)
        assert set(places) == set(range(7))


def test_positives_take_turns() -> None:
    uses = Counter(
        key for hit in packed(campaign(61, 5), pool=60) for key in of_kind(hit, "positive")
    )
    assert sorted(uses.values()) == [1] * 59 + [2]


def test_positives_take_turns_also_where_the_last_hit_needs_three() -> None:
    hits = packed(campaign(41, 1), pool=60)  # 8 HITs of 1 and one of 3
    assert (
        Counter(key for hit in hits for key in of_kind(hit, "positive")).most_common(1)[0][1] == 1
    )


def test_positives_are_not_used_in_the_order_of_the_pool() -> None:
    used = [key for hit in packed(campaign(300, 1)) for key in of_kind(hit, "positive")]
    assert sorted(used) == sorted(keys("pos", 60))
    assert used not in (keys("pos", 60), sorted(used))


def test_negatives_serve_once() -> None:
    used = [key for hit in packed(campaign(44, 7)) for key in of_kind(hit, "negative")]
    assert sorted(used) == sorted(keys("neg", 63))  # 62 HITs, the last with two


def test_the_order_in_which_things_are_given_does_not_matter() -> None:
    triplets, positives, negatives = campaign(6, 3), keys("pos", 60), keys("neg", 5)
    plain = pack(triplets, positives=positives, negatives=negatives, policy=PAPER, seed=7)
    for turned in (
        pack(triplets[::-1], positives=positives, negatives=negatives, policy=PAPER, seed=7),
        pack(triplets, positives=positives[::-1], negatives=negatives, policy=PAPER, seed=7),
        pack(triplets, positives=positives, negatives=negatives[::-1], policy=PAPER, seed=7),
    ):
        assert turned == plain


def test_another_seed_packs_otherwise() -> None:
    assert packed(campaign(20, 30), seed=1) != packed(campaign(20, 30), seed=2)


def test_a_pool_too_small_for_the_campaign_is_refused() -> None:
    with pytest.raises(PackingError) as refusal:
        packed(campaign(61, 5), pool=59)
    assert str(refusal.value) == (
        "The pool holds 59 positive controls, but 61 HITs need at least 60: "
        "draft controls from the campaign's own queries (`quorum controls draft`), or import more "
        "(`quorum controls import`)."
    )


def test_a_small_campaign_needs_no_more_positives_than_hits() -> None:
    assert len(packed(campaign(10, 1), pool=2)) == 2
    with pytest.raises(PackingError, match="holds 1 positive controls, but 2 HITs need at least 2"):
        packed(campaign(10, 1), pool=1)


def test_a_lower_pool_size_in_the_policy_lets_positives_come_back() -> None:
    policy = Policy(control_pool_size=3)
    hits = packed(campaign(50, 1), pool=3, policy=policy)
    uses = Counter(key for hit in hits for key in of_kind(hit, "positive"))
    assert sorted(uses.values()) == [3, 3, 4]


def test_too_few_negatives_are_refused() -> None:
    with pytest.raises(PackingError, match=r"^There are 3 negative controls, but 2 HITs need 4:"):
        pack(
            campaign(6, 1),
            positives=keys("pos", 60),
            negatives=keys("neg", 3),
            policy=PAPER,
            seed=1,
        )


@pytest.mark.parametrize("what", ["triplets", "positive controls", "negative controls"])
def test_what_is_given_twice_is_refused_by_name(what: str) -> None:
    given = {
        "triplets": [triplet.key for triplet in campaign(5, 1)],
        "positive controls": keys("pos", 60),
        "negative controls": keys("neg", 5),
    }
    given[what] += [given[what][2]] * 2 + [given[what][1]]
    with pytest.raises(PackingError) as refusal:
        pack(
            [TripletRef(key, key, 1) for key in given["triplets"]],
            positives=given["positive controls"],
            negatives=given["negative controls"],
            policy=PAPER,
            seed=1,
        )
    twice = f"{given[what][1]}, {given[what][2]}"
    assert str(refusal.value) == f"Some {what} are given twice, give each once: {twice}."
