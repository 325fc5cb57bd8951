import pytest
from botocore.exceptions import ClientError
from lxml import etree

from annotation.crowd.emulator.question.answers import QUESTION_FORM_ANSWERS
from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, refusal

FEEDBACK = "missed both controls"


def answers(xml: str) -> dict[str, str]:
    root = etree.fromstring(xml.encode())
    space = {"q": QUESTION_FORM_ANSWERS}
    return {
        str(answer.findtext("q:QuestionIdentifier", namespaces=space)): str(
            answer.findtext("q:FreeText", namespaces=space)
        )
        for answer in root.findall("q:Answer", namespaces=space)
    }


def test_a_submission_is_listed_with_its_answers_and_times(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(hit_type=turk.hit_type(AutoApprovalDelayInSeconds=3 * DAY))
    accepted = turk.clock.now
    assignment_id = ada.take(hit_id)
    turk.clock.forward(61.5)
    ada.submit(assignment_id, **{"item-a": "1", "item-b": "0"})
    (shown,) = turk.assignments(hit_id)
    assert shown["AssignmentId"] == assignment_id
    assert shown["WorkerId"] == "AADA"
    assert shown["HITId"] == hit_id
    assert shown["AssignmentStatus"] == "Submitted"
    assert shown["AcceptTime"].timestamp() == accepted
    assert shown["SubmitTime"].timestamp() == accepted + 61.5
    assert shown["Deadline"].timestamp() == accepted + 600
    assert shown["AutoApprovalTime"].timestamp() == accepted + 61.5 + 3 * DAY
    assert answers(shown["Answer"]) == {"item-a": "1", "item-b": "0"}
    assert "ApprovalTime" not in shown


def test_hostile_answers_stay_text(turk: Turk, ada: Worker) -> None:
    text = '</FreeText><Answer>&amp; <script>alert(1)</script> "]]>\r\n\t\u00e9\U0001f600'
    hit_id = turk.hit()
    ada.submit(ada.take(hit_id), **{"<b>&name": text, "control": "a\x0b\x00b"})
    (shown,) = turk.assignments(hit_id)
    assert answers(shown["Answer"]) == {"<b>&name": text, "control": "a\ufffd\ufffdb"}


def test_equal_field_names_are_joined(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    ada.submit(ada.take(hit_id), topic=["sport", "food"])
    (shown,) = turk.assignments(hit_id)
    assert answers(shown["Answer"]) == {"topic": "sport|food"}


def test_accepted_and_returned_work_is_not_shown(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(max_assignments=2)
    returned, pending = ada.take(hit_id), bob.take(hit_id)
    ada.give_back(returned)
    assert turk.assignments(hit_id) == []
    for assignment_id in (returned, pending):
        code, _ = refusal(turk.api.get_assignment, AssignmentId=assignment_id)
        assert code == "InvalidAssignmentState"


def test_statuses_filter_the_list(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=3)
    first, second, third = (turk.worker(f"A{number}").do(hit_id) for number in range(3))
    turk.api.approve_assignment(AssignmentId=first, RequesterFeedback="thank you")
    turk.api.reject_assignment(AssignmentId=second, RequesterFeedback=FEEDBACK)

    def ids(*statuses: str) -> list[str]:
        return [each["AssignmentId"] for each in turk.assignments(hit_id, *statuses)]

    assert ids("Submitted") == [third]
    assert ids("Approved", "Rejected") == [first, second]
    assert ids() == [first, second, third]


def test_assignments_come_in_pages_in_order_of_submission(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=12)
    workers = [turk.worker(f"A{number}") for number in range(12)]
    taken = [worker.take(hit_id) for worker in workers]
    for worker, assignment_id in reversed(list(zip(workers, taken, strict=True))):
        worker.submit(assignment_id)
    pages = list(turk.api.get_paginator("list_assignments_for_hit").paginate(HITId=hit_id))
    assert [page["NumResults"] for page in pages] == [10, 2]
    listed = [each["AssignmentId"] for page in pages for each in page["Assignments"]]
    assert listed == taken[::-1]


def test_get_assignment_gives_the_hit_as_well(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    answer = turk.api.get_assignment(AssignmentId=ada.do(hit_id))
    assert answer["Assignment"]["WorkerId"] == "AADA"
    assert answer["HIT"]["HITId"] == hit_id


def test_an_approval_is_final(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.do(turk.hit())
    turk.api.approve_assignment(AssignmentId=assignment_id)
    approve, reject = turk.api.approve_assignment, turk.api.reject_assignment
    again = refusal(approve, AssignmentId=assignment_id)
    overridden = refusal(approve, AssignmentId=assignment_id, OverrideRejection=True)
    reversed_ = refusal(reject, AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    assert {code for code, _ in (again, overridden, reversed_)} == {"InvalidAssignmentState"}
    assert "can be called with a status of: Submitted" in again[1]
    (shown,) = turk.rows("SELECT status FROM assignments")
    assert shown["status"] == "Approved"


def test_only_submitted_work_can_be_decided(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(max_assignments=2)
    pending, returned = ada.take(hit_id), bob.take(hit_id)
    bob.give_back(returned)
    for assignment_id in (pending, returned):
        with pytest.raises(ClientError, match="status of: Submitted"):
            turk.api.approve_assignment(AssignmentId=assignment_id)
        with pytest.raises(ClientError, match="status of: Submitted"):
            turk.api.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)


def test_a_rejection_cannot_be_repeated_nor_silently_reversed(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.do(turk.hit())
    turk.api.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    shown = turk.api.get_assignment(AssignmentId=assignment_id)["Assignment"]
    assert shown["RequesterFeedback"] == FEEDBACK
    assert shown["RejectionTime"].timestamp() == turk.clock.now
    reject, approve = turk.api.reject_assignment, turk.api.approve_assignment
    again = refusal(reject, AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    assert again[0] == "InvalidAssignmentState"
    assert refusal(approve, AssignmentId=assignment_id)[0] == "InvalidAssignmentState"


def test_a_rejection_can_be_overridden_for_30_days(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(max_assignments=2)
    early, late = ada.do(hit_id), bob.do(hit_id)
    for assignment_id in (early, late):
        turk.api.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    turk.clock.forward(30 * DAY)
    turk.api.approve_assignment(AssignmentId=early, OverrideRejection=True)
    shown = turk.api.get_assignment(AssignmentId=early)["Assignment"]
    assert "RequesterFeedback" not in shown  # what it was rejected with is not said of it any more
    turk.clock.forward(1)
    approve = turk.api.approve_assignment
    code, message = refusal(approve, AssignmentId=late, OverrideRejection=True)
    assert code == "InvalidAssignmentState"
    assert "30 days" in message
    statuses = [each["AssignmentStatus"] for each in turk.assignments(hit_id)]
    assert statuses == ["Approved", "Rejected"]


def test_a_rejection_does_not_open_the_place_again(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit()
    turk.api.reject_assignment(AssignmentId=ada.do(hit_id), RequesterFeedback=FEEDBACK)
    assert turk.counts(hit_id) == ("Reviewable", 0, 0, 1)
    assert bob.accept(hit_id).status_code == 409


def test_a_worker_takes_a_hit_once(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(max_assignments=3)
    assignment_id = ada.take(hit_id)
    assert "already" in ada.accept(hit_id).text
    ada.submit(assignment_id)
    assert ada.accept(hit_id).status_code == 409
    turk.api.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    assert ada.accept(hit_id).status_code == 409
    assert ada.offers() == []


def test_what_is_returned_can_be_taken_again(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit()
    first = ada.take(hit_id)
    assert bob.offers() == []
    assert ada.give_back(first).headers["Location"] == "/worker/AADA/hits"
    assert turk.counts(hit_id) == ("Assignable", 0, 1, 0)
    assert bob.offers() == [hit_id]
    second = ada.take(hit_id)
    assert second != first
    assert ada.submit(first).status_code == 409
    assert ada.submit(second).status_code == 200


def test_work_past_its_deadline_is_abandoned_and_its_place_opens(
    turk: Turk, ada: Worker, bob: Worker
) -> None:
    hit_id = turk.hit()
    assignment_id = ada.take(hit_id)
    turk.clock.forward(599)
    assert ada.at_work() == [assignment_id]
    turk.clock.forward(1)
    assert ada.at_work() == []
    assert "run out" in ada.open(assignment_id).text
    assert ada.submit(assignment_id).status_code == 409
    assert turk.counts(hit_id) == ("Assignable", 0, 1, 0)
    assert ada.offers() == bob.offers() == [hit_id]
    ada.give_back(ada.take(hit_id))
    bob.do(hit_id)
    (row, _) = turk.rows("SELECT * FROM assignments WHERE worker_id = 'AADA' ORDER BY seq")
    assert (row["status"], row["ended_at"]) == ("Abandoned", row["deadline"])


def test_an_unknown_assignment_is_refused_by_its_name(turk: Turk) -> None:
    code, message = refusal(turk.api.get_assignment, AssignmentId="NOSUCHASSIGNMENT")
    assert (code, message) == (
        "AssignmentDoesNotExist",
        "Assignment NOSUCHASSIGNMENT does not exist.",
    )


@pytest.mark.parametrize(
    ("form", "status", "sentence"),
    [
        ({}, 404, "no such assignment"),
        ({"assignmentId": "", "x": "1"}, 404, "no such assignment"),
        ({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "x": "1"}, 404, "no such assignment"),
        ({"assignmentId": "OURS"}, 400, "no answer"),
        ({"assignmentId": "OURS", "": "1"}, 400, "no answer"),
        ({"assignmentId": "OURS", "x": "y" * 262_144}, 413, "larger than"),
        ({"assignmentId": "OURS", "x": "y" * 1_048_576}, 413, ""),
    ],
)
def test_a_bad_submission_is_refused_and_changes_nothing(
    turk: Turk, ada: Worker, form: dict[str, str], status: int, sentence: str
) -> None:
    hit_id = turk.hit()
    assignment_id = ada.take(hit_id)
    sent = form | ({"assignmentId": assignment_id} if form.get("assignmentId") == "OURS" else {})
    response = ada.browser.post("/mturk/externalSubmit", data=sent)
    assert response.status_code == status
    assert sentence in response.text
    assert turk.counts(hit_id) == ("Unassignable", 1, 0, 0)
    assert ada.submit(assignment_id).status_code == 200


def test_a_second_submission_is_refused_and_changes_nothing(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    assignment_id = ada.take(hit_id)
    ada.submit(assignment_id, answer="first")
    response = ada.submit(assignment_id, answer="second")
    assert response.status_code == 409
    assert "submitted already" in response.text
    (shown,) = turk.assignments(hit_id)
    assert answers(shown["Answer"]) == {"answer": "first"}
