"""A campaign that calls all 39 operations by an unmodified boto3 client, which reads every answer
by its own model; each face says whom it asks and who works there."""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from botocore import xform_name

from annotation.crowd.emulator.http.wire import OPERATIONS
from annotation.crowd.emulator.validation import faults
from tests.annotation.crowd.emulator.forms import (
    answer_key,
    asked,
    choice,
    html_question,
    question_form,
)
from tests.annotation.crowd.emulator.turk import DAY, refusal, requirement

TEST = question_form(asked("q", choice("a", "b")))
HIT = {"LifetimeInSeconds": DAY, "MaxAssignments": 2}
TYPE = {"Title": "t", "Description": "d", "Reward": "0.10", "AssignmentDurationInSeconds": 600}


class Judge(Protocol):
    """Somebody in front of the workers' pages."""

    @property
    def id(self) -> str: ...

    def ask(self, type_id: str) -> None: ...

    def pass_test(self, type_id: str, **answers: str) -> None: ...

    def work(self, hit_id: str, **answers: str) -> None: ...


@dataclass(frozen=True)
class Face:
    client: Any
    judges: tuple[Judge, Judge]
    destination: str  # of notifications
    balance: str  # once all is paid


def _check(response_dict: Any, operation_model: Any, **_: object) -> None:
    """Botocore reads what it knows and passes over the rest: the answer must follow its model."""
    if response_dict["status_code"] != 200:
        return
    answer = json.loads(response_dict["body"])
    assert not list(faults(operation_model.output_shape, answer, "")), operation_model.name


def call_every_operation(face: Face) -> None:
    called: set[str] = set()
    face.client.meta.events.register("before-parse.mturk", _check)
    ada, bob = face.judges
    notification = {
        "Destination": face.destination,
        "Transport": "SNS",
        "Version": "2014-08-15",
        "EventTypes": ["HITCreated"],
    }

    def call(operation: str, **parameters: Any) -> Any:
        called.add(operation)
        return getattr(face.client, xform_name(operation))(**parameters)

    # Qualifications: one with a test, one that the requester grants.
    tested = call(
        "CreateQualificationType",
        Name="tested",
        Description="d",
        QualificationTypeStatus="Inactive",
        Test=TEST,
        AnswerKey=answer_key({"q": {"a": 9}}),
        TestDurationInSeconds=60,
    )["QualificationType"]["QualificationTypeId"]
    call("UpdateQualificationType", QualificationTypeId=tested, QualificationTypeStatus="Active")
    known = call(
        "CreateQualificationType", Name="known", Description="d", QualificationTypeStatus="Active"
    )["QualificationType"]["QualificationTypeId"]
    own = {"QualificationTypeId": known}
    listed = call("ListQualificationTypes", MustBeRequestable=True)["QualificationTypes"]
    assert [each["Name"] for each in listed] == ["tested", "known"]
    assert "Test" in call("GetQualificationType", QualificationTypeId=tested)["QualificationType"]
    ada.pass_test(tested, **{"answer-0": "a"})
    score = call("GetQualificationScore", QualificationTypeId=tested, WorkerId=ada.id)
    assert score["Qualification"]["IntegerValue"] == 9
    for judge in face.judges:
        judge.ask(known)
    first, second = call("ListQualificationRequests", **own)["QualificationRequests"]
    call("AcceptQualificationRequest", QualificationRequestId=first["QualificationRequestId"])
    call("RejectQualificationRequest", QualificationRequestId=second["QualificationRequestId"])
    call("AssociateQualificationWithWorker", **own, WorkerId=bob.id, IntegerValue=1)
    assert call("ListWorkersWithQualificationType", **own)["NumResults"] == 2

    # HITs of each kind of question.
    required = [requirement(known, "Exists")]
    type_id = call("CreateHITType", **TYPE, QualificationRequirements=required)["HITTypeId"]
    call("UpdateNotificationSettings", HITTypeId=type_id, Notification=notification)
    call("SendTestEventNotification", Notification=notification, TestEventType="Ping")
    made = call("CreateHITWithHITType", HITTypeId=type_id, **HIT, Question=TEST)["HIT"]
    other = call("CreateHIT", **TYPE, **HIT, Question=html_question("<p>x</p>"))["HIT"]
    call("UpdateHITTypeOfHIT", HITId=other["HITId"], HITTypeId=type_id)
    assert call("ListHITsForQualificationType", **own)["NumResults"] == 2
    assert call("ListHITs")["NumResults"] == 2
    hit = {"HITId": made["HITId"]}
    for judge in face.judges:
        judge.work(made["HITId"], **{"answer-0": "b"})

    # Reviews and money.
    assert call("ListReviewableHITs", HITTypeId=type_id)["HITs"][0]["HITId"] == made["HITId"]
    call("UpdateHITReviewStatus", **hit)
    assert call("GetHIT", **hit)["HIT"]["HITStatus"] == "Reviewing"
    assert call("ListReviewPolicyResultsForHIT", **hit)["HITId"] == made["HITId"]
    good, bad = (
        each["AssignmentId"] for each in call("ListAssignmentsForHIT", **hit)["Assignments"]
    )
    assert (
        "<SelectionIdentifier>b<"
        in call("GetAssignment", AssignmentId=good)["Assignment"]["Answer"]
    )
    called.add("GetFileUploadURL")
    file = {"AssignmentId": good, "QuestionIdentifier": "q"}
    assert refusal(face.client.get_file_upload_url, **file)[0] == "NotSupported"
    call("ApproveAssignment", AssignmentId=good)
    call("RejectAssignment", AssignmentId=bad, RequesterFeedback="no")
    call("SendBonus", AssignmentId=good, WorkerId=ada.id, BonusAmount="0.05", Reason="thanks")
    assert call("ListBonusPayments", **hit)["NumResults"] == 1
    assert call("GetAccountBalance")["AvailableBalance"] == face.balance

    # Workers, and the end.
    call("NotifyWorkers", Subject="s", MessageText="t", WorkerIds=[ada.id])
    call("CreateWorkerBlock", WorkerId=bob.id, Reason="r")
    assert call("ListWorkerBlocks")["NumResults"] == 1
    call("DeleteWorkerBlock", WorkerId=bob.id)
    call("DisassociateQualificationFromWorker", **own, WorkerId=bob.id)
    call("CreateAdditionalAssignmentsForHIT", **hit, NumberOfAdditionalAssignments=1)
    for each in (made, other):
        call("UpdateExpirationForHIT", HITId=each["HITId"], ExpireAt=0)
        call("DeleteHIT", HITId=each["HITId"])
    call("DeleteQualificationType", **own)
    assert called == OPERATIONS.keys()
