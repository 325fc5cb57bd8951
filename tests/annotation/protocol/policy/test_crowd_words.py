"""A crowd's own word for a HIT."""

import pytest

from annotation.protocol.policy.crowds import INHOUSE, MTURK


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("HITs", "Tasks"),
        ("Items per HIT", "Items per task"),
        ("3 HITs are packed. HITs wait.", "3 tasks are packed. Tasks wait."),
        ("WHITE HITS and HITting", "WHITE HITS and HITting"),
    ],
)
def test_a_team_reads_of_tasks_and_mechanical_turk_of_hits(text: str, said: str) -> None:
    assert INHOUSE.said(text) == said
    assert MTURK.said(text) == text
