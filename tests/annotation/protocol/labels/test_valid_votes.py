"""Which votes count, and what people read of those that do not."""

import pytest

from annotation.protocol.labels.valid_votes import VoteFacts, void_reason


@pytest.mark.parametrize(
    ("passed", "rejected", "excluded", "reason"),
    [
        (True, False, False, None),
        (True, True, False, "the work was rejected at the crowd"),
        (False, False, False, "a control was missed"),
        (False, True, False, "a control was missed"),
        (None, False, False, "its controls are not reviewed yet"),
        (True, False, True, "the worker is excluded"),
        (None, False, True, "the worker is excluded"),
    ],
)
def test_a_vote_counts_or_says_why_not(
    passed: bool | None, *, rejected: bool, excluded: bool, reason: str | None
) -> None:
    assert void_reason(VoteFacts(passed=passed, rejected=rejected, excluded=excluded)) == reason
