"""The whole way of a campaign, from its triplets to its labels."""

import pytest
from botocore.model import OperationModel
from django.db import connection

from annotation.analytics.campaign.progress import progress
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.pipeline.advance import advance
from annotation.pipeline.labelling.votes import first_pairs
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.labels.agreement import estimate, kappa
from tests.worlds.small_campaign import QUERIES, Stage

pytestmark = pytest.mark.django_db

PRICE = 19  # cents of an assignment: 15 of reward, 3 of fee, 1 for Masters


def truth(query: str, rank: int) -> int:
    return int(rank <= 2)


def test_a_campaign_goes_from_its_triplets_to_its_labels(stage: Stage) -> None:
    """Bob slips once, eve fails two HITs of three, cara breaks the tie and does eve's work."""
    assert stage.publish().sent == 5
    disputed = next(triplet for triplet in stage.triplets(2) if not truth(*triplet))
    for number in range(1, 6):
        stage.work("ada", number, truth)
    stage.work("bob", 1, truth)
    stage.work("bob", 2, lambda *triplet: 1 if triplet == disputed else truth(*triplet))
    stage.work("eve", 3, 1)
    failed = {stage.work("eve", 4, slips=1), stage.work("eve", 5, slips=2)}

    first = stage.advance()
    assert (first.new, first.passed, first.failed, first.excluded) == (10, 8, 2, 1)
    assert (first.labelled, first.open, first.assignments_requested, first.finished) == (
        9,
        16,
        4,
        False,
    )
    assert {number: stage.hit(number).max_assignments for number in range(1, 6)} == {
        1: 2,
        2: 3,
        3: 3,
        4: 3,
        5: 3,
    }
    rejected = stage.mturk.rows("SELECT assignment_id FROM assignments WHERE status = 'Rejected'")
    assert {assignment_id for (assignment_id,) in rejected} == failed
    assert stage.accept("eve", 2) is None

    for number in range(2, 6):
        stage.work("cara", number, truth)
    second = stage.advance()
    assert (second.new, second.passed, second.assignments_requested, second.finished) == (
        4,
        4,
        0,
        True,
    )
    assert stage.labels() == {
        (query, rank): int(rank <= 2) for query in QUERIES for rank in range(1, 6)
    }

    found = progress(stage.campaign)
    assert (found["approved"], found["rejected"], found["excluded_workers"]) == (12, 2, 1)
    assert (found["votes"], found["votes_discarded"], found["ties"]) == (55, 5, 1)
    assert found["agreement"] == 0.96
    # 10 of the first votes say yes and 11 of the second: chance alone would give 0.512.
    found_kappa = estimate(first_pairs(stage.campaign), kappa).value
    assert found_kappa == pytest.approx((0.96 - 0.512) / (1 - 0.512), abs=0.00005)
    assert found["spent_cents"] == stage.mturk.spent_cents == 12 * PRICE
    assert stage.mturk.on_hold_cents == 0


@pytest.mark.wire
@pytest.mark.django_db(transaction=True)
def test_no_call_to_the_crowd_is_made_inside_a_transaction(stage: Stage) -> None:
    """It may take long, and it cannot be rolled back."""
    calls: list[str] = []

    def note(model: OperationModel, **_: object) -> None:
        assert not connection.in_atomic_block
        calls.append(model.name)

    crowd = MTurkCrowd(stage.mturk.url)
    crowd._client.meta.events.register("before-call", note)
    publish(stage.campaign, crowd)
    deliver(stage.campaign, crowd)
    for number in (1, 2, 3):
        stage.work("ada", number)
        stage.work("eve", number, slips=1)
    assert advance(stage.campaign, crowd).excluded == 1
    assert set(calls) == {
        "ApproveAssignment",
        "AssociateQualificationWithWorker",
        "CreateAdditionalAssignmentsForHIT",
        "CreateHITType",
        "CreateHITWithHITType",
        "CreateQualificationType",
        "GetAccountBalance",
        "ListAssignmentsForHIT",
        "ListHITs",
        "ListQualificationTypes",
        "RejectAssignment",
    }
