"""What ends a HIT or gives it more time, and what is decided when nobody decides."""

from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

from tests.annotation.crowd.emulator.conftest import Starter
from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, refusal

FEEDBACK = "missed both controls"


def at(turk: Turk, seconds: float) -> datetime:
    """So long after now; MTurk's clients send whole seconds."""
    return datetime.fromtimestamp(turk.clock.now + seconds, UTC)


def set_expiration(turk: Turk, hit_id: str, seconds: float) -> None:
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=at(turk, seconds))


def status(turk: Turk, assignment_id: str) -> str:
    (row,) = turk.rows("SELECT status FROM assignments WHERE assignment_id = ?", assignment_id)
    return str(row["status"])


def test_a_time_past_expires_a_hit_at_once(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(max_assignments=3)
    taken = ada.take(hit_id)
    set_expiration(turk, hit_id, -DAY)
    assert turk.counts(hit_id) == ("Unassignable", 1, 0, 0)
    assert turk.shown(hit_id)["Expiration"] == at(turk, -DAY)
    assert turk.balance() == ("9999.82", "0.18")
    assert bob.offers() == []
    assert "expired" in bob.accept(hit_id).text
    assert ada.submit(taken).status_code == 200


def test_work_in_hand_is_accepted_until_its_own_deadline_and_no_longer(
    turk: Turk, ada: Worker, bob: Worker
) -> None:
    hit_id = turk.hit(max_assignments=2)
    early, late = ada.take(hit_id), bob.take(hit_id)
    set_expiration(turk, hit_id, 0)
    turk.clock.forward(599)
    assert ada.submit(early).status_code == 200
    turk.clock.forward(1)
    assert "run out" in bob.submit(late).text
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 0)
    assert turk.balance() == ("9999.82", "0.18")


def test_more_time_opens_the_places_of_an_expired_hit_and_holds_their_price(
    turk: Turk, ada: Worker, bob: Worker
) -> None:
    hit_id = turk.hit(max_assignments=3)
    ada.do(hit_id)
    set_expiration(turk, hit_id, -1)
    assert turk.balance() == ("9999.82", "0.18")
    set_expiration(turk, hit_id, DAY)
    assert turk.counts(hit_id) == ("Assignable", 0, 2, 0)
    assert turk.balance() == ("9999.46", "0.54")
    bob.do(hit_id)


def test_places_added_and_given_back_after_the_expiry_are_held_when_it_is_taken_back(
    turk: Turk, ada: Worker
) -> None:
    hit_id = turk.hit(max_assignments=2)
    taken = ada.take(hit_id)
    set_expiration(turk, hit_id, -1)
    turk.api.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)
    ada.give_back(taken)
    assert turk.balance() == ("10000.00", "0.00")
    set_expiration(turk, hit_id, DAY)
    assert turk.balance() == ("9999.46", "0.54")


def test_opening_a_hit_again_needs_its_price(start: Starter) -> None:
    turk = start(balance_cents=36)
    hit_id = turk.hit(max_assignments=2)
    set_expiration(turk, hit_id, -1)
    turk.hit()
    code, message = refusal(
        turk.api.update_expiration_for_hit, HITId=hit_id, ExpireAt=at(turk, DAY)
    )
    assert code == "InsufficientFunds"
    assert "needs 0.36" in message
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 0)
    assert turk.balance() == ("0.18", "0.18")


def test_another_time_to_come_moves_the_expiry_and_no_money(turk: Turk) -> None:
    hit_id = turk.hit()
    set_expiration(turk, hit_id, 3 * DAY)
    turk.clock.forward(2 * DAY)
    assert turk.counts(hit_id)[0] == "Assignable"
    set_expiration(turk, hit_id, 60)
    turk.clock.forward(60)
    assert turk.counts(hit_id)[0] == "Reviewable"
    assert [row["kind"] for row in turk.rows("SELECT kind FROM money ORDER BY seq")] == [
        "deposit",
        "hold",
        "release",
    ]


@pytest.mark.parametrize("expire_at", [-1, 1e300, 1_700_000_000 + 366 * DAY])
def test_a_time_out_of_range_is_refused(turk: Turk, expire_at: float) -> None:
    hit_id = turk.hit()
    answer = turk.raw("UpdateExpirationForHIT", HITId=hit_id, ExpireAt=expire_at)
    assert "at most 365 days" in answer.json()["Message"]
    assert turk.shown(hit_id)["Expiration"] == at(turk, DAY)


