import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.model import ServiceModel

from annotation.crowd.emulator.http.wire import OPERATIONS
from annotation.crowd.emulator.validation import Model, faults
from tests.annotation.crowd.emulator.forms import asked, html_question, question_form
from tests.annotation.crowd.emulator.turk import TARGET, Turk, Worker, question

MODEL = Model()
SERVICE = ServiceModel(Loader().load_service_model("mturk", "service-2"))
GET_HIT = {"X-Amz-Target": f"{TARGET}.GetHIT"}
HIT_TYPE = {
    "Title": "t",
    "Description": "d",
    "Reward": "0.15",
    "AssignmentDurationInSeconds": 600,
}
HIT = {"HITTypeId": "TYPE", "LifetimeInSeconds": 600, "Question": question()}
MASTERS = {"QualificationTypeId": "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "Comparator": "Exists"}
QUALIFICATION = {"Name": "n", "Description": "d", "QualificationTypeStatus": "Active"}


def test_every_operation_of_the_service_model_is_served() -> None:
    assert OPERATIONS.keys() == MODEL.operations
    assert len(OPERATIONS) == 39


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("HITLayoutId", "A"),
        ("HITLayoutParameters", [{"Name": "n", "Value": "v"}]),
        ("HITReviewPolicy", {"PolicyName": "x"}),
        ("AssignmentReviewPolicy", {"PolicyName": "x"}),
    ],
)
@pytest.mark.parametrize("operation", ["CreateHIT", "CreateHITWithHITType"])
def test_what_is_not_supported_says_so(
    idle_turk: Turk, operation: str, parameter: str, value: object
) -> None:
    kind = HIT_TYPE if operation == "CreateHIT" else {"HITTypeId": "TYPE"}
    given = kind | {"LifetimeInSeconds": 600, parameter: value}
    assert idle_turk.raw(operation, **given).json() == {
        "__type": "RequestError",
        "Message": f"{parameter} is not supported here.",
        "TurkErrorCode": "AWS.MechanicalTurk.NotSupported",
    }


def test_boto3_raises_mturks_own_error(idle_turk: Turk) -> None:
    with pytest.raises(idle_turk.api.exceptions.RequestError) as caught:
        idle_turk.api.get_hit(HITId="NOSUCHHIT")
    response = caught.value.response
    assert response["Error"] == {
        "Code": "RequestError",
        "Message": "Hit NOSUCHHIT does not exist.",
    }
    assert response["TurkErrorCode"] == "AWS.MechanicalTurk.HITDoesNotExist"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert response["ResponseMetadata"]["RequestId"]
    assert response["ResponseMetadata"]["RetryAttempts"] == 0


@pytest.mark.parametrize(
    "target", ["", "GetHIT", f"{TARGET}.", f"{TARGET}.NoSuchOperation", "Other.GetHIT"]
)
def test_an_unknown_target_is_the_protocols_error(idle_turk: Turk, target: str) -> None:
    response = idle_turk.browser().post("/", content=b"{}", headers={"X-Amz-Target": target})
    assert response.status_code == 400
    assert response.json()["__type"] == "UnknownOperationException"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"HITId": NaN}',
        b"[" * 100_000,
        b'{"HITId":' * 20_000,
        b"9" * 10_000,
    ],
)
def test_a_body_that_is_not_json_is_the_protocols_error(idle_turk: Turk, body: bytes) -> None:
    response = idle_turk.browser().post(
        "/", content=body, headers={"X-Amz-Target": f"{TARGET}.GetHIT"}
    )
    assert response.status_code == 400
    assert response.json()["__type"] == "SerializationException"


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null"])
def test_a_body_that_is_no_structure_is_refused(idle_turk: Turk, body: bytes) -> None:
    response = idle_turk.browser().post(
        "/", content=body, headers={"X-Amz-Target": f"{TARGET}.GetHIT"}
    )
    assert "must be a structure" in response.json()["Message"]


