"""Missing votes are asked for where they can come from, and paid for before."""

import pytest

from annotation.models import Campaign
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual import exclusion as restore
from annotation.pipeline.publishing import lifecycle
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from tests.annotation.pipeline.ledger.ledger_book import FIRST_ROUND, PRICE
from tests.conftest import SetStage
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


def sizes(stage: Stage) -> dict[int, int]:
    """HIT's number -> its assignments at the crowd, where our record says the same.

    What is reserved is what the crowd holds back, and the assignments kept for ties.
    """
    at_crowd = dict(stage.mturk.rows("SELECT hit_id, max_assignments FROM hits"))
    hits = stage.campaign.hits.exclude(crowd_id=None).order_by("number")
    assert at_crowd == {hit.crowd_id: hit.max_assignments for hit in hits}
    account = account_of(stage.campaign)
    tie_reserve = sum(hit.tie_reserve * hit.price_cents for hit in hits)
    assert account.reserved_cents == stage.mturk.on_hold_cents + tie_reserve
    assert account.spent_cents == stage.mturk.spent_cents
    return {hit.number: hit.max_assignments for hit in hits}


def tie_reserves(stage: Stage) -> list[int]:
    return list(stage.campaign.hits.order_by("number").values_list("tie_reserve", flat=True))


def state(stage: Stage) -> str:
    return Campaign.objects.get(pk=stage.campaign.pk).state


def disagree(stage: Stage, number: int, *names: str) -> None:
    for value, name in enumerate(names):
        stage.work(name, number, value % 2)


# The place kept for a tie


def test_a_tie_is_broken_on_the_place_that_was_kept_for_it(one_hit: Stage) -> None:
    disagree(one_hit, 1, "ada", "bob")
    before = account_of(one_hit.campaign).available_cents
    one_hit.advance()
    assert (sizes(one_hit), tie_reserves(one_hit)) == ({1: 3}, [0])
    assert account_of(one_hit.campaign).available_cents == before


def test_a_second_growth_is_reserved_again(one_hit: Stage) -> None:
    disagree(one_hit, 1, "ada", "bob")
    one_hit.advance()
    one_hit.work("eve", 1, slips=1)
    one_hit.advance()
    assert sizes(one_hit) == {1: 4}


def test_a_place_kept_for_a_tie_serves_a_replacement_too(one_hit: Stage) -> None:
    one_hit.work("eve", 1, slips=1)
    one_hit.work("ada", 1)
    one_hit.advance()
    assert (sizes(one_hit), tie_reserves(one_hit)) == ({1: 3}, [0])


def test_without_a_tie_its_place_is_given_up(stage: Stage) -> None:
    stage.publish()
    for name in ("ada", "bob"):
        stage.work(name, 1)
    stage.work("ada", 2)
    stage.advance()
    assert tie_reserves(stage) == [0, 1, 1, 1, 1]
    sizes(stage)


def test_in_extend_mode_it_is_kept_while_a_vote_is_missing(one_hit: Stage) -> None:
    set_budget(one_hit.campaign, FIRST_ROUND)
    one_hit.work("ada", 1)
    one_hit.advance()
    assert (sizes(one_hit), tie_reserves(one_hit)) == ({1: 2}, [1])


def test_a_replacement_is_paid_for_although_ties_are_repacked(set_stage: SetStage) -> None:
    """In that mode nothing is kept for ties once all have submitted."""
    stage = set_stage(candidates_per_query=1, tie_mode="repack")
    stage.publish()
    stage.work("eve", 1, slips=1)
    stage.work("ada", 1)
    stage.advance()
    assert (sizes(stage), tie_reserves(stage)) == ({1: 3}, [0])


# The budget


def test_growth_that_the_budget_does_not_reach_waits(one_hit: Stage) -> None:
    set_budget(one_hit.campaign, FIRST_ROUND)
    disagree(one_hit, 1, "ada", "bob")
    one_hit.advance()
    one_hit.work("eve", 1, slips=1)
    found = one_hit.advance()  # when it looks, the money of her work is not free yet
    assert (found.assignments_requested, found.finished, state(one_hit)) == (0, False, "capped")
    assert sizes(one_hit) == {1: 3}
    assert one_hit.advance().assignments_requested == 1
    assert (sizes(one_hit), state(one_hit)) == ({1: 4}, "active")


def test_a_raised_budget_lets_growth_go_on(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, on_failed_control="pay_and_discard")
    set_budget(stage.campaign, FIRST_ROUND)
    stage.publish()
    for name in ("eve", "mallory"):
        stage.work(name, 1, slips=1)
    for _ in range(3):
        assert stage.advance().assignments_requested == 0
    assert (sizes(stage), tie_reserves(stage), state(stage)) == ({1: 2}, [1], "capped")
    set_budget(stage.campaign, FIRST_ROUND + PRICE)
    assert stage.advance().assignments_requested == 2
    assert (sizes(stage), tie_reserves(stage), state(stage)) == ({1: 4}, [0], "active")


def test_a_growth_too_dear_keeps_no_other_waiting(set_stage: SetStage) -> None:
    """HIT 1 wants one place beyond the kept one, for which there is no money; HIT 2 its own."""
    stage = set_stage(candidates_per_query=2, on_failed_control="pay_and_discard")
    set_budget(stage.campaign, 2 * FIRST_ROUND)
    stage.publish()
    for name in ("eve", "mallory"):
        stage.work(name, 1, slips=1)
    disagree(stage, 2, "ada", "bob")
    assert stage.advance().assignments_requested == 1
    assert (sizes(stage), state(stage)) == ({1: 2, 2: 3}, "capped")


