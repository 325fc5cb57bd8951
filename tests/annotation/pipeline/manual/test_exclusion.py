"""A worker excluded or taken back: votes, money and labels move together."""

import pytest

from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.manual.exclusion import Change, exclude, preview, restore
from core.errors import UserError
from tests.conftest import SetStage
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19
REASON = "You asked to be left out."


def exclude_eve(stage: Stage) -> None:
    """Eve passes in HITs 1 and 2 and misses a control in HIT 3: she is out, her votes are gone."""
    stage.publish()
    stage.work("ada", 1, 0)
    stage.work("eve", 1, 0)
    stage.work("eve", 2, 1)
    stage.work("eve", 3, slips=1)
    stage.advance()
    assert stage.campaign.exclusions.count() == 1


def money(stage: Stage) -> tuple[int, int]:
    account = account_of(stage.campaign)
    return account.paid_cents, account.discarded_cents


def test_votes_money_and_labels_come_back_at_once(stage: Stage) -> None:
    exclude_eve(stage)
    assert money(stage) == (PRICE, 2 * PRICE)
    assert set(stage.labels().values()) == {"open"}
    change = restore(stage.campaign, "AEVE")
    assert change == Change(
        worker="AEVE", votes=10, cents=2 * PRICE, labels_changed=5, triplets_reopened=0
    )
    assert money(stage) == (3 * PRICE, 0)
    assert list(stage.labels().values()).count(0) == 5


def test_what_would_change_is_told_and_nothing_changes(stage: Stage) -> None:
    exclude_eve(stage)
    previewed = preview(lambda: restore(stage.campaign, "AEVE"))
    assert previewed.votes == 10
    assert money(stage) == (PRICE, 2 * PRICE)
    assert stage.campaign.exclusions.get().restored_at is None
    assert stage.outbox("restore") == []
    assert restore(stage.campaign, "AEVE") == previewed


def test_the_worker_may_take_hits_again(stage: Stage) -> None:
    exclude_eve(stage)
    assert stage.accept("eve", 4) is None
    restore(stage.campaign, "AEVE")
    stage.deliver()
    assert stage.accept("eve", 4)


def test_an_exclusion_that_the_crowd_was_not_told_of_is_only_cancelled(stage: Stage) -> None:
    stage.publish()
    stage.work("eve", 1)
    stage.advance()
    exclude(stage.campaign, "AEVE", reason=REASON)
    restore(stage.campaign, "AEVE")
    assert [message.state for message in stage.outbox("exclude")] == ["cancelled"]
    assert stage.outbox("restore") == []


def test_one_that_is_under_way_is_followed_by_the_readmission(stage: Stage) -> None:
    stage.publish()
    stage.work("eve", 1)
    stage.advance()
    exclude(stage.campaign, "AEVE", reason=REASON)
    stage.campaign.outbox.filter(kind="exclude").update(first_sent_at=stage.mturk.clock.now())
    restore(stage.campaign, "AEVE")
    stage.deliver()
    assert stage.accept("eve", 2)


def test_the_votes_bought_in_place_stay(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, min_assignments=1)
    stage.publish()
    stage.work("eve", 1, 1)
    stage.advance()
    exclude(stage.campaign, "AEVE", reason=REASON)
    stage.work("ada", 1, 0)
    stage.advance()
    stage.work("bob", 1, 0)
    stage.advance()
    assert set(stage.labels().values()) == {0}
    restore(stage.campaign, "AEVE")
    assert {row.votes for row in stage.campaign.triplets.all()} == {3}
    assert set(stage.labels().values()) == {0}
    assert money(stage) == (3 * PRICE, 0)


def test_who_was_taken_back_is_not_excluded_again_by_the_same_record(stage: Stage) -> None:
    exclude_eve(stage)
    restore(stage.campaign, "AEVE")
    stage.deliver()
    stage.work("eve", 4, slips=1)
    assert stage.advance().excluded == 0


def test_by_hand_a_worker_is_out_whatever_their_controls_say(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.work("bob", 1)
    one_hit.advance()
    change = exclude(one_hit.campaign, "ABOB", reason=REASON)
    assert change == Change(
        worker="ABOB", votes=5, cents=PRICE, labels_changed=5, triplets_reopened=5
    )
    assert money(one_hit) == (PRICE, PRICE)
    exclusion = one_hit.campaign.exclusions.get()
    assert (exclusion.failures, exclusion.reviewed) == (0, 1)
    assert one_hit.advance().assignments_requested == 1
    assert account_of(one_hit.campaign).spent_cents == one_hit.mturk.spent_cents


def test_out_and_back_and_out_again_books_each_time(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    for _ in range(2):
        exclude(one_hit.campaign, "AADA", reason=REASON)
        one_hit.deliver()
        assert money(one_hit) == (0, PRICE)
        restore(one_hit.campaign, "AADA")
        one_hit.deliver()
        assert money(one_hit) == (PRICE, 0)
    assert {message.state for message in one_hit.campaign.outbox.all()} == {"done"}


def test_strangers_are_refused(one_hit: Stage) -> None:
    with pytest.raises(UserError, match="Worker 'AADA' is not excluded from campaign faq"):
        restore(one_hit.campaign, "AADA")
    with pytest.raises(UserError, match="Nobody called 'AADA' has submitted work"):
        exclude(one_hit.campaign, "AADA", reason=REASON)
    one_hit.work("ada", 1)
    one_hit.advance()
    exclude(one_hit.campaign, "AADA", reason=REASON)
    with pytest.raises(UserError, match="is excluded from campaign faq already"):
        exclude(one_hit.campaign, "AADA", reason=REASON)
