"""The rules of train, dev and test: sizes, completeness, whole clusters, earlier releases."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.splits.splits import (
    BEYOND,
    NO_LABEL,
    SPLITS,
    Placement,
    SplitError,
    SplitQuery,
    split_queries,
)
from tests.annotation.protocol.steady import steady

PAPER = {"train": 0.77, "dev": 0.099, "test": 0.131}
THIRDS = {"train": 0.5, "dev": 0.2, "test": 0.3}
Sizes = Mapping[str, int | float]


def singles(complete: int, incomplete: int = 0) -> list[SplitQuery]:
    return [query(f"q{n}", complete=n < complete) for n in range(complete + incomplete)]


def query(key: str, *, complete: bool = True, near: str = "", yes: bool = True) -> SplitQuery:
    return SplitQuery(key, complete=complete, answerable=yes, cluster=near or key)


def placements(
    queries: Sequence[SplitQuery],
    wanted: Sizes,
    *,
    seed: int = 1,
    way: str = "clusters",
    before: Mapping[str, str | None] | None = None,
) -> dict[str, Placement]:
    sizes = {split: wanted[split] for split in SPLITS}
    return split_queries(queries, **sizes, seed=seed, way=way, before=before or {})


def members(found: Mapping[str, Placement], split: str | None) -> set[str]:
    return {key for key, placement in found.items() if placement.split == split}


def sizes(found: Mapping[str, Placement]) -> tuple[int, ...]:
    return tuple(len(members(found, split)) for split in SPLITS)


def divided(queries: Sequence[SplitQuery], found: Mapping[str, Placement]) -> set[str]:
    """Clusters in two splits."""
    both = {(one.cluster, found[one.id].split) for one in queries if found[one.id].split}
    return {cluster for cluster, times in Counter(c for c, _ in both).items() if times > 1}


@pytest.mark.parametrize("way", ["clusters", "random"])
@pytest.mark.parametrize(
    ("queries", "wanted"),
    [
        (1, (1, 0, 0)),
        (2, (2, 0, 0)),  # 1.54 / 0.198 / 0.262
        (3, (2, 0, 1)),  # 2.31 / 0.297 / 0.393
        (40, (31, 4, 5)),  # 30.8 / 3.96 / 5.24
        (1000, (770, 99, 131)),
        (15_211, (11_712, 1_506, 1_993)),  # 11712.47 / 1505.889 / 1992.641
    ],
)
def test_shares_become_whole_sizes_by_largest_remainder(
    queries: int, wanted: tuple[int, ...], way: str
) -> None:
    assert sizes(placements(singles(queries), PAPER, way=way)) == wanted


def test_no_queries_make_three_empty_splits() -> None:
    assert placements([], PAPER) == {}


@pytest.mark.parametrize("way", ["clusters", "random"])
def test_the_papers_counts_are_met_exactly(way: str) -> None:
    found = placements(singles(15_211), {"train": 11_711, "dev": 1_500, "test": 2_000}, way=way)
    assert sizes(found) == (11_711, 1_500, 2_000)


def test_equal_remainders_go_to_the_split_named_first() -> None:
    found = placements(singles(2), {"train": 0.25, "dev": 0.25, "test": 0.5})
    assert sizes(found) == (1, 0, 1)


def test_shares_that_sum_to_almost_one_still_place_every_query() -> None:
    found = placements(singles(1000), {"train": 0.77, "dev": 0.099, "test": 0.1305})
    assert sizes(found) == (770, 99, 131)


@pytest.mark.parametrize("way", ["clusters", "random"])
def test_queries_beyond_the_counts_are_in_no_split(way: str) -> None:
    found = placements(singles(6, 4), {"train": 3, "dev": 2, "test": 1}, way=way)
    assert sizes(found) == (3, 2, 1)
    assert Counter(placement.reason for placement in found.values()) == {None: 6, BEYOND: 4}


def test_a_query_without_a_label_is_in_no_split_and_counts_for_none() -> None:
    bare = SplitQuery("bare", complete=False, answerable=False, cluster="q1", labelled=False)
    found = placements([*singles(10), bare], THIRDS)
    assert found["bare"] == Placement(None, NO_LABEL)
    assert sizes(found) == (5, 2, 3)


@pytest.mark.parametrize("way", ["clusters", "random"])
def test_an_incomplete_query_is_in_train_alone(way: str) -> None:
    found = placements(singles(5, 5), THIRDS, seed=3, way=way)
    assert {f"q{n}" for n in range(5, 10)} == members(found, "train")


def test_a_cluster_with_an_incomplete_query_goes_to_train_whole() -> None:
    near = [query("a", near="a"), query("b", near="a", complete=False)]
    for seed in range(20):
        found = placements(
            [*singles(6), *near], {"train": 0.5, "dev": 0.25, "test": 0.25}, seed=seed
        )
        assert {"a", "b"} <= members(found, "train")


def test_a_random_split_knows_no_clusters() -> None:
    queries = [query(f"q{n}", near=f"q{n // 4}", yes=n % 3 > 0) for n in range(40)]
    alone = [query(one.id, yes=True) for one in queries]
    found = placements(queries, THIRDS, way="random")
    assert found == placements(alone, THIRDS, way="random")
    assert len(divided(queries, found)) > 5
    # What releases got before there were clusters: the same seed draws it for good.
    assert members(found, "dev") == {"q1", "q3", "q4", "q7", "q11", "q13", "q30", "q36"}


@pytest.mark.parametrize("way", ["clusters", "random"])
def test_too_few_complete_queries_are_refused_with_the_counts(way: str) -> None:
    with pytest.raises(SplitError) as refusal:
        placements(singles(4, 6), THIRDS, way=way)
    assert str(refusal.value) == (
        "dev and test want 5 queries (2 + 3) all of whose candidates have a label, "
        "but only 4 of 10 are complete"
    )


def test_complete_queries_near_incomplete_ones_do_not_count() -> None:
    queries = [*singles(4, 5), query("near", near="q8")]
    with pytest.raises(SplitError) as refusal:
        placements(queries, THIRDS)
    assert str(refusal.value) == (
        "dev and test want 5 queries (2 + 3) all of whose candidates have a label, "
        "but only 4 of 10 are complete and near no incomplete one"
    )
    assert sizes(placements(queries, THIRDS, way="random")) == (5, 2, 3)


def test_more_queries_than_there_are_is_refused_with_the_counts() -> None:
    with pytest.raises(SplitError, match=r"the splits want 11 queries, but only 10 have labels"):
        placements(singles(10), {"train": 9, "dev": 1, "test": 1})


def test_counts_that_no_clusters_make_are_refused_with_the_nearest() -> None:
    pairs = [query(f"q{n}", near=f"q{n // 2}") for n in range(10)]
    with pytest.raises(SplitError) as refusal:
        placements(pairs, {"train": 3, "dev": 3, "test": 4})
    assert str(refusal.value) in {
        f"dev and test want 3 + 4 queries, but whole clusters of near queries make {dev} + 4 "
        "at the nearest (the largest holds 2 of 10 queries)"
        for dev in (2, 4)
    }


def test_shares_that_no_clusters_make_are_met_as_nearly_as_they_go() -> None:
    pairs = [query(f"q{n}", near=f"q{n // 2}") for n in range(10)]
    train, dev, test = sizes(placements(pairs, {"train": 0.3, "dev": 0.3, "test": 0.4}))
    assert (train, dev, test) in {(4, 2, 4), (2, 4, 4)}


def test_shares_that_would_leave_test_empty_are_refused() -> None:
    giant = [query(f"q{n}", near="q0") for n in range(10)]
    with pytest.raises(
        SplitError, match=r"make 0 \+ 0 at the nearest \(the largest holds 10 of 10"
    ):
        placements(giant, THIRDS)


def test_without_a_share_train_takes_not_even_the_rest() -> None:
    threes = [query(f"q{n}", near=f"q{n // 3}") for n in range(9)]
    found = placements(threes, {"train": 0.0, "dev": 0.5, "test": 0.5})
    assert not members(found, "train")


def test_shares_and_counts_do_not_mix() -> None:
    with pytest.raises(SplitError, match="all shares or all whole counts"):
        placements(singles(10), {"train": 0.5, "dev": 2, "test": 0.3})


def test_shares_of_nothing_are_refused() -> None:
    with pytest.raises(SplitError, match="sum to 0"):
        placements(singles(10), {"train": 0.0, "dev": 0.0, "test": 0.0})


def test_there_are_two_ways() -> None:
    with pytest.raises(SplitError, match="by clusters or random, not by 'shuffle'"):
        placements(singles(10), THIRDS, way="shuffle")


def test_an_id_stands_for_one_query() -> None:
    with pytest.raises(SplitError, match="two queries have the same id"):
        placements([query("q"), query("q", complete=False)], PAPER)


def test_another_seed_draws_other_queries() -> None:
    drawn = {frozenset(members(placements(singles(100), PAPER, seed=n), "test")) for n in range(20)}
    assert len(drawn) == 20


@pytest.mark.parametrize("way", ["clusters", "random"])
def test_every_query_comes_into_test_about_as_often_as_its_share_says(way: str) -> None:
    times: Counter[str] = Counter()
    for seed in range(400):
        wanted = {"train": 0.5, "dev": 0.25, "test": 0.25}
        times.update(members(placements(singles(20), wanted, seed=seed, way=way), "test"))
    assert len(times) == 20
    assert min(times.values()) > 60  # 100 expected, deviation 8.7
    assert max(times.values()) < 140


def test_a_cluster_is_held_out_about_as_often_as_a_single_query() -> None:
    queries = [query(f"q{n}", near=f"q{max(n, 7)}") for n in range(60)]
    times = 0
    for seed in range(400):
        found = placements(queries, {"train": 0.5, "dev": 0.25, "test": 0.25}, seed=seed)
        times += found["q0"].split != "train"
    assert 150 < times < 250


@st.composite
def campaigns(draw: st.DrawFn) -> list[SplitQuery]:
    size = draw(st.integers(1, 50))
    clusters = draw(st.integers(1, 2 * size))
    flags = st.integers(0, 9)
    return [
        SplitQuery(
            f"q{n}",
            complete=(complete := draw(flags) > 2),
            answerable=draw(flags) > 3,
            cluster=f"c{draw(st.integers(0, clusters))}",
            labelled=complete or draw(flags) > 3,
        )
        for n in range(size)
    ]


def fitting(queries: Sequence[SplitQuery], dev: int, test: int, *, shares: bool) -> Sizes:
    """Sizes of the labelled queries that dev and test may be able to take."""
    labelled = [one for one in queries if one.labelled]
    spoilt = {one.cluster for one in labelled if not one.complete}
    eligible = sum(one.cluster not in spoilt for one in labelled)
    dev = min(dev, eligible)
    test = min(test, eligible - dev)
    wanted = {"train": len(labelled) - dev - test, "dev": dev, "test": test}
    if shares:
        return {split: size / max(1, len(labelled)) for split, size in wanted.items()}
    return wanted


@steady
@given(
    queries=campaigns(),
    held=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    seed=st.integers(),
    order=st.randoms(use_true_random=False),
)
def test_no_cluster_is_divided_and_the_order_does_not_matter(
    queries: list[SplitQuery], held: tuple[int, int], seed: int, order: random.Random
) -> None:
    if not any(one.labelled for one in queries):
        return
    wanted = fitting(queries, *held, shares=True)
    try:
        found = placements(queries, wanted, seed=seed)
    except SplitError as refusal:
        assert "at the nearest" in str(refusal)  # noqa: PT017
        return
    assert found.keys() == {one.id for one in queries}
    assert not divided(queries, found)
    shuffled = order.sample(queries, len(queries))
    assert placements(shuffled, wanted, seed=seed) == found
    for one in queries:
        if found[one.id].split in ("dev", "test"):
            assert one.complete
        if not one.labelled:
            assert found[one.id] == Placement(None, NO_LABEL)
        elif wanted["train"]:
            assert found[one.id].split


@steady
@given(
    queries=campaigns(),
    held=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    shares=st.booleans(),
)
def test_enough_single_queries_make_sizes_exact_and_shares_of_answerable_ones_equal(
    queries: list[SplitQuery], held: tuple[int, int], shares: bool
) -> None:
    """With as many single queries of each kind as dev and test want, clusters cost nothing."""
    want = sum(held)
    extra = [query(f"s{n}", yes=n % 2 > 0) for n in range(2 * want)]
    queries = [*queries, *extra]
    if not any(one.labelled for one in queries):
        return
    wanted = fitting(queries, *held, shares=shares)
    found = placements(queries, wanted)
    labelled = [one for one in queries if one.labelled]
    assert sizes(found) == (len(labelled) - want, *held)
    spoilt = {one.cluster for one in labelled if not one.complete}
    eligible = [one.answerable for one in labelled if one.cluster not in spoilt]
    for split, size in zip(("dev", "test"), held, strict=True):
        there = [one.answerable for one in queries if found[one.id].split == split]
        assert abs(sum(there) - size * sum(eligible) / max(1, len(eligible))) <= 0.5 + 1e-9


@steady
@given(
    queries=st.integers(1, 500),
    weights=st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50)),
    way=st.sampled_from(["clusters", "random"]),
)
def test_a_share_is_met_to_less_than_one_query(
    queries: int, weights: tuple[int, ...], way: str
) -> None:
    wanted = dict(zip(SPLITS, (round(w / sum(weights), 6) for w in weights), strict=True))
    found = placements(singles(queries), wanted, way=way)
    assert sum(sizes(found)) == queries
    for size, share in zip(sizes(found), wanted.values(), strict=True):
        assert abs(size - share * queries / sum(wanted.values())) < 1
