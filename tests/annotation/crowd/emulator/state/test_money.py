import sqlite3

import pytest

from annotation.crowd.emulator.state.money import cents, dollars, fee_cents
from tests.annotation.crowd.emulator.conftest import Starter
from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, refusal, requirement

FEEDBACK = "missed both controls"


@pytest.mark.parametrize(
    ("reward", "masters", "assignments", "fee"),
    [
        (15, False, 1, 3),
        (15, True, 2, 4),  # 3 and 0.75, which rounds up
        (15, True, 9, 4),
        (15, True, 10, 7),
        (15, False, 10, 6),
        (1, False, 1, 1),  # at least one cent each
        (1, True, 10, 3),
        (0, False, 1, 1),
        (12, False, 1, 2),  # 2.4
        (13, False, 1, 3),  # 2.6
        (10, True, 1, 3),  # 2 and 0.5, which rounds up
        (30, True, 1, 8),  # 6 and 1.5, which rounds up
        (29, True, 1, 7),  # 5.8 and 1.45
        (100, True, 10, 45),
    ],
)
def test_fees(reward: int, masters: bool, assignments: int, fee: int) -> None:
    assert fee_cents(reward, masters=masters, assignments=assignments) == fee


@pytest.mark.parametrize(
    ("text", "amount"), [("0.15", 15), ("3", 300), ("12.5", 1250), ("7.", 700), ("0.00", 0)]
)
def test_amounts(text: str, amount: int) -> None:
    assert cents(text) == amount
    assert cents(dollars(amount)) == amount


def test_publishing_holds_reward_and_fees_of_all_places(turk: Turk) -> None:
    masters = requirement("2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "Exists")
    turk.hit(max_assignments=2, hit_type=turk.hit_type(QualificationRequirements=[masters]))
    assert turk.balance() == ("9999.62", "0.38")  # 2 x (15 + 3 + 1)


def test_extending_holds_the_price_of_the_new_places(turk: Turk) -> None:
    hit_id = turk.hit(max_assignments=2)
    turk.api.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)
    assert turk.balance() == ("9999.46", "0.54")


def test_approval_pays_the_worker_and_the_fee(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.do(turk.hit())
    assert turk.balance() == ("9999.82", "0.18")
    turk.api.approve_assignment(AssignmentId=assignment_id)
    assert turk.balance() == ("9999.82", "0.00")
    paid = turk.rows("SELECT kind, spent, assignment_id FROM money WHERE spent > 0")
    assert [tuple(row) for row in paid] == [
        ("reward", 15, assignment_id),
        ("fee", 3, assignment_id),
    ]


def test_rejection_releases_and_its_reversal_pays(turk: Turk, ada: Worker) -> None:
    assignment_id = ada.do(turk.hit())
    turk.api.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    assert turk.balance() == ("10000.00", "0.00")
    turk.api.approve_assignment(AssignmentId=assignment_id, OverrideRejection=True)
    assert turk.balance() == ("9999.82", "0.00")


def test_expiry_releases_unused_places_only(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(max_assignments=5, LifetimeInSeconds=300)
    ada.do(hit_id)
    pending = bob.take(hit_id)
    turk.clock.forward(300)
    assert turk.balance() == ("9999.64", "0.36")
    bob.give_back(pending)
    assert turk.balance() == ("9999.82", "0.18")


def test_work_abandoned_after_the_hits_end_is_released(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(LifetimeInSeconds=300)
    ada.take(hit_id)
    turk.clock.forward(599)
    assert turk.balance() == ("9999.82", "0.18")
    turk.clock.forward(1)
    assert turk.balance() == ("10000.00", "0.00")


def test_a_return_before_the_end_keeps_the_hold(turk: Turk, ada: Worker) -> None:
    ada.give_back(ada.take(turk.hit()))
    assert turk.balance() == ("9999.82", "0.18")


def test_publishing_needs_the_whole_price(start: Starter) -> None:
    turk = start(balance_cents=53)
    hit_id = turk.hit(max_assignments=2)
    create = turk.api.create_hit_with_hit_type
    shown = turk.shown(hit_id)
    code, message = refusal(
        create, HITTypeId=shown["HITTypeId"], LifetimeInSeconds=60, Question=shown["Question"]
    )
    assert code == "InsufficientFunds"
    assert "needs 0.18" in message
    assert "0.17 is available" in message
    extend = turk.api.create_additional_assignments_for_hit
    code, _ = refusal(extend, HITId=hit_id, NumberOfAdditionalAssignments=1)
    assert code == "InsufficientFunds"
    assert turk.balance() == ("0.17", "0.36")
    assert turk.shown(hit_id)["MaxAssignments"] == 2


def test_reversing_a_rejection_needs_funds(start: Starter) -> None:
    turk = start(balance_cents=18)
    assignment_id = turk.worker("AADA").do(turk.hit())
    turk.api.reject_assignment(AssignmentId=assignment_id, RequesterFeedback=FEEDBACK)
    turk.hit()
    approve = turk.api.approve_assignment
    code, _ = refusal(approve, AssignmentId=assignment_id, OverrideRejection=True)
    assert code == "InsufficientFunds"
    assert (
        turk.api.get_assignment(AssignmentId=assignment_id)["Assignment"]["AssignmentStatus"]
        == "Rejected"
    )


def test_the_money_table_cannot_be_rewritten(turk: Turk) -> None:
    turk.hit()
    db = sqlite3.connect(turk.state)
    for statement in ("UPDATE money SET available = 0", "DELETE FROM money"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(statement)
    db.close()


def test_the_account_is_the_sum_of_the_money_table(turk: Turk, ada: Worker) -> None:
    turk.api.approve_assignment(AssignmentId=ada.do(turk.hit(max_assignments=3)))
    turk.clock.forward(2 * DAY)
    turk.balance()
    (account,) = turk.rows("SELECT available, on_hold, spent FROM account")
    (sums,) = turk.rows("SELECT SUM(available), SUM(on_hold), SUM(spent) FROM money")
    assert tuple(account) == tuple(sums) == (999_982, 0, 18)
