"""Where money is booked: reserved with the message, settled at the decision, then released."""

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation.models import Assignment, Entry, Exclusion, OutboxMessage
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.ledger.reservations import (
    OverBudget,
    account_of,
    book,
    first_round_cents,
    release_rest,
    release_tie_reserve,
    reserve,
    reserve_exactly,
    reserved_cents,
    set_budget,
)
from annotation.pipeline.ledger.settlements import (
    discard,
    restore,
    settle,
    settle_bill,
    settle_bonuses,
    settle_surplus,
)
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.policy import Policy
from tests.annotation.pipeline.ledger.ledger_book import FIRST_ROUND, PRICE, entry, money
from tests.conftest import SetStage
from tests.worlds.small_campaign import BUDGET_CENTS, Stage

pytestmark = pytest.mark.django_db


def work(stage: Stage, name: str, *, slips: int = 0) -> Assignment:
    """Submitted on the first HIT, reviewed, and the crowd told."""
    crowd_id = stage.work(name, 1, slips=slips)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    review(stage.campaign)
    stage.deliver()
    return Assignment.objects.get(crowd_id=crowd_id)


def exclude(stage: Stage, name: str) -> Exclusion:
    worker = Assignment.objects.filter(worker__worker_id=f"A{name.upper()}").first().worker
    return Exclusion.objects.create(campaign=stage.campaign, worker=worker, failures=1, reviewed=1)


def take_back(exclusion: Exclusion) -> None:
    exclusion.restored_at = timezone.now()
    exclusion.save()


# Budget and reservation


def test_a_budget_can_be_raised_and_lowered_again_and_again(stage: Stage) -> None:
    for cents in (500, 700, 700, 500, 700, BUDGET_CENTS):
        set_budget(stage.campaign, cents)
        assert account_of(stage.campaign).budget_cents == cents
    assert Entry.objects.count() == 6  # to 700 from 700 is no move
    assert money(stage) == (0, 0, 0)


