"""Blocks and messages."""

import pytest

from tests.annotation.crowd.emulator.turk import Turk, Worker, refusal


def block(turk: Turk, worker: Worker, reason: str = "answers at random") -> None:
    turk.api.create_worker_block(WorkerId=worker.id, Reason=reason)


def blocked(turk: Turk) -> list[tuple[str, str]]:
    pages = turk.api.get_paginator("list_worker_blocks").paginate(PaginationConfig={"PageSize": 2})
    return [(each["WorkerId"], each["Reason"]) for page in pages for each in page["WorkerBlocks"]]


def test_a_blocked_worker_can_accept_nothing(turk: Turk, ada: Worker, eve: Worker) -> None:
    hit_id = turk.hit(max_assignments=2)
    block(turk, eve)
    assert eve.offers() == []
    assert "blocked" in eve.accept(hit_id).text
    assert turk.counts(hit_id) == ("Assignable", 0, 2, 0)
    assert ada.offers() == [hit_id]


def test_a_blocked_worker_submits_what_was_accepted_before(turk: Turk, eve: Worker) -> None:
    hit_id = turk.hit()
    assignment_id = eve.take(hit_id)
    block(turk, eve)
    assert eve.submit(assignment_id).status_code == 200


def test_a_block_can_be_taken_back_and_taking_it_back_again_succeeds(
    turk: Turk, eve: Worker
) -> None:
    hit_id = turk.hit()
    block(turk, eve)
    turk.api.delete_worker_block(WorkerId=eve.id, Reason="a mistake of ours")
    turk.api.delete_worker_block(WorkerId=eve.id)
    assert blocked(turk) == []
    eve.do(hit_id)


def test_blocks_are_listed_with_their_last_reason(
    turk: Turk, ada: Worker, bob: Worker, eve: Worker
) -> None:
    for worker in (eve, bob, ada):
        block(turk, worker)
    block(turk, eve, "still at random")
    assert blocked(turk) == [
        (eve.id, "still at random"),
        (bob.id, "answers at random"),
        (ada.id, "answers at random"),
    ]


def test_a_worker_who_is_not_known_has_no_block(turk: Turk) -> None:
    code, _ = refusal(turk.api.create_worker_block, WorkerId="ANOBODY", Reason="x")
    assert code == "WorkerDoesNotExist"
    code, message = refusal(turk.api.delete_worker_block, WorkerId="ANOBODY")
    assert (code, message) == ("InvalidParameterValue", "WorkerId is invalid.")


def test_a_message_reaches_those_whose_work_was_decided(
    turk: Turk, ada: Worker, bob: Worker, eve: Worker
) -> None:
    hit_id = turk.hit(max_assignments=3)
    turk.api.approve_assignment(AssignmentId=ada.do(hit_id))
    turk.api.reject_assignment(AssignmentId=bob.do(hit_id), RequesterFeedback="no")
    eve.do(hit_id)
    answer = turk.api.notify_workers(
        Subject="New HITs", MessageText="Come back.", WorkerIds=[ada.id, bob.id, eve.id, "ANOBODY"]
    )
    failures = answer["NotifyWorkersFailureStatuses"]
    assert [each["WorkerId"] for each in failures] == [eve.id, "ANOBODY"]
    assert {each["NotifyWorkersFailureCode"] for each in failures} == {"HardFailure"}
    sent = turk.rows("SELECT worker_id, subject, text FROM notifications ORDER BY seq")
    assert [tuple(row) for row in sent] == [
        (ada.id, "New HITs", "Come back."),
        (bob.id, "New HITs", "Come back."),
    ]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"Subject": "x" * 201}, "Subject must be at most 200"),
        ({"MessageText": "x" * 4097}, "MessageText must be at most 4096"),
        ({"WorkerIds": []}, "1 to 100 workers"),
        ({"WorkerIds": [f"A{number}" for number in range(101)]}, "1 to 100 workers"),
    ],
)
def test_a_message_has_its_limits(turk: Turk, given: dict[str, object], complaint: str) -> None:
    message: dict[str, object] = {"Subject": "s", "MessageText": "t", "WorkerIds": ["AADA"]}
    assert complaint in refusal(turk.api.notify_workers, **message | given)[1]
