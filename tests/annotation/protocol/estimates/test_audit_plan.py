"""How many labels experts have to judge."""

from collections import Counter

import pytest

from annotation.protocol.estimates.audit_plan import labels_for_width
from annotation.protocol.estimates.label_audit import Audit, Pattern

YES = Pattern(1, 2, 0)


def audit(labels: int, judged: int, wrong: int) -> Audit:
    return Audit(Counter({YES: labels}), Counter({YES: judged}), Counter({YES: wrong}))


def test_half_the_width_takes_four_times_as_many() -> None:
    pilot = audit(10_000, 100, 10)
    error = pilot.error()
    assert error is not None
    width = error.high - error.low
    assert [labels_for_width(pilot, part * width) for part in (1, 1 / 2)] == [100, 400]


def test_before_a_pilot_it_is_by_what_votes_claim() -> None:
    # 1.959964^2 * 4 * (1/6) * (5/6) / 0.1^2
    assert labels_for_width(audit(10_000, 0, 0), 0.1) == 214
    assert labels_for_width(audit(10_000, 29, 29), 0.1) == 214


@pytest.mark.parametrize(("labels", "needed"), [(150, 150), (0, 0)])
def test_there_are_no_more_to_judge_than_there_are(labels: int, needed: int) -> None:
    assert labels_for_width(audit(labels, 0, 0), 0.1) == needed
