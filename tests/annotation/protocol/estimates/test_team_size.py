"""What a team that is too small will stand still at."""

import pytest

from annotation.protocol.estimates.team_size import too_few_people
from annotation.protocol.policy.policy import Policy

THIRD = "Ties need a third person; the team has 2."


@pytest.mark.parametrize(
    ("people", "policy", "sentence"),
    [
        (0, {"annotators": 1}, "One judgment per item needs 1 person; the team has 0."),
        (1, {"annotators": 1}, None),
        (1, {}, "Two judgments per item need 2 people, and ties a third person; the team has 1."),
        (2, {}, THIRD),
        (2, {"tie_mode": "repack"}, THIRD),
        (
            2,
            {"adjudication": "decide"},
            "Ties need a third person or an expert's decision; the team has 2.",
        ),
        (2, {"max_votes": 2}, None),  # a tie of two is unresolved
        (3, {}, None),
        (2, {"annotators": 3}, "Three judgments per item need 3 people; the team has 2."),
        (3, {"annotators": 3}, None),  # never tied
        (4, {"annotators": 4}, "Ties need a fifth person; the team has 4."),
        (6, {"annotators": 6, "max_votes": 7}, "Ties need a 7th person; the team has 6."),
    ],
)
def test_a_team_too_small_is_told_beforehand(
    people: int, policy: dict[str, object], sentence: str | None
) -> None:
    assert too_few_people(people, Policy.from_dict(policy)) == sentence
