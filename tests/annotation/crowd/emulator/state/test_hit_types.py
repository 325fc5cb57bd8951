"""A HIT in one call, and another type for it: what changes hands with it."""

import pytest

from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, question, refusal

TYPE = {
    "Title": "Same question?",
    "Description": "Judge pairs of questions",
    "Reward": "0.15",
    "AssignmentDurationInSeconds": 600,
}
HIT = {"LifetimeInSeconds": DAY, "Question": question(), "MaxAssignments": 2}


def test_one_call_makes_a_hit_and_its_type(turk: Turk) -> None:
    first, second = (turk.api.create_hit(**TYPE, **HIT)["HIT"] for _ in range(2))
    assert first["HITTypeId"] == second["HITTypeId"] == turk.hit_type(**TYPE)
    assert first["HITId"] != second["HITId"]
    assert first["HITGroupId"] == second["HITGroupId"]
    assert first["HITStatus"] == "Assignable"
    assert turk.balance() == ("9999.28", "0.72")


def test_its_token_is_that_of_every_hit(turk: Turk) -> None:
    made = turk.api.create_hit(**TYPE, **HIT, UniqueRequestToken="once")["HIT"]["HITId"]
    code, message = refusal(turk.api.create_hit, **TYPE, **HIT, UniqueRequestToken="once")
    assert code == "HitAlreadyExists"
    assert made in message
    assert turk.balance() == ("9999.64", "0.36")


def change(turk: Turk, hit_id: str, **values: str) -> dict[str, str]:
    return {"HITId": hit_id, "HITTypeId": turk.hit_type(**values)}


def test_a_hit_takes_on_all_of_another_type(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=2)
    turk.api.update_hit_type_of_hit(**change(turk, hit_id, Title="Other", Reward="1.00"))
    shown = turk.shown(hit_id)
    assert (shown["Title"], shown["Reward"], shown["HITStatus"]) == ("Other", "1.00", "Assignable")
    assert turk.balance() == ("9997.60", "2.40")
    turk.api.update_hit_type_of_hit(**change(turk, hit_id, Reward="0.05"))
    assert turk.balance() == ("9999.88", "0.12")


def test_of_an_expired_hit_nothing_is_held(turk: Turk) -> None:
    hit_id = turk.hit()
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    turk.api.update_hit_type_of_hit(**change(turk, hit_id, Reward="1.00"))
    assert turk.balance() == ("10000.00", "0.00")


def test_a_reward_that_the_account_cannot_hold_is_refused(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=9)
    wanted = change(turk, hit_id, Reward="1000.00")
    assert refusal(turk.api.update_hit_type_of_hit, **wanted)[0] == "InsufficientFunds"
    assert turk.shown(hit_id)["Reward"] == "0.15"
    assert turk.balance() == ("9998.38", "1.62")


@pytest.mark.parametrize("decision", ["", "submit", "reject_assignment"])
def test_who_works_on_a_hit_is_paid_what_was_offered(
    turk: Turk, ada: Worker, decision: str
) -> None:
    hit_id = turk.hit(max_assignments=2)
    taken = ada.take(hit_id)
    if decision:
        ada.submit(taken)
    if decision == "reject_assignment":
        turk.api.reject_assignment(AssignmentId=taken, RequesterFeedback="no")
    code, message = refusal(turk.api.update_hit_type_of_hit, **change(turk, hit_id, Reward="0.05"))
    assert code == "InvalidHITState"
    assert "pays 0.15" in message
    before = turk.balance()
    turk.api.update_hit_type_of_hit(**change(turk, hit_id, Title="Other"))
    assert turk.shown(hit_id)["Title"] == "Other"
    assert turk.balance() == before


def test_what_was_paid_does_not_stand_in_the_way(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(max_assignments=2)
    turk.api.approve_assignment(AssignmentId=ada.do(hit_id))
    turk.api.update_hit_type_of_hit(**change(turk, hit_id, Reward="0.50"))
    assert turk.balance() == ("9999.22", "0.60")


def test_only_what_exists_can_be_changed(turk: Turk) -> None:
    hit_id = turk.hit()
    call = turk.api.update_hit_type_of_hit
    assert refusal(call, HITId="NOSUCH", HITTypeId=turk.hit_type())[0] == "HITDoesNotExist"
    assert refusal(call, HITId=hit_id, HITTypeId="NOSUCH")[0] == "HITTypeDoesNotExist"
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    turk.api.delete_hit(HITId=hit_id)
    assert refusal(call, HITId=hit_id, HITTypeId=turk.hit_type())[0] == "InvalidHITState"


@pytest.mark.parametrize("name", ["Title", "Description"])
def test_what_workers_are_to_read_is_not_empty(turk: Turk, name: str) -> None:
    for call, given in ((turk.api.create_hit, HIT), (turk.api.create_hit_type, {})):
        for text in ("", " \n"):
            code, message = refusal(call, **TYPE | given | {name: text})
            assert (code, message) == ("InvalidParameterValue", f"{name} must not be empty.")


def test_nobody_is_blocked_or_written_to_without_a_word(turk: Turk) -> None:
    block = {"WorkerId": "AADA", "Reason": ""}
    message = {"WorkerIds": ["AADA"], "Subject": "Hello", "MessageText": ""}
    kind = {"Name": "x", "Description": "", "QualificationTypeStatus": "Active"}
    for call, given in (
        (turk.api.create_worker_block, block),
        (turk.api.notify_workers, message),
        (turk.api.create_qualification_type, kind),
    ):
        empty = next(name for name, value in given.items() if value == "")
        assert refusal(call, **given)[1] == f"{empty} must not be empty."
