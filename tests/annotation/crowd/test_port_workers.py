"""The contract of every crowd with regard to workers: who may work, bonuses and messages."""

import pytest

from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.port import CrowdError
from tests.annotation.crowd.conftest import Market

pytestmark = pytest.mark.concurrent


def test_an_excluded_worker_cannot_accept(market: Market) -> None:
    exclusion = market.crowd.create_qualification(f"excluded {next(market.tokens)}", "Shut out.")
    hit_id = market.publish(hit_type_id=market.hit_type(exclusion_id=exclusion))
    ada, eve = market.hire("ada"), market.hire("eve")
    for _ in range(2):  # a repeated call changes nothing
        market.crowd.exclude(eve.worker_id, exclusion_id=exclusion)
    assert eve.accept(hit_id) is None
    assert ada.accept(hit_id) is not None


def test_a_restored_worker_can_accept_again(market: Market) -> None:
    exclusion = market.crowd.create_qualification(f"excluded {next(market.tokens)}", "Shut out.")
    hit_id = market.publish(hit_type_id=market.hit_type(exclusion_id=exclusion))
    ada, eve = market.hire("ada"), market.hire("eve")
    market.crowd.exclude(ada.worker_id, exclusion_id=exclusion)
    for worker in (ada, ada, eve):  # again, and one who never held it
        market.crowd.restore(worker.worker_id, exclusion_id=exclusion)
    assert ada.accept(hit_id) is not None
    assert eve.accept(hit_id) is not None
    market.crowd.exclude(ada.worker_id, exclusion_id=exclusion)
    assert ada.accept(market.publish(hit_type_id=market.hit_type(exclusion_id=exclusion))) is None


def test_of_those_who_are_known_all_but_the_excluded_can_accept(market: Market) -> None:
    known = market.crowd.create_qualification(f"known {next(market.tokens)}", "Has worked.")
    kind = market.hit_type(known_id=known, excluded_workers=(7, 9))
    hit_id = market.publish(max_assignments=9, hit_type_id=kind)
    ada, bob, eve, new = (market.hire(name) for name in ("ada", "bob", "eve", "new"))
    for worker, number in ((ada, 7), (bob, 8), (eve, 9)):
        market.crowd.grant(worker.worker_id, qualification_id=known, value=number)
    accepted = [worker.accept(hit_id) is not None for worker in (ada, bob, eve, new)]
    # In-house a newcomer has visibly judged nothing yet; MTurk only knows who has no number.
    assert accepted == [False, True, False, isinstance(market.crowd, InhouseCrowd)]


def test_a_value_granted_later_replaces_the_first(market: Market) -> None:
    known = market.crowd.create_qualification(f"known {next(market.tokens)}", "Has worked.")
    hit_id = market.publish(hit_type_id=market.hit_type(known_id=known, excluded_workers=(7,)))
    ada = market.hire("ada")
    for number in (8, 7, 7):
        market.crowd.grant(ada.worker_id, qualification_id=known, value=number)
    assert ada.accept(hit_id) is None
    market.crowd.grant(ada.worker_id, qualification_id=known, value=8)
    assert ada.accept(hit_id) is not None


def test_only_who_has_passed_the_qualification_test_can_accept(market: Market) -> None:
    trained = market.crowd.create_qualification(f"trained {next(market.tokens)}", "Qualified.")
    hit_id = market.publish(max_assignments=9, hit_type_id=market.hit_type(qualified_id=trained))
    ada, bob = market.hire("ada"), market.hire("bob")
    market.crowd.grant(ada.worker_id, qualification_id=trained, value=80)
    assert [worker.accept(hit_id) is not None for worker in (ada, bob)] == [True, False]


def test_nobody_excluded_means_that_all_can_accept(market: Market) -> None:
    known = market.crowd.create_qualification(f"known {next(market.tokens)}", "Has worked.")
    hit_id = market.publish(hit_type_id=market.hit_type(known_id=known))
    assert market.hire("ada").accept(hit_id) is not None


def test_a_blocked_worker_can_accept_nothing_until_unblocked(market: Market) -> None:
    eve = market.hire("eve")
    for _ in range(2):
        market.crowd.block(eve.worker_id, reason="Answers at random.")
    assert eve.accept(market.publish()) is None
    for _ in range(2):
        market.crowd.unblock(eve.worker_id, reason="Was somebody else.")
    assert eve.accept(market.publish()) is not None


def test_a_bonus_is_paid_once_for_each_token(market: Market) -> None:
    ada, token = market.hire("ada"), next(market.tokens)
    done = ada.work(market.publish())
    market.crowd.approve(done)
    balances = set()
    for _ in range(2):
        market.crowd.bonus(ada.worker_id, done, cents=10, reason="Thank you.", token=token)
        balances.add(market.crowd.balance_cents())
    assert len(balances) == 1
    assert market.crowd.bonus_paid(done, cents=10, reason="Thank you.")


def test_a_bonus_can_be_looked_up_by_its_amount_and_reason(market: Market) -> None:
    ada = market.hire("ada")
    done = ada.work(market.publish())
    assert not market.crowd.bonus_paid(done, cents=105, reason="Thank you.")
    token = next(market.tokens)
    market.crowd.bonus(ada.worker_id, done, cents=105, reason="Thank you.", token=token)
    assert market.crowd.bonus_paid(done, cents=105, reason="Thank you.")
    assert not market.crowd.bonus_paid(done, cents=104, reason="Thank you.")
    assert not market.crowd.bonus_paid(done, cents=105, reason="For patience.")


def test_a_bonus_for_another_s_work_is_refused_for_good(market: Market) -> None:
    done, bob = market.hire("ada").work(market.publish()), market.hire("bob")
    with pytest.raises(CrowdError, match=done) as refusal:
        market.crowd.bonus(bob.worker_id, done, cents=1, reason="?", token=next(market.tokens))
    assert refusal.value.permanent


def test_an_exclusion_is_found_again_by_its_exact_name(market: Market) -> None:
    name = f"excluded {next(market.tokens)}"
    other = market.crowd.create_qualification(f"{name} 2", "Shut out.")
    first = market.crowd.create_qualification(name, "Shut out.")
    assert market.crowd.create_qualification(name, "Shut out.") == first != other


def test_who_has_worked_can_be_written_to(market: Market) -> None:
    ada, token = market.hire("ada"), next(market.tokens)
    market.crowd.approve(ada.work(market.publish()))
    for _ in range(2):  # to be safe to repeat is all that is asked: it may arrive twice
        market.crowd.notify(ada.worker_id, subject="Your work", text="Thank you.", token=token)


def test_a_message_to_nobody_is_refused_for_good(market: Market) -> None:
    with pytest.raises(CrowdError, match="ANOBODY") as refusal:
        market.crowd.notify("ANOBODY", subject="s", text="t", token=next(market.tokens))
    assert refusal.value.permanent
