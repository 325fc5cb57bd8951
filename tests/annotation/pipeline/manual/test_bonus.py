"""A bonus is asked for once, is covered by the budget, and is booked when it is paid."""

import pytest

from annotation.models import Account
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual.bonus import Bonus, give_bonus, preview_bonus, withdraw_bonus
from annotation.pipeline.outbox.messages import retry_failed
from annotation.pipeline.publishing.lifecycle import cancel
from core.errors import UserError
from tests.support.threads import together
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19
CENTS = 50
COST = 60  # with the fee of 20 %
REASON = "Thank you for the careful notes."


@pytest.fixture
def work(one_hit: Stage) -> str:
    assignment = one_hit.work("ada", 1)
    one_hit.advance()
    return assignment


def account(stage: Stage) -> Account:
    return account_of(stage.campaign)


def test_the_worker_is_paid_and_the_fee_is_booked(one_hit: Stage, work: str) -> None:
    reserved = account(one_hit).reserved_cents
    bonus = give_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON)
    assert bonus == Bonus(worker="AADA", assignment=work, cents=COST, new=True)
    assert account(one_hit).reserved_cents == reserved + COST
    one_hit.deliver()
    assert account(one_hit).reserved_cents == reserved
    assert account(one_hit).paid_cents == PRICE + COST == one_hit.mturk.spent_cents
    assert one_hit.mturk.rows("SELECT worker_id, cents, reason FROM bonuses") == [
        ("AADA", CENTS, REASON)
    ]


def test_the_same_bonus_is_given_once(one_hit: Stage, work: str) -> None:
    for new in (True, False):
        assert preview_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON).new is new
        assert give_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON).new is new
        one_hit.deliver()
    assert one_hit.mturk.count("bonuses") == 1
    give_bonus(one_hit.campaign, work, cents=CENTS, reason="And for the second remark.")
    one_hit.deliver()
    assert one_hit.mturk.count("bonuses") == 2
    assert account(one_hit).spent_cents == one_hit.mturk.spent_cents


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_give_one(one_hit: Stage, work: str) -> None:
    give = [lambda: give_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON)] * 2
    assert sorted(bonus.new for bonus in together(*give)) == [False, True]
    assert len(one_hit.outbox("bonus")) == 1


def test_a_bonus_beyond_the_budget_is_refused(one_hit: Stage, work: str) -> None:
    set_budget(one_hit.campaign, 3 * PRICE + COST - 1)
    with pytest.raises(UserError, match=r"costs \$0.60 in all, but .* has \$0.59 left"):
        give_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON)
    assert one_hit.outbox("bonus") == []
    set_budget(one_hit.campaign, 3 * PRICE + COST)
    assert give_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON).new


@pytest.mark.parametrize(
    ("cents", "reason", "expected"),
    [
        (0, REASON, "from \\$0.01 to \\$10,000.00"),
        (1_000_001, REASON, "from \\$0.01 to \\$10,000.00"),
        (CENTS, "  ", "add --reason"),
    ],
)
def test_what_no_crowd_would_pay_is_refused(
    one_hit: Stage, work: str, cents: int, reason: str, expected: str
) -> None:
    with pytest.raises(UserError, match=expected):
        give_bonus(one_hit.campaign, work, cents=cents, reason=reason)


def test_another_campaign_s_assignment_is_refused(one_hit: Stage) -> None:
    with pytest.raises(UserError, match="Campaign faq has no assignment '3NONE'"):
        give_bonus(one_hit.campaign, "3NONE", cents=CENTS, reason=REASON)


def refused(stage: Stage, work: str) -> None:
    give_bonus(stage.campaign, work, cents=CENTS, reason=REASON)
    stage.campaign.outbox.filter(kind="bonus").update(
        state="failed", error="no", first_sent_at=stage.mturk.clock.now()
    )


def test_a_refused_bonus_can_be_tried_again(one_hit: Stage, work: str) -> None:
    refused(one_hit, work)
    assert retry_failed(one_hit.campaign) == 1
    one_hit.deliver()
    assert account(one_hit).spent_cents == PRICE + COST == one_hit.mturk.spent_cents


def test_a_refused_bonus_can_be_taken_back_and_given_after_all(one_hit: Stage, work: str) -> None:
    reserved = account(one_hit).reserved_cents
    for _ in range(2):
        refused(one_hit, work)
        assert withdraw_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON) == COST
        assert account(one_hit).reserved_cents == reserved
    give_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON)
    one_hit.deliver()
    assert account(one_hit).spent_cents == PRICE + COST == one_hit.mturk.spent_cents


def test_a_paid_bonus_cannot_be_taken_back(one_hit: Stage, work: str) -> None:
    give_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON)
    one_hit.deliver()
    with pytest.raises(UserError, match="has been paid and cannot be taken back"):
        withdraw_bonus(one_hit.campaign, work, cents=CENTS, reason=REASON)


def test_cancelling_frees_the_money_of_a_refused_bonus(one_hit: Stage, work: str) -> None:
    refused(one_hit, work)
    cancel(one_hit.campaign, one_hit.mturk.clock.now())
    one_hit.advance()
    one_hit.advance()
    assert account(one_hit).reserved_cents == 0
