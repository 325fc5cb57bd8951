"""Members ask for qualifications at the site's Turk and take their tests."""

import time
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from annotation.crowd.emulator.state.qualifications import LOCALE, MASTERS, MASTERS_SANDBOX
from annotation.crowd.inhouse.members import deactivate
from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.turk.workers import worker_id_of
from tests.annotation.crowd.emulator.forms import (
    answer_key,
    asked,
    choice,
    free_text,
    question_form,
)
from tests.annotation.crowd.emulator.turk import parsed
from tests.annotation.crowd.turk.conftest import Join, Person
from tests.annotation.support.turk import post_hit
from tests.worlds.hostile import MARK, MARKUP

TEST = question_form(asked("move", choice("c", "d"), required=True))
KEY = answer_key({"move": {"d": 5, "c": 1}})
GRADED = {"Test": TEST, "AnswerKey": KEY, "TestDurationInSeconds": 600}


def in_country(comparator: str, *countries: str) -> dict[str, Any]:
    values = [{"Country": country} for country in countries]
    return {"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": values}


def offer(client: Any, name: str = "Chess", **values: object) -> str:
    made = client.create_qualification_type(
        **{"Name": name, "Description": "Knows it.", "QualificationTypeStatus": "Active", **values}
    )
    type_id: str = made["QualificationType"]["QualificationTypeId"]
    return type_id


def page_of(person: Person, type_id: str) -> str:
    return f"{person.home}/lab/qualifications/{type_id}"


def ask(person: Person, type_id: str) -> httpx.Response:
    fields = person.fields(f"{person.home}/qualifications")
    return person.http.post(page_of(person, type_id), data=fields)


def said(answer: httpx.Response) -> str:
    return str(parsed(answer.text).xpath("normalize-space(//main)"))


def names(person: Person, query: str = "") -> list[str]:
    return person.page(f"/qualifications{query}").xpath("//article//h3/text()")


def card(person: Person, type_id: str) -> Any:
    page = parsed(person.http.get(page_of(person, type_id)).text)
    [article] = page.xpath("//article")
    return article


def wait(lab: RequesterAccount, seconds: int) -> None:
    """What has begun is moved back, for the site's Turk has the world's clock."""
    with store_of(lab, Environment.SANDBOX).writing() as session:
        session.db.execute(
            "UPDATE qualification_requests SET requested_at = requested_at - :s,"
            " deadline = deadline - :s",
            {"s": seconds},
        )


def score(client: Any, person: Person, type_id: str) -> int:
    held = client.get_qualification_score(
        QualificationTypeId=type_id, WorkerId=worker_id_of(person.member)
    )
    value: int = held["Qualification"]["IntegerValue"]
    return value


def test_a_hit_leads_to_the_qualification_that_it_wants(join: Join, labs: Any) -> None:
    ada = join("ada")
    type_id = offer(labs, AutoGranted=True, AutoGrantedValue=7)
    wanted = {"QualificationTypeId": type_id, "Comparator": "EqualTo", "IntegerValues": [7]}
    hit = f"{ada.home}/lab/hits/{post_hit(labs, requirements=[wanted])}"
    [link] = ada.page().xpath("//article//a[text()='Chess']/@href")
    assert link == page_of(ada, type_id)
    assert ada.accept(hit).status_code == 409
    answer = ask(ada, type_id)
    assert answer.status_code == 200
    assert "You have the qualification now." in answer.text
    assert "Your value: 7" in said(answer)
    assert score(labs, ada, type_id) == 7
    assert "You do not meet" not in ada.page().text_content()
    assert ada.accept(hit).status_code == 200


def test_what_cannot_be_asked_for_is_named_without_a_link(join: Join, labs: Any) -> None:
    ada = join("ada")
    idle, had = offer(labs, "Idle"), offer(labs, "Had", AutoGranted=True)
    ask(ada, had)
    wanted = [
        {"QualificationTypeId": idle, "Comparator": "Exists"},
        {"QualificationTypeId": had, "Comparator": "DoesNotExist"},
        {
            "QualificationTypeId": "00000000000000000040",
            "Comparator": "EqualTo",
            "IntegerValues": [9],
        },
    ]
    post_hit(labs, requirements=wanted)
    labs.update_qualification_type(QualificationTypeId=idle, QualificationTypeStatus="Inactive")
    lacking = "You do not meet: Idle, Had (only without it), Approved HITs (exactly 9; yours: 0)"
    assert lacking in ada.page().text_content()
    assert ada.page().xpath("//p[contains(., 'You do not meet')]//a") == []


def test_qualifications_are_searched_by_words(join: Join, labs: Any) -> None:
    ada = join("ada")
    offer(labs, "Red", Keywords="colour, warm")
    offer(labs, "blue", Keywords="colour, cold", Description="Sees the sea.")
    offer(labs, "Idle", QualificationTypeStatus="Inactive")
    assert names(ada) == names(ada, "?q=LAB") == names(ada, "?page=x") == ["blue", "Red"]
    assert names(ada, "?q=colour+SEA") == ["blue"]
    assert names(ada, "?q=green") == []
    assert "No qualification has these words." in ada.page("/qualifications?q=green").text_content()