def test_an_empty_body_has_no_parameters(idle_turk: Turk) -> None:
    headers = {"X-Amz-Target": f"{TARGET}.GetAccountBalance"}
    response = idle_turk.browser().post("/", headers=headers)
    assert response.json() == {"AvailableBalance": "10000.00", "OnHoldBalance": "0.00"}
    assert response.headers["Content-Type"] == "application/x-amz-json-1.1"
    assert response.headers["x-amzn-RequestId"]


def test_a_body_that_is_too_large_is_refused(idle_turk: Turk) -> None:
    assert idle_turk.raw("GetHIT", HITId="A" * 2_000_000).status_code == 413


@pytest.mark.parametrize(
    ("operation", "parameters", "complaint"),
    [
        ("GetHIT", {}, "HITId is required"),
        ("GetHIT", {"HITId": None}, "HITId is required"),
        ("GetHIT", {"HITId": 7}, "must be a string"),
        ("GetHIT", {"HITId": ["A"]}, "must be a string"),
        ("GetHIT", {"HITId": ""}, "at least 1 characters"),
        ("GetHIT", {"HITId": "A" * 65}, "at most 64 characters"),
        ("GetHIT", {"HITId": "lower"}, "must match the pattern"),
        ("GetHIT", {"HITId": "A\n"}, "must match the pattern"),
        ("GetHIT", {"HITId": "\u0661"}, "must match the pattern"),
        ("GetHIT", {"HITId": "A", "Colour": "red"}, "not a known member"),
        ("GetHIT", {"HITId": "'; DROP TABLE hits; --"}, "must match the pattern"),
        ("ListHITs", {"MaxResults": 0}, "at least 1"),
        ("ListHITs", {"MaxResults": 101}, "at most 100"),
        ("ListHITs", {"MaxResults": "10"}, "must be an integer"),
        ("ListHITs", {"MaxResults": 1.5}, "must be an integer"),
        ("ListHITs", {"MaxResults": True}, "must be an integer"),
        ("ListHITs", {"NextToken": ""}, "at least 1 characters"),
        ("ListHITs", {"NextToken": "A" * 256}, "at most 255"),
        ("ListAssignmentsForHIT", {"HITId": "A", "AssignmentStatuses": ["Lost"]}, "must be one of"),
        ("ListAssignmentsForHIT", {"HITId": "A", "AssignmentStatuses": "Approved"}, "be a list"),
        ("ApproveAssignment", {"AssignmentId": "A", "OverrideRejection": 1}, "true or false"),
        ("RejectAssignment", {"AssignmentId": "A"}, "RequesterFeedback is required"),
        ("RejectAssignment", {"AssignmentId": "A", "RequesterFeedback": "x" * 1025}, "1024"),
        ("CreateHITType", HIT_TYPE | {"Reward": "-1"}, "must match the pattern"),
        ("CreateHITType", HIT_TYPE | {"Reward": "0.155"}, "must match the pattern"),
        ("CreateHITType", HIT_TYPE | {"Reward": "\u0663"}, "must match the pattern"),
        ("CreateHITType", HIT_TYPE | {"Reward": "9" * 40}, "Reward must be at most"),
        ("CreateHITType", HIT_TYPE | {"Title": "x" * 129}, "at most 128 characters"),
        ("CreateHITType", HIT_TYPE | {"Title": "\ud800"}, "surrogate"),
        ("CreateHITType", HIT_TYPE | {"Title": "a\0b"}, "NUL"),
        ("CreateHITType", HIT_TYPE | {"Description": "x" * 2001}, "at most 2000 characters"),
        ("CreateHITType", HIT_TYPE | {"Keywords": "x" * 1001}, "at most 1000 characters"),
        ("CreateHITType", HIT_TYPE | {"AssignmentDurationInSeconds": 29}, "must be from 30"),
        ("CreateHITType", HIT_TYPE | {"AssignmentDurationInSeconds": 2**70}, "64 bits"),
        ("CreateHITType", HIT_TYPE | {"AutoApprovalDelayInSeconds": 2592001}, "must be from 0"),
        ("CreateHITType", HIT_TYPE | {"QualificationRequirements": [{}]}, "Comparator is required"),
        (
            "CreateHITType",
            HIT_TYPE | {"QualificationRequirements": [MASTERS | {"Comparator": "Equals"}]},
            "QualificationRequirements[0].Comparator must be one of",
        ),
        (
            "CreateHITType",
            HIT_TYPE | {"QualificationRequirements": [MASTERS | {"LocaleValues": [{}]}]},
            "LocaleValues[0].Country is required",
        ),
        ("CreateHITWithHITType", HIT | {"LifetimeInSeconds": 29}, "must be from 30"),
        ("CreateHITWithHITType", HIT | {"LifetimeInSeconds": 31536001}, "to 31536000"),
        ("CreateHITWithHITType", HIT | {"MaxAssignments": 0}, "must be from 1"),
        ("CreateHITWithHITType", HIT | {"MaxAssignments": 2**31}, "32 bits"),
        ("CreateHITWithHITType", HIT | {"RequesterAnnotation": "x" * 256}, "at most 255"),
        ("CreateHITWithHITType", HIT | {"UniqueRequestToken": "x" * 65}, "at most 64"),
        ("CreateHITWithHITType", HIT | {"Question": None}, "Question is required"),
        (
            "CreateAdditionalAssignmentsForHIT",
            {"HITId": "A", "NumberOfAdditionalAssignments": 0},
            "must be from 1",
        ),
        ("CreateQualificationType", QUALIFICATION | {"Test": "<x/>"}, "given together"),
        ("CreateQualificationType", QUALIFICATION | {"AnswerKey": "<x/>"}, "the Test that it"),
        (
            "CreateQualificationType",
            QUALIFICATION | {"Test": "<x/>", "TestDurationInSeconds": 60},
            "root must be QuestionForm",
        ),
        ("CreateQualificationType", QUALIFICATION | {"QualificationTypeStatus": "x"}, "be one of"),
        (
            "AssociateQualificationWithWorker",
            {"QualificationTypeId": "A", "WorkerId": "B1"},
            "must match the pattern",
        ),
        ("ListQualificationTypes", {}, "MustBeRequestable is required"),
    ],
)
def test_a_malformed_request_is_refused_in_mturks_shape(
    idle_turk: Turk, operation: str, parameters: dict[str, object], complaint: str
) -> None:
    response = idle_turk.raw(operation, **parameters)
    body = response.json()
    assert response.status_code == 400
    assert body["__type"] == "RequestError"
    assert body["TurkErrorCode"].startswith("AWS.MechanicalTurk.")
    assert complaint in body["Message"]


