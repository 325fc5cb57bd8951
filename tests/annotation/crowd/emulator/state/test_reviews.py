"""HITs that are done: listed, marked as being reviewed, and back."""

import pytest

from tests.annotation.crowd.emulator.turk import Turk, Worker, refusal


def reviewable(turk: Turk, **filters: str) -> list[str]:
    pages = turk.api.get_paginator("list_reviewable_hits")
    size = {"PageSize": 2}
    return [
        hit["HITId"]
        for page in pages.paginate(**filters, PaginationConfig=size)
        for hit in page["HITs"]
    ]


def test_hits_are_listed_by_their_state_and_type(turk: Turk, ada: Worker) -> None:
    other = turk.hit_type(Title="Other")
    done = [turk.hit(), turk.hit(), turk.hit(hit_type=other)]
    for hit_id in done:
        ada.do(hit_id)
    turk.hit()
    taken = turk.hit()
    ada.take(taken)
    assert reviewable(turk) == reviewable(turk, Status="Reviewable") == done[::-1]
    assert reviewable(turk, HITTypeId=other) == [done[2]]
    turk.api.update_hit_review_status(HITId=done[0])
    assert reviewable(turk, Status="Reviewing") == [done[0]]
    assert reviewable(turk) == [done[2], done[1]]
    turk.api.update_hit_review_status(HITId=done[0], Revert=True)
    assert reviewable(turk) == done[::-1]
    turk.api.approve_assignment(AssignmentId=turk.assignments(done[1])[0]["AssignmentId"])
    turk.api.delete_hit(HITId=done[1])
    assert reviewable(turk) == [done[2], done[0]]


def test_only_a_reviewable_hit_is_reviewed_and_only_that_reverted(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    call = turk.api.update_hit_review_status
    assert refusal(call, HITId=hit_id)[0] == "InvalidHITState"
    ada.do(hit_id)
    assert refusal(call, HITId=hit_id, Revert=True)[0] == "InvalidHITState"
    call(HITId=hit_id)
    assert turk.shown(hit_id)["HITStatus"] == "Reviewing"
    assert "'Reviewing'" in refusal(call, HITId=hit_id)[1]
    assert refusal(call, HITId="NOSUCH")[0] == "HITDoesNotExist"


@pytest.mark.parametrize("more", ["assignments", "time"])
def test_what_is_extended_is_to_be_reviewed_anew(turk: Turk, ada: Worker, more: str) -> None:
    hit_id = turk.hit(max_assignments=2)
    ada.do(hit_id)
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    turk.api.update_hit_review_status(HITId=hit_id)
    if more == "assignments":
        turk.api.create_additional_assignments_for_hit(
            HITId=hit_id, NumberOfAdditionalAssignments=1
        )
        assert turk.shown(hit_id)["HITStatus"] == "Reviewable"
    else:
        turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=turk.clock.now + 60)
        assert turk.shown(hit_id)["HITStatus"] == "Assignable"
        turk.clock.forward(61)
        assert turk.shown(hit_id)["HITStatus"] == "Reviewable"


def test_a_hit_in_review_can_be_deleted(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    turk.api.approve_assignment(AssignmentId=ada.do(hit_id))
    turk.api.update_hit_review_status(HITId=hit_id)
    turk.api.delete_hit(HITId=hit_id)
    assert turk.shown(hit_id)["HITStatus"] == "Disposed"


def test_no_hit_has_results_of_a_policy(turk: Turk) -> None:
    hit_id = turk.hit()
    answer = turk.api.list_review_policy_results_for_hit(HITId=hit_id)
    assert {key: value for key, value in answer.items() if key != "ResponseMetadata"} == {
        "HITId": hit_id
    }
    call = turk.api.list_review_policy_results_for_hit
    assert refusal(call, HITId="NOSUCH")[0] == "HITDoesNotExist"


def test_no_answer_is_a_file(turk: Turk, ada: Worker) -> None:
    call = turk.api.get_file_upload_url
    assignment_id = ada.do(turk.hit())
    code, message = refusal(call, AssignmentId=assignment_id, QuestionIdentifier="q")
    assert code == "NotSupported"
    assert "FileUploadAnswer" in message
    missing = refusal(call, AssignmentId="NOSUCH", QuestionIdentifier="q")
    assert missing[0] == "AssignmentDoesNotExist"