def test_a_request_waits_for_the_requester(join: Join, labs: Any) -> None:
    ada, bob = join("ada"), join("bob")
    type_id = offer(labs)
    assert "The requester has your request now." in ask(ada, type_id).text
    mine = ada.page("/qualifications")
    assert mine.xpath(
        "//h2[text()='Yours, and asked for']/following-sibling::article//h3/text()"
    ) == ["Chess"]
    assert "You have asked for this qualification: the requester will decide." in said(
        ada.http.get(page_of(ada, type_id))
    )
    assert ask(ada, type_id).status_code == 409
    [request] = labs.list_qualification_requests()["QualificationRequests"]
    assert request["WorkerId"] == worker_id_of(ada.member)
    labs.accept_qualification_request(
        QualificationRequestId=request["QualificationRequestId"], IntegerValue=42
    )
    assert "Your value: 42" in card(ada, type_id).text_content()
    assert "Your value" not in card(bob, type_id).text_content()


def test_a_rejected_request_says_why(join: Join, labs: Any) -> None:
    ada = join("ada")
    type_id = offer(labs)
    ask(ada, type_id)
    [request] = labs.list_qualification_requests()["QualificationRequests"]
    labs.reject_qualification_request(
        QualificationRequestId=request["QualificationRequestId"], Reason="<b>Not</b> yet."
    )
    text = card(ada, type_id).text_content()
    assert "The requester did not grant it: <b>Not</b> yet." in text
    assert "You have asked for this qualification already, and can ask only once." in text
    assert not card(ada, type_id).xpath(".//button")


def test_a_delay_says_when_to_ask_again(join: Join, lab: RequesterAccount, labs: Any) -> None:
    ada = join("ada")
    type_id = offer(labs, AutoGranted=True, RetryDelayInSeconds=7 * 86400)
    assert (
        "After you ask for it, you can do so again in 7 days." in card(ada, type_id).text_content()
    )
    ask(ada, type_id)
    with store_of(lab, Environment.SANDBOX).reading() as session:
        [row] = session.db.execute("SELECT requested_at FROM qualification_requests")
    day = time.strftime("%Y-%m-%d", time.gmtime(row["requested_at"] + 7 * 86400))
    assert f"You can ask for it again from {day}" in card(ada, type_id).text_content()
    assert not card(ada, type_id).xpath(".//button")
    refused = ask(ada, type_id)
    assert (refused.status_code, f"again from {day}" in refused.text) == (409, True)
    wait(lab, 7 * 86400)
    assert card(ada, type_id).xpath(".//button")
    assert ask(ada, type_id).status_code == 200


@pytest.mark.parametrize(("move", "value"), [("d", 5), ("c", 1)])
def test_a_test_is_graded_by_its_key(join: Join, labs: Any, move: str, value: int) -> None:
    ada = join("ada")
    type_id = offer(labs, **GRADED)
    assert "Test of 10 minutes" in card(ada, type_id).text_content()
    taken = ask(ada, type_id)
    assert "/lab/tests/" in str(taken.url)
    assert "img-src http: https:" in taken.headers["Content-Security-Policy"]
    [name] = set(parsed(taken.text).xpath("//input[@type='radio']/@name"))
    wrong = ada.http.post(str(taken.url), data=ada.fields(str(taken.url)))
    assert wrong.status_code == 400
    [fault] = parsed(wrong.text).xpath("//*[@class='fault']/text()")
    assert fault == "This question needs an answer."
    [again] = card(ada, type_id).xpath(".//a[text()='Continue']/@href")
    assert str(taken.url).endswith(again)
    assert str(ask(ada, type_id).url) == str(taken.url)
    done = ada.http.post(again, data=ada.fields(again) | {name: move})
    assert f"Your value: {value}" in said(done)
    assert score(labs, ada, type_id) == value
    assert ada.http.get(again).status_code == 409


def test_a_test_without_a_key_waits_for_the_requester(join: Join, labs: Any) -> None:
    ada = join("ada")
    essay = question_form(asked("why", free_text('<Length minLength="3"/>')))
    taken = ask(ada, offer(labs, Test=essay, TestDurationInSeconds=600))
    page = parsed(taken.text)
    [name] = page.xpath("//form[contains(@class, 'turk-form')]//input[not(@type)]/@name")
    fields = ada.fields(str(taken.url))
    short = ada.http.post(str(taken.url), data=fields | {name: "so"})
    assert (short.status_code, "Write at least 3 characters." in short.text) == (400, True)
    assert parsed(short.text).xpath("//input[not(@type)]/@value") == ["so"]
    done = ada.http.post(str(taken.url), data=fields | {name: "because\x00"})
    assert "The requester has your request now." in done.text
    [request] = labs.list_qualification_requests()["QualificationRequests"]
    assert "<FreeText>because\ufffd</FreeText>" in request["Answer"]


