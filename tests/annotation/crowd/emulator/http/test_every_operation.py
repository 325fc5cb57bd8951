"""All 39 operations by an unmodified boto3 client, which reads every answer by its own model."""

from typing import Any

from botocore import xform_name

from annotation.crowd.emulator.http.wire import OPERATIONS
from tests.annotation.crowd.emulator.forms import (
    answer_key,
    asked,
    choice,
    html_question,
    question_form,
)
from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, refusal, requirement

TEST = question_form(asked("q", choice("a", "b")))
HIT = {"LifetimeInSeconds": DAY, "MaxAssignments": 2}
TYPE = {"Title": "t", "Description": "d", "Reward": "0.10", "AssignmentDurationInSeconds": 600}
NOTIFICATION = {
    "Destination": "arn:aws:sns:us-east-1:1:t",
    "Transport": "SNS",
    "Version": "2014-08-15",
    "EventTypes": ["HITCreated"],
}


def test_a_campaign_calls_every_operation(turk: Turk, ada: Worker, bob: Worker) -> None:
    called: set[str] = set()

    def call(operation: str, **parameters: Any) -> Any:
        called.add(operation)
        return getattr(turk.api, xform_name(operation))(**parameters)

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
    asked_for = ada.browser.post(f"/worker/AADA/qualifications/{tested}/request")
    ada.browser.post(asked_for.headers["Location"], data={"answer-0": "a"})
    score = call("GetQualificationScore", QualificationTypeId=tested, WorkerId="AADA")
    assert score["Qualification"]["IntegerValue"] == 9
    for worker in (ada, bob):
        worker.browser.post(f"/worker/{worker.id}/qualifications/{known}/request")
    first, second = call("ListQualificationRequests", **own)["QualificationRequests"]
    call("AcceptQualificationRequest", QualificationRequestId=first["QualificationRequestId"])
    call("RejectQualificationRequest", QualificationRequestId=second["QualificationRequestId"])
    call("AssociateQualificationWithWorker", **own, WorkerId="ABOB", IntegerValue=1)
    assert call("ListWorkersWithQualificationType", **own)["NumResults"] == 2

    # HITs of each kind of question.
    required = [requirement(known, "Exists")]
    type_id = call("CreateHITType", **TYPE, QualificationRequirements=required)["HITTypeId"]
    call("UpdateNotificationSettings", HITTypeId=type_id, Notification=NOTIFICATION)
    call("SendTestEventNotification", Notification=NOTIFICATION, TestEventType="Ping")
    made = call("CreateHITWithHITType", HITTypeId=type_id, **HIT, Question=TEST)["HIT"]
    other = call("CreateHIT", **TYPE, **HIT, Question=html_question("<p>x</p>"))["HIT"]
    call("UpdateHITTypeOfHIT", HITId=other["HITId"], HITTypeId=type_id)
    assert call("ListHITsForQualificationType", **own)["NumResults"] == 2
    assert call("ListHITs")["NumResults"] == 2
    hit = {"HITId": made["HITId"]}
    one, two = (
        worker.submit(worker.take(made["HITId"]), **{"answer-0": "b"}) for worker in (ada, bob)
    )
    assert (one.status_code, two.status_code) == (200, 200)

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
    assert refusal(turk.api.get_file_upload_url, **file)[0] == "NotSupported"
    call("ApproveAssignment", AssignmentId=good)
    call("RejectAssignment", AssignmentId=bad, RequesterFeedback="no")
    call("SendBonus", AssignmentId=good, WorkerId="AADA", BonusAmount="0.05", Reason="thanks")
    assert call("ListBonusPayments", **hit)["NumResults"] == 1
    assert call("GetAccountBalance")["AvailableBalance"] == "9999.58"

    # Workers, and the end.
    call("NotifyWorkers", Subject="s", MessageText="t", WorkerIds=["AADA"])
    call("CreateWorkerBlock", WorkerId="ABOB", Reason="r")
    assert call("ListWorkerBlocks")["NumResults"] == 1
    call("DeleteWorkerBlock", WorkerId="ABOB")
    call("DisassociateQualificationFromWorker", **own, WorkerId="ABOB")
    call("CreateAdditionalAssignmentsForHIT", **hit, NumberOfAdditionalAssignments=1)
    for each in (made, other):
        call("UpdateExpirationForHIT", HITId=each["HITId"], ExpireAt=0)
        call("DeleteHIT", HITId=each["HITId"])
    call("DeleteQualificationType", **own)
    assert called == OPERATIONS.keys()