def test_all_faults_of_a_request_are_named_at_once(idle_turk: Turk) -> None:
    message = idle_turk.raw("CreateHITType", Title=1, Reward="x", Colour="red").json()["Message"]
    for part in ("Title", "Reward", "Colour", "Description is required"):
        assert part in message


def test_a_long_value_is_not_sent_back_in_full(idle_turk: Turk) -> None:
    assert len(idle_turk.raw("GetHIT", HITId="a" * 500_000).text) < 1000


def test_every_response_follows_the_service_model(turk: Turk, ada: Worker) -> None:
    called: set[str] = set()

    def call(operation: str, **parameters: object) -> dict[str, Any]:
        response = turk.raw(operation, **parameters)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = json.loads(response.content)
        assert not list(faults(SERVICE.operation_model(operation).output_shape, answer, ""))
        called.add(operation)
        return answer

    made = call("CreateQualificationType", **QUALIFICATION, RetryDelayInSeconds=60)
    own = {"QualificationTypeId": made["QualificationType"]["QualificationTypeId"]}
    requirements = [own | {"Comparator": "DoesNotExist", "ActionsGuarded": "PreviewAndAccept"}]
    made = call("CreateHITType", **HIT_TYPE, QualificationRequirements=requirements)
    hit = HIT | {"HITTypeId": made["HITTypeId"], "RequesterAnnotation": "x", "MaxAssignments": 2}
    hit_id = call("CreateHITWithHITType", **hit)["HIT"]["HITId"]
    call("CreateHITWithHITType", **hit)
    approved = ada.do(hit_id)
    rejected = turk.worker("ABOB").do(hit_id)
    call("GetAssignment", AssignmentId=approved)
    call("ApproveAssignment", AssignmentId=approved, RequesterFeedback="thanks")
    call("RejectAssignment", AssignmentId=rejected, RequesterFeedback="no")
    call("ListAssignmentsForHIT", HITId=hit_id, MaxResults=1)
    call("CreateAdditionalAssignmentsForHIT", HITId=hit_id, NumberOfAdditionalAssignments=1)
    call("GetHIT", HITId=hit_id)
    call("ListHITs", MaxResults=1)
    call("GetAccountBalance")
    call("GetQualificationType", **own)
    call("ListQualificationTypes", MustBeRequestable=False, MaxResults=2)
    call("AssociateQualificationWithWorker", **own, WorkerId="AADA", IntegerValue=3)
    call("GetQualificationScore", **own, WorkerId="AADA")
    call("ListWorkersWithQualificationType", **own)
    call("DisassociateQualificationFromWorker", **own, WorkerId="AADA", Reason="done")
    bonus = {"BonusAmount": "0.50", "Reason": "thanks"}
    call("SendBonus", WorkerId="AADA", AssignmentId=approved, **bonus)
    call("ListBonusPayments", AssignmentId=approved)
    call("CreateWorkerBlock", WorkerId="AADA", Reason="done")
    call("ListWorkerBlocks", MaxResults=1)
    call("DeleteWorkerBlock", WorkerId="AADA", Reason="done")
    call("NotifyWorkers", Subject="s", MessageText="t", WorkerIds=["AADA", "ANOBODY"])
    call("UpdateExpirationForHIT", HITId=hit_id, ExpireAt=0)
    call("UpdateHITReviewStatus", HITId=hit_id)
    call("ListReviewableHITs", Status="Reviewing", HITTypeId=hit["HITTypeId"])
    call("ListReviewPolicyResultsForHIT", HITId=hit_id)
    call("ListHITsForQualificationType", **own, MaxResults=1)
    call("CreateHIT", **HIT_TYPE, LifetimeInSeconds=60, Question=html_question("<p>x</p>"))
    call("UpdateHITTypeOfHIT", HITId=hit_id, HITTypeId=hit["HITTypeId"])
    notification = {
        "Destination": "a@b.example",
        "Transport": "Email",
        "Version": "2006-05-05",
        "EventTypes": ["HITExpired"],
    }
    call("UpdateNotificationSettings", HITTypeId=hit["HITTypeId"], Notification=notification)
    call("SendTestEventNotification", Notification=notification, TestEventType="Ping")
    call("DeleteHIT", HITId=hit_id)
    call("GetHIT", HITId=hit_id)
    test = {"Test": question_form(asked("q")), "TestDurationInSeconds": 60}
    call("UpdateQualificationType", **own, **test)
    for worker in (ada, turk.worker("ABOB")):
        path = f"/worker/{worker.id}/qualifications/{own['QualificationTypeId']}/request"
        address = worker.browser.post(path).headers["Location"]
        worker.browser.post(address, data={"answer-0": "x"})
    requests = call("ListQualificationRequests", **own)["QualificationRequests"]
    first, second = (
        {"QualificationRequestId": each["QualificationRequestId"]} for each in requests
    )
    call("AcceptQualificationRequest", **first, IntegerValue=2)
    call("RejectQualificationRequest", **second, Reason="no")
    call("DeleteQualificationType", **own)
    assert called == OPERATIONS.keys() - {"GetFileUploadURL"}  # which is always refused


def test_a_refused_write_leaves_nothing_behind(turk: Turk) -> None:
    with pytest.raises(ClientError, match="insufficient funds"):
        turk.hit(max_assignments=1_000_000)
    assert turk.rows("SELECT 1 FROM hits") == []
    assert turk.balance() == ("10000.00", "0.00")
