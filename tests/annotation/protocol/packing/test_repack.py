from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from annotation.protocol.packing.pack import HitSpec, PackingError, negatives_needed
from annotation.protocol.packing.repack import Group, OpenTriplet, Regrouped, pack_group, regroup
from annotation.protocol.policy.policy import Policy

PAPER = Policy()


def tied(name: str, *earlier: int) -> OpenTriplet:
    """`name` is "query.rank"."""
    return OpenTriplet(name, name.partition(".")[0], frozenset(earlier))


def fives(queries: str, *earlier: int) -> list[OpenTriplet]:
    return [tied(f"{query}.1", *earlier) for query in queries]


def names(regrouped: Regrouped) -> list[str]:
    return [" ".join(triplet.key for triplet in group.triplets) for group in regrouped.groups]


def keys(triplets: Iterable[OpenTriplet]) -> list[str]:
    return [triplet.key for triplet in triplets]


def test_five_triplets_of_five_queries_are_a_group_at_once() -> None:
    regrouped = regroup(fives("abcde", 1, 2), PAPER, flush=False)
    assert names(regrouped) == ["a.1 b.1 c.1 d.1 e.1"]
    assert regrouped.waiting == regrouped.impossible == ()


def test_a_group_bars_everybody_who_has_had_one_of_its_triplets() -> None:
    triplets = [tied("a.1", 7, 3), tied("b.1", 3, 9), tied("c.1")]
    (group,) = regroup(triplets, PAPER, flush=True).groups
    assert group.excluded_workers == (3, 7, 9)


def test_fewer_than_five_wait_for_more() -> None:
    regrouped = regroup(fives("dcba", 1, 2), PAPER, flush=False)
    assert names(regrouped) == []
    assert keys(regrouped.waiting) == ["a.1", "b.1", "c.1", "d.1"]


def test_they_are_a_group_when_nothing_more_can_come() -> None:
    regrouped = regroup(fives("dcba", 1, 2), PAPER, flush=True)
    assert names(regrouped) == ["a.1 b.1 c.1 d.1"]
    assert regrouped.waiting == ()


def test_nothing_makes_no_group() -> None:
    assert regroup([], PAPER, flush=True) == Regrouped((), (), ())


def test_a_query_does_not_meet_itself_while_more_may_come() -> None:
    triplets = [*fives("abcd", 1), tied("a.2", 1)]
    assert names(regroup(triplets, PAPER, flush=False)) == []


def test_in_the_end_a_query_meets_itself_rather_than_begin_another_hit() -> None:
    triplets = [*fives("abcd", 1), tied("a.2", 1)]
    assert names(regroup(triplets, PAPER, flush=True)) == ["a.1 a.2 b.1 c.1 d.1"]


def test_in_the_end_other_queries_come_first_though_they_bar_more() -> None:
    triplets = [*fives("abc", 1), tied("a.2", 1), tied("a.3", 1), tied("d.1", 4, 5)]
    groups = names(regroup(triplets, PAPER, flush=True))
    assert groups == ["a.1 a.2 b.1 c.1 d.1", "a.3"]


def test_in_the_end_no_hit_bars_more_than_ten_either() -> None:
    triplets = [tied("a.1", *range(6)), tied("b.1", *range(6, 12))]
    assert names(regroup(triplets, PAPER, flush=True)) == ["a.1", "b.1"]


def test_in_the_end_those_who_share_workers_come_together() -> None:
    triplets = [
        tied("a.1", *range(6)),
        tied("b.1", 7, 8, 9, 10),  # fits a too
        tied("c.1", *range(7)),
        tied("d.1", 7, 8, 9, 10, *range(20, 26)),
    ]
    assert names(regroup(triplets, PAPER, flush=True)) == ["a.1 c.1", "b.1 d.1"]


def test_who_adds_many_workers_is_left_to_those_who_share_them() -> None:
    triplets = [
        *fives("abcdf", 1, 2),
        *fives("e", 3, 4, 5, 6),  # fits those too, but then f would fit nobody
        *fives("ghij", *range(3, 12)),
    ]
    groups = names(regroup(triplets, PAPER, flush=False))
    assert groups == ["a.1 b.1 c.1 d.1 f.1", "e.1 g.1 h.1 i.1 j.1"]


def test_queries_with_many_triplets_come_early_enough() -> None:
    triplets = [*fives("abc", 1, 2)]
    triplets += [tied(f"{query}.{rank}", 1, 2) for query in "yz" for rank in range(3)]
    groups = names(regroup(triplets, Policy(hit_size=5), flush=False))
    assert len(groups) == 3
    assert all("y." in group and "z." in group for group in groups)