def test_a_hit_is_deleted_when_its_work_is_decided(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id, other = turk.hit(max_assignments=2), turk.hit()
    approved, rejected = ada.do(hit_id), bob.do(hit_id)
    turk.api.approve_assignment(AssignmentId=approved)
    turk.api.reject_assignment(AssignmentId=rejected, RequesterFeedback=FEEDBACK)
    turk.api.delete_hit(HITId=hit_id)
    assert turk.shown(hit_id)["HITStatus"] == "Disposed"
    assert [hit["HITId"] for hit in turk.api.list_hits()["HITs"]] == [other]
    assert turk.balance() == ("9999.64", "0.18")


def test_only_a_reviewable_hit_without_undecided_work_can_be_deleted(
    turk: Turk, ada: Worker, bob: Worker
) -> None:
    open_hit, taken, undecided = turk.hit(), turk.hit(), turk.hit()
    ada.take(taken)
    bob.do(undecided)
    for hit_id, state in (
        (open_hit, "Assignable"),
        (taken, "Unassignable"),
        (undecided, "Reviewable"),
    ):
        code, message = refusal(turk.api.delete_hit, HITId=hit_id)
        assert code == "InvalidHITState"
        assert f"in the state '{state}'" in message
        assert turk.shown(hit_id)["HITStatus"] == state


def test_an_expired_hit_that_nobody_took_can_be_deleted_once(turk: Turk) -> None:
    hit_id = turk.hit()
    set_expiration(turk, hit_id, -1)
    turk.api.delete_hit(HITId=hit_id)
    code, message = refusal(turk.api.delete_hit, HITId=hit_id)
    assert code == "InvalidHITState"
    assert "in the state 'Disposed'" in message


def test_nothing_brings_a_deleted_hit_back(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(UniqueRequestToken="once")
    rejected = ada.do(hit_id)
    turk.api.reject_assignment(AssignmentId=rejected, RequesterFeedback=FEEDBACK)
    turk.api.delete_hit(HITId=hit_id)
    api = turk.api
    codes = {
        refusal(api.update_expiration_for_hit, HITId=hit_id, ExpireAt=at(turk, DAY))[0],
        refusal(
            api.create_additional_assignments_for_hit,
            HITId=hit_id,
            NumberOfAdditionalAssignments=1,
        )[0],
        refusal(api.approve_assignment, AssignmentId=rejected, OverrideRejection=True)[0],
    }
    assert codes == {"InvalidHITState"}
    with pytest.raises(ClientError, match=hit_id):
        turk.hit(UniqueRequestToken="once")
    assert turk.balance() == ("10000.00", "0.00")


def test_a_hit_that_is_not_known_is_neither_deleted_nor_moved(turk: Turk) -> None:
    assert refusal(turk.api.delete_hit, HITId="NOSUCHHIT")[0] == "HITDoesNotExist"
    move = turk.api.update_expiration_for_hit
    assert refusal(move, HITId="NOSUCHHIT", ExpireAt=at(turk, 1))[0] == "HITDoesNotExist"


def test_work_that_nobody_decides_is_approved_and_paid_when_its_time_has_come(
    turk: Turk, ada: Worker
) -> None:
    hit_id = turk.hit(hit_type=turk.hit_type(AutoApprovalDelayInSeconds=3 * DAY))
    assignment_id = ada.do(hit_id)
    turk.clock.forward(3 * DAY - 1)
    assert status(turk, assignment_id) == "Submitted"
    assert turk.balance() == ("9999.82", "0.18")
    due = at(turk, 1)
    turk.clock.forward(5000)
    (shown,) = turk.assignments(hit_id)
    assert (shown["AssignmentStatus"], shown["ApprovalTime"]) == ("Approved", due)
    assert "RequesterFeedback" not in shown
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 1)
    assert turk.balance() == ("9999.82", "0.00")


def test_no_decision_comes_after_the_automatic_one(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.do(turk.hit(hit_type=turk.hit_type(AutoApprovalDelayInSeconds=DAY)))
    turk.clock.forward(DAY)
    approve, reject = turk.api.approve_assignment, turk.api.reject_assignment
    assert refusal(approve, AssignmentId=assignment_id)[0] == "InvalidAssignmentState"
    code, message = refusal(reject, AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    assert code == "InvalidAssignmentState"
    assert "is Approved" in message
    # The refused calls have left it on record.
    assert status(turk, assignment_id) == "Approved"
    assert turk.rows("SELECT SUM(spent) AS spent FROM money")[0]["spent"] == 18


def test_work_that_was_decided_in_time_is_left_as_it_is(
    turk: Turk, ada: Worker, bob: Worker
) -> None:
    hit_id = turk.hit(max_assignments=2, hit_type=turk.hit_type(AutoApprovalDelayInSeconds=DAY))
    approved, rejected = ada.do(hit_id), bob.do(hit_id)
    turk.api.approve_assignment(AssignmentId=approved)
    turk.api.reject_assignment(AssignmentId=rejected, RequesterFeedback=FEEDBACK)
    turk.clock.forward(2 * DAY)
    assert turk.balance() == ("9999.82", "0.00")
    assert [status(turk, each) for each in (approved, rejected)] == ["Approved", "Rejected"]


def test_a_delay_of_nothing_approves_at_once(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(hit_type=turk.hit_type(AutoApprovalDelayInSeconds=0))
    ada.do(hit_id)
    assert [each["AssignmentStatus"] for each in turk.assignments(hit_id)] == ["Approved"]
