"""Which splits a campaign of few queries leaves empty, or nearly."""

import pytest

from annotation.protocol.estimates.split_sizes import small_splits, too_small_to_measure
from annotation.protocol.policy.policy import Policy


@pytest.mark.parametrize(
    ("queries", "policy", "empty"),
    [
        (1, {}, "dev and test"),
        (5, {}, "dev"),
        (200, {}, None),
        (10, {"train": 1.0, "dev": 0.0, "test": 0.0}, "dev and test"),
        (10, {"train": 8, "dev": 2, "test": 0}, "test"),
    ],
)
def test_empty_splits_are_named(queries: int, policy: dict[str, float], empty: str | None) -> None:
    warning = small_splits(queries, Policy.from_dict(policy))
    if empty is None:
        assert warning is None
    else:
        assert f", {empty} will be empty, and no metric" in str(warning)


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        (10, "dev (1) and test (1) will have too few"),
        (80, "dev (8) will have too few"),
        (101, None),
    ],
)
def test_splits_too_small_for_an_interval_are_named(queries: int, words: str | None) -> None:
    warning = small_splits(queries, Policy())
    assert (words is None) == (warning is None)
    assert (words or "None") in str(warning)


def test_counts_that_want_more_queries_than_there_are_allow_no_release() -> None:
    policy = Policy.from_dict({"train": 160, "dev": 20, "test": 1})
    assert small_splits(180, policy) == (
        "train, dev and test want 181 queries (160 + 20 + 1), but the campaign has 180, so no "
        "release can be made: choose more queries, or smaller splits in the policy."
    )
    assert "no release" not in str(small_splits(181, policy))


def test_a_release_says_which_splits_are_too_small_to_measure() -> None:
    assert too_small_to_measure({"train": 3, "dev": 1, "test": 9, "all": 13}) == (
        "Too few queries for an interval: dev has 1 query, test has 9 queries. "
        "At least 10 give one."
    )
    assert too_small_to_measure({"train": 3, "dev": 0, "test": 10}) is None
