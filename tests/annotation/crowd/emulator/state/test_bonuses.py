import pytest

from annotation.crowd.emulator.state.money import bonus_fee_cents
from tests.annotation.crowd.emulator.conftest import Starter
from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, refusal


def send(turk: Turk, assignment_id: str, **given: str) -> dict[str, object]:
    values = {"WorkerId": "AADA", "BonusAmount": "0.50", "Reason": "careful work"}
    answer: dict[str, object] = turk.api.send_bonus(AssignmentId=assignment_id, **values | given)
    return answer


def refused(turk: Turk, assignment_id: str, **given: str) -> tuple[str, str]:
    values = {"WorkerId": "AADA", "BonusAmount": "0.50", "Reason": "careful work"}
    return refusal(turk.api.send_bonus, AssignmentId=assignment_id, **values | given)


@pytest.mark.parametrize(("bonus", "fee"), [(1, 1), (5, 1), (7, 1), (8, 2), (50, 10), (13, 3)])
def test_mturk_takes_a_fifth_of_a_bonus_and_at_least_a_cent(bonus: int, fee: int) -> None:
    assert bonus_fee_cents(bonus) == fee


def test_a_bonus_pays_the_worker_and_the_fee_besides_the_reward(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit()
    assignment_id = ada.do(hit_id)
    send(turk, assignment_id)
    assert turk.balance() == ("9999.22", "0.18")
    paid = turk.rows("SELECT * FROM money WHERE spent > 0 ORDER BY seq")
    assert [(row["kind"], row["spent"], row["on_hold"]) for row in paid] == [
        ("bonus", 50, 0),
        ("bonus_fee", 10, 0),
    ]
    assert {(row["hit_id"], row["assignment_id"]) for row in paid} == {(hit_id, assignment_id)}


@pytest.mark.parametrize("decide", ["approve", "reject", "neither"])
def test_a_bonus_is_paid_whatever_was_decided(turk: Turk, ada: Worker, decide: str) -> None:
    assignment_id = ada.do(turk.hit())
    if decide == "approve":
        turk.api.approve_assignment(AssignmentId=assignment_id)
    if decide == "reject":
        turk.api.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="no")
    send(turk, assignment_id)
    assert len(turk.rows("SELECT 1 FROM bonuses")) == 1


def test_a_token_pays_once_in_24_hours(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.do(turk.hit())
    answer = turk.api.send_bonus(
        AssignmentId=assignment_id,
        WorkerId="AADA",
        BonusAmount="0.50",
        Reason="careful work",
        UniqueRequestToken="once",
    )
    code, message = refused(turk, assignment_id, UniqueRequestToken="once")
    assert code == "IdempotencyTokenAlreadyProcessed"
    assert answer["ResponseMetadata"]["RequestId"] in message
    turk.clock.forward(DAY - 1)
    assert refused(turk, assignment_id, UniqueRequestToken="once")[0] == code
    assert len(turk.rows("SELECT 1 FROM bonuses")) == 1
    turk.clock.forward(1)
    send(turk, assignment_id, UniqueRequestToken="once")
    assert len(turk.rows("SELECT 1 FROM bonuses")) == 2


def test_without_a_token_each_call_pays(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.do(turk.hit())
    send(turk, assignment_id)
    send(turk, assignment_id)
    assert turk.balance() == ("9998.62", "0.18")


def test_a_bonus_needs_its_whole_price(start: Starter) -> None:
    turk = start(balance_cents=18 + 59)
    assignment_id = turk.worker("AADA").do(turk.hit())
    code, message = refused(turk, assignment_id, UniqueRequestToken="once")
    assert code == "InsufficientFunds"
    assert "needs 0.60" in message
    assert turk.balance() == ("0.59", "0.18")
    send(turk, assignment_id, BonusAmount="0.49", UniqueRequestToken="once")
    assert turk.balance() == ("0.00", "0.18")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"BonusAmount": "0"}, "from 0.01"),
        ({"BonusAmount": "10000.01"}, "to 10000.00"),
        ({"BonusAmount": "-1"}, "match the pattern"),
        ({"Reason": " "}, "Reason must not be empty"),
        ({"WorkerId": "ABOB"}, "not the work of worker ABOB"),
    ],
)
def test_what_cannot_be_paid_is_refused(
    turk: Turk, ada: Worker, bob: Worker, given: dict[str, str], complaint: str
) -> None:
    code, message = refused(turk, ada.do(turk.hit()), **given)
    assert code == "InvalidParameterValue"
    assert complaint in message
    assert turk.rows("SELECT 1 FROM bonuses") == []


def test_a_bonus_is_for_work_that_was_submitted(turk: Turk, ada: Worker) -> None:
    assert refused(turk, ada.take(turk.hit()))[0] == "InvalidAssignmentState"
    assert refused(turk, "NOSUCHASSIGNMENT")[0] == "AssignmentDoesNotExist"


def test_bonuses_are_listed_by_hit_and_by_assignment(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id, other = turk.hit(max_assignments=2), turk.hit()
    first, second, third = ada.do(hit_id), bob.do(hit_id), ada.do(other)
    send(turk, first, BonusAmount="0.01", Reason="one")
    send(turk, second, BonusAmount="0.02", Reason="two", WorkerId="ABOB")
    send(turk, third, BonusAmount="0.03", Reason="three")
    paginator = turk.api.get_paginator("list_bonus_payments")
    pages = list(paginator.paginate(HITId=hit_id, PaginationConfig={"PageSize": 1}))
    assert [page["NumResults"] for page in pages] == [1, 1]
    paid = [each for page in pages for each in page["BonusPayments"]]
    assert [(each["AssignmentId"], each["BonusAmount"]) for each in paid] == [
        (first, "0.01"),
        (second, "0.02"),
    ]
    (only,) = turk.api.list_bonus_payments(AssignmentId=third)["BonusPayments"]
    assert (only["WorkerId"], only["Reason"]) == ("AADA", "three")
    assert only["GrantTime"].timestamp() == turk.clock.now


def test_bonuses_are_listed_of_exactly_one_thing(turk: Turk) -> None:
    for given in ({}, {"HITId": "A", "AssignmentId": "B"}):
        code, message = refusal(turk.api.list_bonus_payments, **given)
        assert code == "InvalidParameterValue"
        assert "Exactly one" in message


@pytest.mark.parametrize("thing", ["HIT", "Assignment"])
def test_bonuses_of_what_does_not_exist_are_refused(turk: Turk, thing: str) -> None:
    code, message = refusal(turk.api.list_bonus_payments, **{f"{thing}Id": "NOSUCH"})
    assert code == f"{thing}DoesNotExist"
    assert message.endswith("NOSUCH does not exist.")