def test_a_budget_cannot_fall_below_what_is_in_use(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    with pytest.raises(OverBudget):
        set_budget(stage.campaign, 5 * FIRST_ROUND - 1)
    assert account_of(stage.campaign).budget_cents == BUDGET_CENTS
    set_budget(stage.campaign, 5 * FIRST_ROUND)
    assert account_of(stage.campaign).available_cents == 0


def test_entries_are_booked_all_or_none(stage: Stage) -> None:
    with pytest.raises(OverBudget):
        book([entry(stage, 1, "little"), entry(stage, BUDGET_CENTS, "much")])
    assert money(stage) == (0, 0, 0)
    entry(stage, 1, "known").save()
    with pytest.raises(IntegrityError):
        book([entry(stage, 1, "new"), entry(stage, 1, "known")])
    assert money(stage) == (1, 0, 0)


@pytest.mark.parametrize(
    ("policy", "cents"),
    [
        (Policy(), 3 * PRICE),
        (Policy(annotators=3), 3 * PRICE),  # of three votes none is tied
        (Policy(annotators=2, max_votes=2), 2 * PRICE),
        (Policy(annotators=10, max_votes=11), 11 * 22),  # a crowded HIT costs more
    ],
)
def test_a_first_round_reserves_a_place_for_a_tie_where_there_can_be_one(
    policy: Policy, cents: int
) -> None:
    assert first_round_cents(policy) == cents


def test_publishing_reserves_what_each_hit_may_cost(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    assert money(stage) == (5 * FIRST_ROUND, 0, 0)
    hits = list(stage.campaign.hits.all())
    assert reserved_cents(hits) == {hit.pk: FIRST_ROUND for hit in hits}
    assert {hit.tie_reserve for hit in hits} == {1}
    stage.deliver()
    assert stage.mturk.on_hold_cents == 5 * 2 * PRICE


def test_a_message_cannot_reserve_twice(one_hit: Stage) -> None:
    (message,) = one_hit.outbox("create")
    with pytest.raises(IntegrityError):
        book([reserve(account_of(one_hit.campaign), message, assignments=1)])


# Settlement


def test_approved_work_is_paid_and_the_rest_stays_reserved(one_hit: Stage) -> None:
    assert work(one_hit, "ada").account == "paid"
    assert money(one_hit) == (2 * PRICE, PRICE, 0)
    assert one_hit.mturk.spent_cents == PRICE


def test_rejected_work_gives_its_money_back(one_hit: Stage) -> None:
    assert work(one_hit, "eve", slips=1).account == "released"
    assert money(one_hit) == (2 * PRICE, 0, 0)
    assert one_hit.mturk.spent_cents == 0


def test_work_paid_although_it_failed_is_discarded(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, on_failed_control="pay_and_discard")
    stage.publish()
    assert work(stage, "eve", slips=1).account == "discarded"
    assert money(stage) == (2 * PRICE, 0, PRICE)


def test_settling_again_books_nothing(one_hit: Stage) -> None:
    work(one_hit, "ada")
    assert settle(one_hit.campaign) == 0
    assert money(one_hit) == (2 * PRICE, PRICE, 0)


def test_what_the_crowd_approved_before_our_review_waits_for_it(one_hit: Stage) -> None:
    one_hit.mturk.crowd.approve(one_hit.work("eve", 1, slips=1))
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    assert settle(one_hit.campaign) == 0
    assert money(one_hit) == (FIRST_ROUND, 0, 0)
    review(one_hit.campaign)
    assert money(one_hit) == (2 * PRICE, 0, PRICE)


def test_work_of_somebody_excluded_meanwhile_is_discarded(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    exclude(one_hit, "ada")
    one_hit.deliver()
    assert money(one_hit) == (2 * PRICE, 0, PRICE)


def test_an_exclusion_moves_what_was_paid_and_its_end_moves_it_back(one_hit: Stage) -> None:
    work(one_hit, "ada")
    work(one_hit, "eve")
    assert money(one_hit) == (PRICE, 2 * PRICE, 0)
    for _ in range(2):  # each time is an effect of its own
        exclusion = exclude(one_hit, "eve")
        eve = [exclusion.worker_id]
        assert [discard(one_hit.campaign, eve) for _ in range(2)] == [1, 0]
        assert money(one_hit) == (PRICE, PRICE, PRICE)
        assert restore(one_hit.campaign, eve) == 0
        take_back(exclusion)
        assert [restore(one_hit.campaign, eve) for _ in range(2)] == [1, 0]
        assert money(one_hit) == (PRICE, 2 * PRICE, 0)


def test_work_that_failed_stays_discarded_when_its_worker_is_taken_back(
    set_stage: SetStage,
) -> None:
    stage = set_stage(candidates_per_query=1, on_failed_control="pay_and_discard")
    stage.publish()
    work(stage, "eve", slips=1)
    exclusion = exclude(stage, "eve")
    take_back(exclusion)
    assert restore(stage.campaign, [exclusion.worker_id]) == 0
    assert money(stage) == (2 * PRICE, 0, PRICE)


def grown_by_others(one_hit: Stage) -> None:
    """Four have worked on a HIT for which three assignments are reserved."""
    crowd_id = one_hit.hit(1).crowd_id
    assert crowd_id
    one_hit.mturk.crowd.extend_hit(crowd_id, extra=2, token="by hand")
    for name in ("ada", "bob", "cara", "dan"):
        one_hit.work(name, 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)


def test_work_that_nobody_reserved_for_is_paid_from_what_is_available(one_hit: Stage) -> None:
    grown_by_others(one_hit)
    one_hit.deliver()
    assert money(one_hit) == (0, 4 * PRICE, 0)
    assert one_hit.mturk.spent_cents == 4 * PRICE


def test_what_the_budget_cannot_cover_waits_until_it_is_raised(one_hit: Stage) -> None:
    set_budget(one_hit.campaign, FIRST_ROUND)
    grown_by_others(one_hit)
    one_hit.deliver()
    assert money(one_hit) == (0, 3 * PRICE, 0)
    assert Assignment.objects.filter(account="", status="approved").count() == 1
    set_budget(one_hit.campaign, 4 * PRICE)
    assert settle(one_hit.campaign) == 1
    assert money(one_hit) == (0, 4 * PRICE, 0)


def test_a_bonus_is_paid_once_out_of_what_was_reserved_for_it(one_hit: Stage) -> None:
    done = work(one_hit, "ada")
    message = OutboxMessage.objects.create(
        campaign=one_hit.campaign,
        kind="bonus",
        token="for ada",
        assignment=done,
        worker=done.worker,
        cents=50,
        reason="careful",
    )
    entry(one_hit, 60, "for ada").save()
    one_hit.deliver()
    settle_bonuses(one_hit.campaign)
    assert money(one_hit) == (2 * PRICE, PRICE + 60, 0)
    message.refresh_from_db()
    assert (message.state, one_hit.mturk.spent_cents) == ("done", PRICE + 60)


# Release


def test_a_closed_hit_keeps_only_what_waits_for_its_decision(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    for _ in range(2):
        release_rest(one_hit.campaign, [one_hit.hit(1)])
        assert money(one_hit) == (PRICE, 0, 0)
    assert one_hit.hit(1).entries.filter(target="available").count() == 1


def test_a_hit_that_lacks_money_has_nothing_to_release(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    reserve_exactly(one_hit.campaign, one_hit.hit(1), PRICE - 1)
    release_rest(one_hit.campaign, [one_hit.hit(1)])
    assert money(one_hit) == (PRICE - 1, 0, 0)


def test_a_hit_without_a_reservation_has_nothing_to_release(stage: Stage) -> None:
    hits = list(stage.campaign.hits.all())
    assert reserved_cents(hits) == {}
    release_rest(stage.campaign, hits)
    assert money(stage) == (0, 0, 0)


def test_a_tie_break_that_is_not_needed_is_free_again(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    release_tie_reserve(stage.campaign, [stage.hit(number).pk for number in (1, 2)])
    assert money(stage) == (5 * FIRST_ROUND - 2 * PRICE, 0, 0)
    assert [hit.tie_reserve for hit in stage.campaign.hits.order_by("number")] == [0, 0, 1, 1, 1]


def test_what_the_crowd_pays_for_no_work_is_booked_once_with_its_fee(stage: Stage) -> None:
    for _ in range(2):
        assert settle_surplus(stage.campaign, {"visit 1": 10, "visit 2": 100}) == 0
    assert money(stage) == (0, 0, 12 + 120)


def test_what_the_budget_cannot_cover_is_booked_once_it_can(stage: Stage) -> None:
    set_budget(stage.campaign, 20)
    assert settle_surplus(stage.campaign, {"visit 1": 10, "visit 2": 100}) == 120
    assert money(stage) == (0, 0, 12)
    set_budget(stage.campaign, 132)
    assert settle_surplus(stage.campaign, {"visit 1": 10, "visit 2": 100}) == 0
    assert money(stage) == (0, 0, 132)


def test_what_the_crowd_s_bill_differs_by_is_booked_apart_once_nothing_waits(
    one_hit: Stage,
) -> None:
    one_hit.work("ada", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    assert settle_bill(one_hit.campaign, 5) == 0
    assert account_of(one_hit.campaign).spent_cents == 0  # what ada has done may be on the bill
    review(one_hit.campaign)
    one_hit.deliver()
    kept = money(one_hit)
    assert kept[1] == PRICE
    for more in (5, 5, -1):
        assert settle_bill(one_hit.campaign, PRICE + more) == 0
        account = account_of(one_hit.campaign)
        assert (account.billed_cents, account.spent_cents) == (more, PRICE + more)
        assert money(one_hit) == kept  # what people were paid stays as it is
    assert settle_bill(one_hit.campaign, 2 * BUDGET_CENTS) > BUDGET_CENTS
    assert account_of(one_hit.campaign).billed_cents == -1


def test_a_bill_may_be_lower_where_all_that_was_paid_is_discarded(stage: Stage) -> None:
    settle_surplus(stage.campaign, {"visit 1": 10})
    settle_bill(stage.campaign, 11)
    assert money(stage) == (0, 0, 12)
    assert account_of(stage.campaign).spent_cents == 11
