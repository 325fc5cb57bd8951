"""Nothing that was deposited or earned is lost, or counted twice, whenever a process is killed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.emulator.state import money
from annotation.crowd.emulator.store import Store
from annotation.crowd.turk import payments
from annotation.crowd.turk.accounts import create_account, figures_of
from annotation.crowd.turk.models import AccountDeposit, Payout, RequesterAccount
from annotation.crowd.turk.payments import (
    book_deposits,
    deposit,
    lines_of,
    new_payout,
    numbered_payout,
    owed,
)
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.turk.workers import worker_id_of
from core.errors import UserError
from tests.annotation.crowd.turk.earner import Earner, give_money
from tests.annotation.web.stage import make_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(tmp_path: Path, settings: Settings) -> RequesterAccount:
    settings.DATA_DIR = tmp_path
    return create_account("lab")


def test_a_deposit_is_spent_in_production_alone(
    lab: RequesterAccount, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        deposit(lab, 1234)
    assert figures_of(lab)["available_cents"] == 1234
    with store_of(lab, Environment.SANDBOX).reading() as session:
        assert money.balance(session)["available"] == 1_000_000


def test_a_deposit_that_was_not_logged_is_not_booked(lab: RequesterAccount) -> None:
    with transaction.atomic():
        deposit(lab, 1234)
        transaction.set_rollback(True)
    assert figures_of(lab)["available_cents"] == 0


def test_a_deposit_that_was_not_booked_is_booked_once_by_whoever_looks(
    lab: RequesterAccount,
) -> None:
    """As when the process is killed after its transaction, or after the ledger's."""
    for cents in (500, 250):
        AccountDeposit.objects.create(account=lab, cents=cents, made_at=timezone.now())
    for _ in range(3):
        book_deposits(lab)
        assert figures_of(lab)["available_cents"] == 750


def test_a_deposit_that_the_ledger_alone_knows_takes_nothing_from_the_next(
    lab: RequesterAccount,
) -> None:
    """As after a backup that was made at that moment."""
    give_money(lab, 500)
    AccountDeposit.objects.all().delete()
    book_deposits(lab)
    give_money(lab, 250)
    assert figures_of(lab)["available_cents"] == 750


@pytest.mark.parametrize("cents", [0, -1, 100_000_001])
def test_a_deposit_is_of_a_sensible_sum(lab: RequesterAccount, cents: int) -> None:
    with pytest.raises(UserError, match=r"from \$0\.01 to \$1,000,000\.00"):
        deposit(lab, cents)


def test_a_payout_holds_what_is_new_and_can_be_had_again(lab: RequesterAccount) -> None:
    ada, bob = make_member("ada"), make_member("bob")
    ada.user.email, ada.user.first_name = "ada@example.org", "=Ada"
    ada.user.save()
    give_money(lab, 1000)
    earner = Earner(lab)
    earner.earn(worker_id_of(ada), "0.20", bonus="0.05")
    earner.earn(worker_id_of(ada), "0.10")
    earner.earn(worker_id_of(bob), "0.07")
    first = new_payout(lab)
    earner.earn(worker_id_of(ada), "0.03")
    second = new_payout(lab)
    adas = (worker_id_of(ada), "=Ada", "ada@example.org", "0.30", "0.05", "0.35", 2, "USD")
    bobs = (worker_id_of(bob), "bob", "", "0.07", "0.00", "0.07", 1, "USD")
    assert sorted(lines_of(first), key=str) == sorted([adas, bobs], key=str)
    assert [(one.number, one.cents) for one in (first, second)] == [(1, 42), (2, 3)]
    assert [line[5] for line in lines_of(numbered_payout(lab, 2))] == ["0.03"]
    with pytest.raises(UserError, match="Nobody is owed anything"):
        new_payout(lab)
    with pytest.raises(UserError, match="has no pay-out 3: it has 2"):
        numbered_payout(lab, 3)


def test_unpaid_and_pending_work_is_owed_by_nobody(lab: RequesterAccount) -> None:
    give_money(lab, 100)
    Earner(lab).earn("AADA", "0.00")
    assert owed(lab) == []


def test_of_two_payouts_at_once_one_is_made(
    lab: RequesterAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_money(lab, 100)
    Earner(lab).earn("AADA", "0.10")

    def overtaken(account: RequesterAccount, environment: Environment) -> Store:
        """The other one is made once this one has looked at what is paid."""
        monkeypatch.setattr(payments, "store_of", store_of)
        new_payout(account)
        return store_of(account, environment)

    monkeypatch.setattr(payments, "store_of", overtaken)
    with pytest.raises(UserError, match="by somebody else"):
        new_payout(lab)
    assert list(Payout.objects.values_list("number", "cents")) == [(1, 10)]
