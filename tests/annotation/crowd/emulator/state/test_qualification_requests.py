"""Workers ask for qualifications and take their tests; requesters decide."""

from typing import Any

import pytest

from tests.annotation.crowd.emulator.forms import (
    answer_key,
    asked,
    choice,
    free_text,
    question_form,
)
from tests.annotation.crowd.emulator.turk import Turk, Worker, parsed, refusal, requirement

TEST = question_form(
    asked("move", choice("c", "d"), required=True)
    + asked("fruit", choice("apples", "pears", high=2))
)
KEY = answer_key({"move": {"d": 5}, "fruit": {"apples": 10}})
ESSAY = question_form(asked("why", free_text('<Length minLength="3"/>')))


def made(turk: Turk, name: str = "n", **values: object) -> str:
    answer = turk.api.create_qualification_type(
        Name=name, Description="d", QualificationTypeStatus="Active", **values
    )
    type_id: str = answer["QualificationType"]["QualificationTypeId"]
    return type_id


def ask(worker: Worker, type_id: str) -> tuple[int, str]:
    """The status and where it leads, or the sentence of the refusal."""
    response = worker.browser.post(f"/worker/{worker.id}/qualifications/{type_id}/request")
    if response.status_code == 303:
        return 303, response.headers["Location"]
    return response.status_code, parsed(response.text).xpath("string(//main/p)")


def score(turk: Turk, type_id: str, worker_id: str = "AADA") -> int:
    held = turk.api.get_qualification_score(QualificationTypeId=type_id, WorkerId=worker_id)
    value: int = held["Qualification"]["IntegerValue"]
    return value


def pending(turk: Turk, **filters: str) -> list[dict[str, Any]]:
    pages = turk.api.get_paginator("list_qualification_requests")
    return [
        each
        for page in pages.paginate(**filters, PaginationConfig={"PageSize": 1})
        for each in page["QualificationRequests"]
    ]


LIST = "/worker/AADA/qualifications"


def test_what_is_granted_to_all_is_granted_at_once(turk: Turk, ada: Worker) -> None:
    type_id = made(turk, AutoGranted=True, AutoGrantedValue=7)
    hit_type = turk.hit_type(QualificationRequirements=[requirement(type_id, "EqualTo", [7])])
    hit_id = turk.hit(hit_type=hit_type)
    assert ada.offers() == []
    assert ask(ada, type_id) == (303, LIST)
    assert score(turk, type_id) == 7
    assert ada.offers() == [hit_id]
    assert ask(ada, type_id) == (409, "You have this qualification.")


@pytest.mark.parametrize("value", [None, 42])
def test_a_request_waits_until_it_is_accepted(turk: Turk, ada: Worker, value: int | None) -> None:
    type_id = made(turk)
    assert ask(ada, type_id) == (303, LIST)
    assert ask(ada, type_id)[0] == 409
    assert "will decide" in ask(ada, type_id)[1]
    (request,) = pending(turk)
    assert (request["QualificationTypeId"], request["WorkerId"]) == (type_id, "AADA")
    assert request["SubmitTime"].timestamp() == turk.clock.now
    assert "Test" not in request
    given = {} if value is None else {"IntegerValue": value}
    decided = {"QualificationRequestId": request["QualificationRequestId"]}
    turk.api.accept_qualification_request(**decided, **given)
    assert score(turk, type_id) == (value or 1)
    assert pending(turk) == []
    for call in (turk.api.accept_qualification_request, turk.api.reject_qualification_request):
        assert refusal(call, **decided)[0] == "InvalidQualificationRequestState"


def test_a_rejected_request_tells_the_worker_why(turk: Turk, ada: Worker) -> None:
    type_id = made(turk)
    ask(ada, type_id)
    (request,) = pending(turk)
    turk.api.reject_qualification_request(
        QualificationRequestId=request["QualificationRequestId"], Reason="<b>not yet</b>"
    )
    page = ada.browser.get(LIST).text
    assert "&lt;b&gt;not yet&lt;/b&gt;" in page
    assert ask(ada, type_id) == (
        409,
        "You have asked for this qualification already, and can ask only once.",
    )
    with pytest.raises(turk.api.exceptions.RequestError):
        score(turk, type_id)


