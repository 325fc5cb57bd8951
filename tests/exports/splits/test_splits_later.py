"""A release after others: what was published stays where it was, or leaves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from exports.splits.splits import BEYOND, NO_LABEL, NO_LONGER_COMPLETE, Placement, SplitQuery
from tests.exports.splits.test_splits import (
    THIRDS,
    divided,
    members,
    placements,
    query,
    singles,
    sizes,
)
from tests.support.examples import examples

OLD = {"a": "train", "b": "dev", "c": "test"}


def first() -> list[SplitQuery]:
    return [query("a"), query("b"), query("c")]


def test_published_queries_stay_where_another_seed_would_move_them() -> None:
    queries = singles(40)
    before = {key: place.split for key, place in placements(queries, THIRDS, seed=1).items()}
    found = placements(queries, THIRDS, seed=2, before=before)
    assert {key: place.split for key, place in found.items()} == before
    assert members(placements(queries, THIRDS, seed=2), "test") != members(found, "test")


def test_new_queries_fill_the_splits_towards_their_sizes() -> None:
    before = {f"q{n}": split for n, split in enumerate(["train"] * 5 + ["dev"] * 2 + ["test"] * 3)}
    found = placements(singles(20), THIRDS, before=before)
    assert sizes(found) == (10, 4, 6)


def test_a_query_that_is_no_longer_complete_leaves_dev_and_comes_back_to_dev() -> None:
    queries = [query("a"), query("b", complete=False), query("c")]
    assert placements(queries, THIRDS, before=OLD)["b"] == Placement(None, NO_LONGER_COMPLETE)
    assert placements(first(), THIRDS, before=OLD)["b"] == Placement("dev")


def test_a_train_query_stays_incomplete_and_leaves_without_labels() -> None:
    incomplete = replace(query("a", complete=False))
    found = placements([incomplete, *first()[1:]], THIRDS, before=OLD)
    assert found["a"] == Placement("train")
    bare = replace(incomplete, labelled=False)
    assert placements([bare, *first()[1:]], THIRDS, before=OLD)["a"] == Placement(None, NO_LABEL)


def test_a_new_query_follows_the_published_one_that_it_is_near() -> None:
    near = [query(f"{key}2", near=key) for key in OLD]
    found = placements([*first(), *near], {"train": 0.3, "dev": 0.35, "test": 0.35}, before=OLD)
    assert {key: place.split for key, place in found.items() if key.endswith("2")} == {
        "a2": "train",
        "b2": "dev",
        "c2": "test",
    }


def test_it_follows_one_that_has_left() -> None:
    bare = SplitQuery("b", complete=False, answerable=False, cluster="b", labelled=False)
    queries = [query("a"), bare, query("c"), query("b2", near="b")]
    assert placements(queries, THIRDS, before=OLD)["b2"] == Placement("dev")


def test_an_incomplete_query_near_one_of_test_is_withheld() -> None:
    found = placements([*first(), query("d", near="c", complete=False)], THIRDS, before=OLD)
    assert found["d"] == Placement(None, "near a query of test, but not complete")


def test_a_query_near_one_of_dev_is_withheld_where_dev_is_full() -> None:
    found = placements([*first(), query("d", near="b")], THIRDS, before=OLD)
    assert found["d"] == Placement(None, BEYOND)


def test_new_queries_bring_a_split_back_to_the_share_of_answerable_ones() -> None:
    """Four of eight: dev has two, and takes two others."""
    queries = [query(f"q{n}", yes=n < 4) for n in range(8)]
    before = {"q0": "dev", "q1": "dev"}
    found = placements(queries, {"train": 4, "dev": 4, "test": 0}, before=before)
    assert members(found, "dev") - {"q0", "q1"} <= {"q4", "q5", "q6", "q7"}


def test_of_two_queries_near_one_of_dev_only_one_finds_the_last_place() -> None:
    queries = [*first(), query("b2", near="b"), query("b3", near="b")]
    found = placements(queries, {"train": 0.3, "dev": 0.4, "test": 0.3}, before=OLD)
    assert sizes(found) == (1, 2, 1)
    assert {found["b2"], found["b3"]} == {Placement("dev"), Placement(None, BEYOND)}


def test_a_new_query_that_bridges_two_splits_is_withheld() -> None:
    queries = [query("a", near="a"), query("b"), query("c", near="a"), query("d", near="a")]
    found = placements(queries, THIRDS, before=OLD)
    assert found["d"] == Placement(None, "near queries of train and test")


def test_of_published_queries_that_turn_out_near_the_stronger_split_keeps_its_own() -> None:
    for joined, leaving in (("ac", "a"), ("ab", "a"), ("bc", "b"), ("abc", "ab")):
        queries = [query(key, near="x" if key in joined else "") for key in OLD]
        found = placements(queries, THIRDS, before=OLD)
        stays = joined[-1]
        for key in OLD:
            expected = Placement(OLD[key])
            if key in leaving:
                expected = Placement(None, f"near a query of {OLD[stays]}")
            assert found[key] == expected, joined


def test_it_comes_back_when_the_stronger_one_has_left() -> None:
    queries = [query("a", near="x"), query("b"), query("c", near="x", complete=False)]
    found = placements(queries, THIRDS, before=OLD)
    assert found["a"] == Placement("train")
    assert found["c"] == Placement(None, NO_LONGER_COMPLETE)


def test_counts_that_a_later_release_cannot_have_are_no_refusal() -> None:
    counts = {"train": 1, "dev": 1, "test": 1}
    queries = [query("a"), query("b"), query("c", complete=False)]
    found = placements(queries, counts, before=OLD)
    assert sizes(found) == (1, 1, 0)


def test_counts_bound_train_in_a_later_release_too() -> None:
    counts = {"train": 2, "dev": 1, "test": 1}
    near = [query(f"a{n}", near="a") for n in range(3)]
    found = placements([*first(), query("c2", near="c"), *near], counts, before=OLD)
    assert sizes(found) == (2, 1, 1)
    assert Counter(place.reason for place in found.values()) == {None: 4, BEYOND: 3}


def test_a_random_split_keeps_what_was_published_and_follows_nobody() -> None:
    queries = [query("a", near="x"), query("b"), query("c", near="x"), query("d", near="x")]
    found = placements(queries, THIRDS, way="random", before=OLD)
    assert {key: found[key].split for key in OLD} == OLD
    assert found["d"].split == "train"


class Releases(RuleBasedStateMachine):
    """Releases of a campaign whose labels come and go, and whose queries turn out near each
    other."""

    @initialize(seed=st.integers(0, 99), shares=st.booleans())
    def start(self, seed: int, shares: bool) -> None:
        self.random = Random(seed)
        self.wanted = THIRDS if shares else {"train": 8, "dev": 4, "test": 6}
        self.queries = singles(20)
        self.published: dict[str, str | None] = {}
        self.ever: dict[str, set[str]] = {}
        self.release()

    @rule(number=st.integers(1, 12))
    def add(self, number: int) -> None:
        for _ in range(number):
            near = self.random.choice([None, None, *self.queries])
            key = f"q{len(self.queries)}"
            complete, yes = self.random.random() < 0.8, self.random.random() < 0.7
            cluster = near.cluster if near else key
            self.queries.append(query(key, complete=complete, near=cluster, yes=yes))

    @rule(number=st.integers(1, 4), keep=st.sampled_from(["all", "some", "none"]))
    def relabel(self, number: int, keep: str) -> None:
        for place in self.random.sample(range(len(self.queries)), number):
            self.queries[place] = replace(
                self.queries[place],
                complete=keep == "all",
                labelled=keep != "none",
                answerable=keep != "none" and self.random.random() < 0.7,
            )

    @rule()
    def join(self) -> None:
        one, other = self.random.sample(self.queries, 2)
        joined = {one.cluster, other.cluster}
        self.queries = [
            replace(each, cluster=min(joined)) if each.cluster in joined else each
            for each in self.queries
        ]

    @rule(seed=st.integers(0, 3))
    def release(self, seed: int = 0) -> None:
        shuffled = self.random.sample(self.queries, len(self.queries))
        found = placements(shuffled, self.wanted, seed=seed, before=self.published)
        assert found == placements(self.queries, self.wanted, seed=seed, before=self.published)
        assert not divided(self.queries, found)
        for one in self.queries:
            self.keeps_the_rules(one, found)
        self.follows(found)
        self.sized(found)
        for key, place in found.items():
            if place.split:
                self.published[key] = place.split
                self.ever.setdefault(key, set()).add(place.split)

    def keeps_the_rules(self, one: SplitQuery, found: dict[str, Placement]) -> None:
        place, old = found[one.id], self.published.get(one.id)
        assert (place.split is None) == (place.reason is not None)
        assert place.split in (None, "train") or one.complete
        assert place.split is None or one.labelled
        if not old or place.split == old:
            return
        assert place.split is None
        assert place.reason in (NO_LABEL, NO_LONGER_COMPLETE) or any(
            place.reason == f"near a query of {found[near.id].split}"
            for near in self.queries
            if near.cluster == one.cluster
        )

    def follows(self, found: dict[str, Placement]) -> None:
        for one in self.queries:
            near = {
                split
                for each in self.queries
                if each.cluster == one.cluster and (split := self.published.get(each.id))
            }
            if not self.published.get(one.id) and near:
                assert found[one.id].split in ({None} if len(near) > 1 else {None, *near})

    def sized(self, found: dict[str, Placement]) -> None:
        """Held-out splits grow past their size by no more than half a cluster."""
        labelled = [one for one in self.queries if one.labelled]
        largest = max(Counter(one.cluster for one in labelled).values(), default=0)
        for split in ("dev", "test"):
            wanted = self.wanted[split]
            wanted = wanted if isinstance(wanted, int) else wanted * len(labelled) + 1
            old = sum(self.published.get(key) == split for key in members(found, split))
            assert len(members(found, split)) <= max(old, wanted + largest / 2)

    @invariant()
    def nothing_was_ever_in_two_splits(self) -> None:
        assert all(len(splits) == 1 for splits in getattr(self, "ever", {}).values())


TestReleases = Releases.TestCase
TestReleases.settings = settings(
    max_examples=examples(60),
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    database=None,
)