def test_they_come_early_enough_also_where_others_share_more_workers() -> None:
    triplets = [*fives("abc", 1, 2)]
    triplets += [tied(f"y.{rank}", 1, 2) for rank in range(3)]
    triplets += [tied(f"z.{rank}", 3, 4) for rank in range(3)]
    assert len(regroup(triplets, Policy(hit_size=5), flush=False).groups) == 3


def test_ten_earlier_workers_can_be_excluded() -> None:
    (group,) = regroup([tied("a.1", *range(10))], PAPER, flush=True).groups
    assert group.excluded_workers == tuple(range(10))


def test_eleven_cannot_and_such_a_triplet_is_returned_apart() -> None:
    triplets = [*fives("abcde", 1, 2), tied("f.1", *range(11))]
    regrouped = regroup(triplets, PAPER, flush=True)
    assert keys(regrouped.impossible) == ["f.1"]
    assert names(regrouped) == ["a.1 b.1 c.1 d.1 e.1"]


def test_who_shares_no_workers_with_the_others_does_not_hold_them_up() -> None:
    triplets = [tied("a.1", *range(20, 27)), *fives("bcdef", 1, 2, 3, 4)]
    regrouped = regroup(triplets, PAPER, flush=False)
    assert names(regrouped) == ["b.1 c.1 d.1 e.1 f.1"]
    assert keys(regrouped.waiting) == ["a.1"]


def test_companions_are_found_where_the_first_that_fits_spoils_the_group() -> None:
    triplets = [
        tied("a.1", 1, 2, 3, 4),
        # Nearest to a at first sight, but then nobody else fits.
        tied("b.1", 1, 2, 3, 4, 5, 6, 7),
        *(tied(f"{query}.1", 11, 12, 13, 14, 15, 16) for query in "cdef"),
    ]
    assert names(regroup(triplets, PAPER, flush=False)) == ["a.1 c.1 d.1 e.1 f.1"]


def test_companions_are_found_far_from_the_fullest_queries() -> None:
    strangers = [
        tied(f"{query:02d}.{rank}", *range(100 + 7 * query, 107 + 7 * query))
        for query in range(30)
        for rank in range(4)
    ]
    fullest = [tied(f"a.{rank}", 1, 2, 3, 4) for rank in range(2, 6)]
    triplets = [*strangers, *fullest, *fives("abcde", 1, 2, 3, 4)]
    assert names(regroup(triplets, PAPER, flush=False)) == ["a.1 b.1 c.1 d.1 e.1"]


def test_a_triplet_given_twice_is_refused_by_name() -> None:
    with pytest.raises(PackingError) as refusal:
        regroup([*fives("abc", 1), tied("b.1", 2)], PAPER, flush=False)
    assert str(refusal.value) == "Some triplets are given twice, give each once: b.1."


def packed(triplets: int, *, pool: int = 60, seed: int = 7, policy: Policy = PAPER) -> HitSpec:
    group = Group(tuple(fives("abcdefgh"[:triplets], 1, 2)))
    return pack_group(
        group,
        positives=[f"pos{number}" for number in range(pool)],
        negatives=[f"neg{number}" for number in range(negatives_needed(triplets, policy))],
        policy=policy,
        seed=seed,
    )


@pytest.mark.parametrize(
    ("real", "positives", "negatives"), [(5, 1, 1), (4, 1, 2), (3, 2, 2), (2, 2, 3), (1, 3, 3)]
)
def test_a_hit_of_a_group_is_made_as_a_last_hit_is(
    real: int, positives: int, negatives: int
) -> None:
    hit = packed(real)
    kinds = Counter(item.kind for item in hit.items)
    assert kinds == {"real": real, "positive": positives, "negative": negatives}
    assert len(set(hit.items)) == 7
    assert sorted(item.key for item in hit.items if item.kind == "real") == [
        f"{query}.1" for query in "abcde"[:real]
    ]


def test_its_positives_are_chosen_from_the_whole_pool_by_the_seed() -> None:
    hits = [packed(5, pool=10, seed=seed) for seed in range(100)]
    chosen = {item.key for hit in hits for item in hit.items if item.kind == "positive"}
    assert len(chosen) == 10
    assert packed(5, pool=10, seed=3) == hits[3]
    assert len({hit.items for hit in hits}) > 90


def test_a_pool_too_small_for_the_hit_is_refused() -> None:
    with pytest.raises(PackingError, match="holds 2 positive controls, but 1 HITs need at least 3"):
        packed(1, pool=2)


@pytest.mark.parametrize("triplets", [0, 6])
def test_what_is_no_group_is_refused(triplets: int) -> None:
    with pytest.raises(PackingError, match=rf"^A HIT takes 1 to 5 triplets, not {triplets}\.$"):
        packed(triplets)