def test_requests_are_listed_by_type_in_their_order(turk: Turk, ada: Worker, bob: Worker) -> None:
    first, second = made(turk, "one"), made(turk, "two")
    for worker, type_id in ((bob, first), (ada, second), (ada, first)):
        ask(worker, type_id)
    ids = [(each["WorkerId"], each["QualificationTypeId"]) for each in pending(turk)]
    assert ids == [("ABOB", first), ("AADA", second), ("AADA", first)]
    only = pending(turk, QualificationTypeId=first)
    assert [each["WorkerId"] for each in only] == ["ABOB", "AADA"]
    call = turk.api.list_qualification_requests
    assert refusal(call, QualificationTypeId="00000000000000000071")[0] == (
        "PermissionDeniedException"
    )


def test_a_delay_says_when_to_ask_again(turk: Turk, ada: Worker) -> None:
    type_id = made(turk, AutoGranted=True, RetryDelayInSeconds=3600)
    ask(ada, type_id)
    turk.clock.forward(3599)
    assert ask(ada, type_id) == (
        409,
        "You can ask for it again from 2023-11-14 23:13 UTC.",
    )
    turk.clock.forward(1)
    assert ask(ada, type_id)[0] == 303


def test_what_was_revoked_cannot_be_had_again_by_asking(turk: Turk, ada: Worker) -> None:
    type_id = made(turk, AutoGranted=True)
    ask(ada, type_id)
    turk.api.disassociate_qualification_from_worker(QualificationTypeId=type_id, WorkerId="AADA")
    assert ask(ada, type_id)[0] == 409


@pytest.mark.parametrize("unavailable", ["inactive", "deleted", "system", "unknown"])
def test_what_is_not_offered_cannot_be_asked_for(turk: Turk, ada: Worker, unavailable: str) -> None:
    type_id = made(turk)
    if unavailable == "inactive":
        turk.api.update_qualification_type(
            QualificationTypeId=type_id, QualificationTypeStatus="Inactive"
        )
    elif unavailable == "deleted":
        turk.api.delete_qualification_type(QualificationTypeId=type_id)
    asked_for = {"system": "00000000000000000071", "unknown": "NOSUCH"}.get(unavailable, type_id)
    assert ask(ada, asked_for)[0] == 404
    assert asked_for not in ada.browser.get(LIST).text


def test_deleting_a_type_rejects_what_waits(turk: Turk, ada: Worker) -> None:
    type_id = made(turk)
    ask(ada, type_id)
    (request,) = pending(turk)
    turk.api.delete_qualification_type(QualificationTypeId=type_id)
    assert pending(turk) == []
    decided = {"QualificationRequestId": request["QualificationRequestId"]}
    code, message = refusal(turk.api.accept_qualification_request, **decided)
    assert code == "InvalidQualificationRequestState"
    assert message.endswith("is Rejected.")


def start(turk: Turk, worker: Worker, **values: object) -> tuple[str, str]:
    """The type and the address of the test that the worker takes."""
    given = {"Test": TEST, "AnswerKey": KEY, "TestDurationInSeconds": 600} | values
    type_id = made(turk, **{name: value for name, value in given.items() if value is not None})
    status, address = ask(worker, type_id)
    assert status == 303
    assert "/tests/" in address
    return type_id, address


@pytest.mark.parametrize(("fruit", "value"), [(["apples"], 15), (["apples", "pears"], 5), ([], 5)])
def test_a_test_with_a_key_is_graded_at_once(
    turk: Turk, ada: Worker, fruit: list[str], value: int
) -> None:
    type_id, address = start(turk, ada)
    response = ada.browser.post(address, data={"answer-0": "d", "answer-1": fruit})
    assert (response.status_code, response.headers["Location"]) == (303, LIST)
    assert score(turk, type_id) == value
    assert f"with the value {value}" in ada.browser.get(LIST).text
    assert ada.browser.get(address).status_code == 409
    assert ada.browser.post(address, data={"answer-0": "d"}).status_code == 409


