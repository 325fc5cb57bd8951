"""Who is one failed HIT away from being excluded."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import Review, exclusions, is_near

POLICY = Policy()  # more than 10 % of at least 10


@pytest.mark.parametrize(
    ("failures", "reviewed", "near"),
    [
        (0, 0, False),
        (0, 9, False),  # 1 of 10 is not more than a tenth
        (0, 30, False),
        (1, 1, True),  # 2 of 10, when ten are reviewed
        (1, 9, True),
        (1, 18, True),  # 2 of 19
        (1, 19, False),  # 2 of 20 is just a tenth
        (2, 28, True),  # 3 of 29
        (2, 29, False),
    ],
)
def test_near_is_where_one_more_failed_hit_is_enough(
    failures: int, reviewed: int, near: bool
) -> None:
    assert is_near(failures, reviewed, POLICY) is near


@given(
    st.lists(st.booleans(), min_size=1, max_size=60),
    st.sampled_from([0.05, 0.1, 0.15, 0.3]),
    st.integers(1, 20),
    st.sampled_from(["share", "sequential"]),
)
def test_one_more_failure_excludes_just_those_who_are_near(
    passed: list[bool], rate: float, least: int, rule: str
) -> None:
    policy = Policy.from_dict(
        {"max_failure_rate": rate, "min_assignments": least, "exclusion_rule": rule}
    )
    reviews = [Review("eve", one) for one in passed]
    assume(not exclusions(reviews, policy))
    assume(not all(passed))  # a worker who never failed is not called near
    rest = max(0, least - len(reviews) - 1) if rule == "share" else 0
    after = [*reviews, Review("eve", passed=False), *[Review("eve", passed=True)] * rest]
    assert is_near(passed.count(False), len(passed), policy) is bool(exclusions(after, policy))
