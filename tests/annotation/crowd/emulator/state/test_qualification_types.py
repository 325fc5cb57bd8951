"""Types of qualifications: made with a test, changed, deleted, and the HITs that use them."""

from typing import Any

import pytest

from tests.annotation.crowd.emulator.forms import answer_key, asked, choice, question_form
from tests.annotation.crowd.emulator.turk import (
    DAY,
    Turk,
    Worker,
    grant,
    own_type,
    question,
    refusal,
    requirement,
)

TEST = question_form(asked("move", choice("c", "d")))
KEY = answer_key({"move": {"d": 1}})
FREE = question_form(asked("why"))
BASE = {"Name": "n", "Description": "d", "QualificationTypeStatus": "Active"}
TESTED = {"Test": TEST, "AnswerKey": KEY, "TestDurationInSeconds": 600}


def made(turk: Turk, **values: object) -> dict[str, Any]:
    answer: dict[str, Any] = turk.api.create_qualification_type(**BASE | values)
    return answer["QualificationType"]


def shown(turk: Turk, type_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = turk.api.get_qualification_type(QualificationTypeId=type_id)
    return answer["QualificationType"]


def test_a_type_keeps_its_test_and_key(turk: Turk) -> None:
    answer = made(turk, **TESTED, Keywords="k", RetryDelayInSeconds=60)
    assert {name: answer[name] for name in TESTED} == TESTED
    assert answer["RetryDelayInSeconds"] == 60
    assert answer["AutoGranted"] is False
    assert "AutoGrantedValue" not in answer
    assert shown(turk, answer["QualificationTypeId"]) == answer


def test_a_type_may_be_granted_to_all_who_ask(turk: Turk) -> None:
    answer = made(turk, AutoGranted=True, AutoGrantedValue=7)
    assert (answer["AutoGranted"], answer["AutoGrantedValue"]) == (True, 7)
    assert made(turk, Name="m", AutoGranted=True)["AutoGrantedValue"] == 1


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"Test": TEST}, "Test and TestDurationInSeconds must be given together"),
        ({"TestDurationInSeconds": 60}, "must be given together"),
        ({"AnswerKey": KEY}, "AnswerKey must be given with the Test"),
        (TESTED | {"AutoGranted": True}, "cannot be AutoGranted"),
        (TESTED | {"Test": FREE}, "why, which takes free text"),
        (TESTED | {"TestDurationInSeconds": 0}, "must be from 1"),
        (TESTED | {"Test": question()}, "root must be QuestionForm"),
        (TESTED | {"AnswerKey": TEST}, "root must be AnswerKey"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    turk: Turk, values: dict[str, object], part: str
) -> None:
    assert part in refusal(turk.api.create_qualification_type, **BASE | values)[1]
    type_id = own_type(turk)
    change = {"QualificationTypeId": type_id} | values
    assert part in refusal(turk.api.update_qualification_type, **change)[1]
    assert "Test" not in shown(turk, type_id)


def test_only_what_is_given_changes(turk: Turk) -> None:
    before = made(turk, **TESTED)
    type_id = before["QualificationTypeId"]
    answer = turk.api.update_qualification_type(
        QualificationTypeId=type_id,
        Description="other",
        QualificationTypeStatus="Inactive",
        RetryDelayInSeconds=9,
    )["QualificationType"]
    changed = {
        "Description": "other",
        "QualificationTypeStatus": "Inactive",
        "RetryDelayInSeconds": 9,
    }
    assert answer == before | changed == shown(turk, type_id)


def test_a_new_test_comes_without_the_old_key(turk: Turk) -> None:
    type_id = made(turk, **TESTED)["QualificationTypeId"]
    turk.api.update_qualification_type(
        QualificationTypeId=type_id, Test=FREE, TestDurationInSeconds=60
    )
    after = shown(turk, type_id)
    assert (after["Test"], after["TestDurationInSeconds"]) == (FREE, 60)
    assert "AnswerKey" not in after
    auto = {"QualificationTypeId": type_id, "AutoGranted": True}
    assert "cannot be AutoGranted" in refusal(turk.api.update_qualification_type, **auto)[1]


def test_a_type_without_a_test_can_get_one_once_nobody_has_it_for_the_asking(turk: Turk) -> None:
    type_id = made(turk, AutoGranted=True)["QualificationTypeId"]
    change = {"QualificationTypeId": type_id, **TESTED}
    assert "cannot be AutoGranted" in refusal(turk.api.update_qualification_type, **change)[1]
    turk.api.update_qualification_type(**change, AutoGranted=False)
    assert shown(turk, type_id)["Test"] == TEST


def test_only_ones_own_types_can_be_changed_or_deleted(turk: Turk) -> None:
    for call in (turk.api.update_qualification_type, turk.api.delete_qualification_type):
        assert refusal(call, QualificationTypeId="00000000000000000071")[0] == (
            "PermissionDeniedException"
        )
        assert refusal(call, QualificationTypeId="NOSUCH")[0] == "QualificationTypeDoesNotExist"


def test_hits_are_listed_by_what_they_require(turk: Turk) -> None:
    type_id, other = own_type(turk), own_type(turk, "other")
    required = [requirement(type_id, "Exists"), requirement(other, "DoesNotExist")]
    hit_type = turk.hit_type(QualificationRequirements=required)
    made_hits = [turk.hit(hit_type=hit_type) for _ in range(3)]
    turk.hit()
    for each in (type_id, other):
        pages = turk.api.get_paginator("list_hits_for_qualification_type")
        listed = [
            hit["HITId"]
            for page in pages.paginate(QualificationTypeId=each, PaginationConfig={"PageSize": 2})
            for hit in page["HITs"]
        ]
        assert listed == made_hits[::-1]
    unused = own_type(turk, "unused")
    call = turk.api.list_hits_for_qualification_type
    assert call(QualificationTypeId=unused)["HITs"] == []
    assert refusal(call, QualificationTypeId="NOSUCH")[0] == "QualificationTypeDoesNotExist"


def test_a_deleted_type_lives_on_in_hits_that_are_out(turk: Turk, ada: Worker, bob: Worker) -> None:
    type_id = own_type(turk, "known")
    hit_type = turk.hit_type(QualificationRequirements=[requirement(type_id, "Exists")])
    hit_id = turk.hit(hit_type=hit_type)
    grant(turk, type_id, "AADA")
    turk.api.delete_qualification_type(QualificationTypeId=type_id)
    assert (ada.offers(), bob.offers()) == ([hit_id], [])
    gone = "QualificationTypeDoesNotExist"
    assert refusal(turk.api.get_qualification_type, QualificationTypeId=type_id)[0] == gone
    assert refusal(turk.api.delete_qualification_type, QualificationTypeId=type_id)[0] == gone
    granting = {"QualificationTypeId": type_id, "WorkerId": "ABOB"}
    assert refusal(turk.api.associate_qualification_with_worker, **granting)[0] == gone
    new = {"HITTypeId": hit_type, "LifetimeInSeconds": DAY, "Question": question()}
    assert refusal(turk.api.create_hit_with_hit_type, **new)[0] == "HITTypeDoesNotExist"
    with pytest.raises(turk.api.exceptions.RequestError, match="does not exist"):
        turk.hit_type(QualificationRequirements=[requirement(type_id, "Exists")])
    listed = turk.api.list_hits_for_qualification_type(QualificationTypeId=type_id)
    assert [each["HITId"] for each in listed["HITs"]] == [hit_id]
    own = turk.api.list_qualification_types(MustBeRequestable=True)
    assert own["QualificationTypes"] == []
    assert own_type(turk, "known") != type_id
