"""Which splits a campaign of few queries leaves empty."""

import pytest

from annotation.protocol.estimates.split_sizes import empty_splits
from annotation.protocol.policy.policy import Policy


@pytest.mark.parametrize(
    ("queries", "policy", "empty"),
    [
        (1, {}, "dev and test"),
        (5, {}, "dev"),
        (10, {}, None),
        (10, {"train": 1.0, "dev": 0.0, "test": 0.0}, "dev and test"),
        (10, {"train": 8, "dev": 2, "test": 0}, "test"),
    ],
)
def test_empty_splits_are_named(queries: int, policy: dict[str, float], empty: str | None) -> None:
    warning = empty_splits(queries, Policy.from_dict(policy))
    if empty is None:
        assert warning is None
    else:
        assert f", {empty} will be empty, and no metric" in str(warning)