def test_a_test_that_runs_out_counts_as_taken(join: Join, lab: RequesterAccount, labs: Any) -> None:
    ada = join("ada")
    type_id = offer(labs, **GRADED)
    taken = ask(ada, type_id)
    fields = ada.fields(str(taken.url))
    wait(lab, 601)
    late = ada.http.post(str(taken.url), data=fields | {"answer-0": "d"})
    assert (late.status_code, "has run out" in late.text) == (409, True)
    text = card(ada, type_id).text_content()
    assert "You did not submit the test in time." in text
    assert "You have asked for this qualification already, and can ask only once." in text


def test_a_test_is_for_who_asked_for_it(join: Join, labs: Any) -> None:
    ada, bob = join("ada"), join("bob")
    type_id = offer(labs, **GRADED)
    taken = ask(ada, type_id)
    create_account("other")
    fields = bob.fields(f"{bob.home}/qualifications") | {"answer-0": "d"}
    assert bob.http.get(str(taken.url)).status_code == 404
    assert bob.http.post(str(taken.url), data=fields).status_code == 404
    for place in (f"{ada.home}/other", "/work/turk/production/lab", f"{ada.home}/nobody"):
        assert ada.http.get(f"{place}/qualifications/{type_id}").status_code == 404
        assert ada.http.get(f"{place}/tests/{str(taken.url)[-30:]}").status_code == 404
    assert "Your value" not in card(bob, type_id).text_content()


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_no_longer_offered_stays_with_who_has_it(
    join: Join, labs: Any, *, keeps: bool
) -> None:
    ada, bob = join("ada"), join("bob")
    type_id = offer(labs, AutoGranted=True, RetryDelayInSeconds=0)
    if keeps:
        ask(ada, type_id)
    labs.update_qualification_type(QualificationTypeId=type_id, QualificationTypeStatus="Inactive")
    assert names(ada) == ["Chess"] * keeps
    assert names(bob) == []
    assert ada.http.get(page_of(ada, type_id)).status_code == (200 if keeps else 404)
    assert ask(ada, type_id).status_code == 404
    if keeps:
        assert "does not offer" in card(ada, type_id).text_content()
        assert not card(ada, type_id).xpath(".//button")


def test_hostile_texts_are_texts(join: Join, labs: Any) -> None:
    ada = join("ada")
    texts = {value[:128] for value in MARKUP.values()}
    ids = [offer(labs, value, Description=value, Keywords=value) for value in texts]
    foreign = "//main//*[self::script or self::img or self::iframe or contains(@class, $mark)]"
    pages = [ada.page("/qualifications"), *(card(ada, type_id) for type_id in ids)]
    assert [page.xpath(foreign, mark=MARK) for page in pages] == [[]] * len(pages)
    assert {heading.text_content() for heading in pages[0].xpath("//article//h3")} == texts


def test_who_has_opened_no_page_yet_is_granted_a_qualification(join: Join, labs: Any) -> None:
    ada, eve = join("ada"), join("eve")
    deactivate(eve.member)
    type_id = offer(labs)
    given = {"QualificationTypeId": type_id, "IntegerValue": 7}
    labs.associate_qualification_with_worker(WorkerId=worker_id_of(ada.member), **given)
    assert score(labs, ada, type_id) == 7
    assert "Your value: 7" in card(ada, type_id).text_content()
    for stranger in (worker_id_of(eve.member), f"A{'X' * 12}", f"A{worker_id_of(ada.member)}"):
        with pytest.raises(ClientError, match=f"Worker {stranger} does not exist"):
            labs.associate_qualification_with_worker(WorkerId=stranger, **given)


def test_who_has_opened_no_page_yet_is_blocked(join: Join, labs: Any) -> None:
    ada = join("ada")
    labs.create_worker_block(WorkerId=worker_id_of(ada.member), Reason="Knows the answers.")
    post_hit(labs)
    assert ada.titles() == []


@pytest.mark.parametrize(
    ("requirement", "reason"),
    [
        ({"QualificationTypeId": MASTERS, "Comparator": "Exists"}, "nobody is a Master here"),
        ({"QualificationTypeId": MASTERS_SANDBOX, "Comparator": "Exists"}, "nobody is a Master"),
        (in_country("EqualTo", "GB"), "everybody's Worker_Locale is US here"),
        (in_country("NotIn", "US", "GB"), "everybody's Worker_Locale is US here"),
    ],
)
def test_what_nobody_can_ever_meet_is_refused(
    labs: Any, requirement: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ClientError, match=f"Nobody can accept such a HIT: {reason}") as refused:
        post_hit(labs, requirements=[requirement])
    assert refused.value.response["Error"]["Code"] == "RequestError"
    assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.NotSupported"


def test_what_everybody_meets_is_no_hindrance(join: Join, labs: Any) -> None:
    ada = join("ada")
    no_master = {"QualificationTypeId": MASTERS, "Comparator": "DoesNotExist"}
    post_hit(labs, requirements=[no_master, in_country("In", "US", "GB")])
    assert ada.titles() == ["Name the colour"]