def test_a_test_without_a_key_waits_for_the_requester(turk: Turk, ada: Worker) -> None:
    type_id, address = start(turk, ada, Test=ESSAY, AnswerKey=None)
    assert ada.browser.post(address, data={"answer-0": "because"}).status_code == 303
    (request,) = pending(turk)
    assert request["Test"] == ESSAY
    assert "<FreeText>because</FreeText>" in request["Answer"]
    turk.api.accept_qualification_request(
        QualificationRequestId=request["QualificationRequestId"], IntegerValue=80
    )
    assert score(turk, type_id) == 80


def test_a_wrong_form_comes_back_with_what_was_entered(turk: Turk, ada: Worker) -> None:
    _, address = start(turk, ada)
    response = ada.browser.post(address, data={"answer-1": "pears"})
    assert response.status_code == 400
    page = parsed(response.text)
    assert page.xpath("string(//p[@id='answer-0-fault'])") == "This question needs an answer."
    assert page.xpath("//input[@checked]/@value") == ["pears"]
    assert ada.browser.post(address, data={"answer-0": "c"}).status_code == 303


def test_a_test_goes_on_where_it_was_left_and_keeps_its_questions(turk: Turk, ada: Worker) -> None:
    type_id, address = start(turk, ada)
    turk.api.update_qualification_type(
        QualificationTypeId=type_id, Test=ESSAY, TestDurationInSeconds=60
    )
    assert ask(ada, type_id) == (303, address)
    assert ada.browser.post(address, data={"answer-0": "d"}).status_code == 303
    assert score(turk, type_id) == 5


@pytest.mark.parametrize("retry", [None, 900])
def test_a_test_that_was_not_submitted_in_time_counts_as_taken(
    turk: Turk, ada: Worker, retry: int | None
) -> None:
    type_id, address = start(turk, ada, RetryDelayInSeconds=retry)
    turk.clock.forward(600)
    late = ada.browser.post(address, data={"answer-0": "d"})
    assert late.status_code == 409
    assert "run out" in late.text
    assert ask(ada, type_id)[0] == 409
    turk.clock.forward(300)
    assert ask(ada, type_id)[0] == (409 if retry is None else 303)


def test_a_better_score_can_be_had_where_retries_are_allowed(turk: Turk, ada: Worker) -> None:
    type_id, address = start(turk, ada, RetryDelayInSeconds=60)
    ada.browser.post(address, data={"answer-0": "c"})
    assert score(turk, type_id) == 0
    turk.clock.forward(60)
    again = ask(ada, type_id)[1]
    assert again != address
    ada.browser.post(again, data={"answer-0": "d", "answer-1": "apples"})
    assert score(turk, type_id) == 15


def test_another_workers_test_is_out_of_reach(turk: Turk, ada: Worker, bob: Worker) -> None:
    _, address = start(turk, ada)
    theirs = address.replace("AADA", "ABOB")
    assert bob.browser.get(theirs).status_code == 404
    assert bob.browser.post(theirs, data={"answer-0": "d"}).status_code == 404


def test_qualifications_are_found_by_words(turk: Turk, ada: Worker) -> None:
    for name, keywords in (("French", "language"), ("German", "language"), ("100% chess", "game")):
        made(turk, name, Keywords=keywords)

    def listed(words: str) -> list[str]:
        page = ada.browser.get(LIST, params={"words": words}).text
        return [str(each) for each in parsed(page).xpath("//li//h2/text()")]

    assert listed("") == ["100% chess", "French", "German"]
    assert listed("LANGUAGE") == ["French", "German"]
    assert listed("%") == ["100% chess"]
    assert listed("' OR 1=1 --") == []
    assert "There is nothing here" in ada.browser.get(f"{LIST}?words=x").text