def test_growths_that_only_together_are_too_dear_take_turns(set_stage: SetStage) -> None:
    """Each of two HITs wants one place beyond its kept one, and there is money for one of them."""
    stage = set_stage(candidates_per_query=2, on_failed_control="pay_and_discard")
    set_budget(stage.campaign, 2 * FIRST_ROUND + PRICE)
    stage.publish()
    for name, number in (("eve", 1), ("mallory", 1), ("eve", 2), ("mallory", 2)):
        stage.work(name, number, slips=1)
    assert stage.advance().assignments_requested == 2
    assert (sizes(stage), state(stage)) == ({1: 4, 2: 2}, "capped")


def test_what_the_budget_does_not_reach_is_left_out_until_it_does(stage: Stage) -> None:
    set_budget(stage.campaign, 2 * FIRST_ROUND + PRICE)
    assert publish(stage.campaign, stage.mturk.crowd).left_out == 3
    stage.deliver()
    assert (sizes(stage), state(stage)) == ({1: 2, 2: 2}, "capped")
    set_budget(stage.campaign, 3 * FIRST_ROUND)
    stage.advance()
    assert (sizes(stage), state(stage)) == ({1: 2, 2: 2, 3: 2}, "capped")
    set_budget(stage.campaign, 5 * FIRST_ROUND)
    stage.advance()
    assert (sizes(stage), state(stage)) == (dict.fromkeys(range(1, 6), 2), "active")


def test_money_that_comes_free_is_used_for_what_was_left_out(stage: Stage) -> None:
    set_budget(stage.campaign, 3 * FIRST_ROUND)
    stage.publish()
    for number in (1, 2, 3):
        for name in ("ada", "bob"):
            stage.work(name, number)
    stage.advance()  # three assignments kept for ties are not needed
    assert (sizes(stage), state(stage)) == ({1: 2, 2: 2, 3: 2, 4: 2}, "capped")


# Where no more is asked for


def test_a_paused_campaign_asks_for_nothing_until_it_goes_on(one_hit: Stage) -> None:
    disagree(one_hit, 1, "ada", "bob")
    lifecycle.pause(one_hit.campaign)
    assert one_hit.advance().assignments_requested == 0
    lifecycle.resume(one_hit.campaign)
    assert one_hit.advance().assignments_requested == 1
    assert sizes(one_hit) == {1: 3}


def test_a_cancelled_campaign_asks_for_nothing(one_hit: Stage) -> None:
    disagree(one_hit, 1, "ada", "bob")
    lifecycle.cancel(one_hit.campaign, one_hit.mturk.clock.now())
    found = one_hit.advance()
    assert (found.open, found.assignments_requested) == (5, 0)
    assert sizes(one_hit) == {1: 2}


def test_a_campaign_that_nobody_has_published_asks_for_nothing(stage: Stage) -> None:
    for _ in range(2):
        assert recompute(stage.campaign).assignments_requested == 0
    assert (stage.outbox("create"), state(stage)) == ([], "active")


def test_a_hit_that_has_expired_waits_for_a_person(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.work("eve", 1, slips=1)
    one_hit.mturk.clock.move_on(days=8)
    found = one_hit.advance()
    assert (found.open, found.assignments_requested) == (5, 0)
    assert (sizes(one_hit), tie_reserves(one_hit)) == ({1: 2}, [0])
    assert account_of(one_hit.campaign).reserved_cents == 0


def test_the_triplets_of_a_hit_that_is_gone_go_into_another_one(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    closed_at = one_hit.mturk.clock.now()
    one_hit.campaign.hits.update(gone=True, closed_at=closed_at)
    assert one_hit.advance().assignments_requested == 1
    assert set(one_hit.triplets(2)) == set(one_hit.triplets(1))
    assert one_hit.hit(1).max_assignments == 2


def test_a_hit_of_nine_places_grows_no_more(one_hit: Stage) -> None:
    for number in range(8):
        one_hit.work(f"eve{number}", 1, slips=1)
        one_hit.advance()
    assert sizes(one_hit) == {1: 9}  # one of two votes can still come from it
    one_hit.work("ada", 1)
    one_hit.advance()
    assert sizes(one_hit) == {1: 9, 2: 1}


def test_a_hit_whose_triplet_stands_in_a_newer_one_grows_no_more(set_stage: SetStage) -> None:
    """Bob's votes are discarded when a tie of HIT 1 has gone into HIT 3."""
    stage = set_stage(candidates_per_query=2, tie_mode="repack")
    stage.publish()
    query, rank = stage.triplets(1)[0]
    stage.work("ada", 1, 1)
    stage.work("bob", 1, lambda *triplet: int(triplet != (query, rank)))
    for name in ("cara", "dan"):
        stage.work(name, 2, 1)
    stage.advance()
    assert stage.triplets(3) == [(query, rank)]

    restore.exclude(stage.campaign, "ABOB", reason="by hand")
    assert stage.advance().assignments_requested == 0  # the tie-break may be enough for the first
    stage.work("cara", 3, 1)
    assert stage.advance().assignments_requested == 1
    assert stage.labels()[query, rank] == 1
    assert set(stage.triplets(4)) == set(stage.triplets(1)) - {(query, rank)}
    assert sizes(stage) == {1: 2, 2: 2, 3: 1, 4: 1}


def test_whether_a_hit_may_grow_to_ten_follows_from_its_own_size(set_stage: SetStage) -> None:
    """Such as one of repacked triplets in a campaign whose first round has ten assignments."""
    stage = set_stage(candidates_per_query=1, annotators=10, max_votes=10)
    stage.campaign.hits.update(max_assignments=9)
    stage.publish()
    for number in range(9):
        stage.work(f"ada{number}", 1)
    stage.advance()
    assert [hit.max_assignments for hit in stage.campaign.hits.order_by("number")] == [9, 1]
    assert len(stage.hit(2).excluded_workers) == 9
