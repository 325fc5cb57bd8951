from datetime import timedelta

import pytest

from annotation.pipeline.create import create_campaign
from annotation.progress import first_two_votes, progress, stuck
from annotation.protocol.policy import Policy
from tests.conftest import SetStage
from tests.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19


@pytest.mark.usefixtures("small_database")
def test_a_new_campaign_has_nothing_yet() -> None:
    campaign = create_campaign("faq", policy=Policy(), seed=1, sample=3)
    assert progress(campaign) == {
        "campaign": "faq",
        "crowd": "not published yet",
        "queries": 3,
        "candidates": 0,
        "hits": 0,
        "published": 0,
        "places": 0,
        "submitted": 0,
        "to_review": 0,
        "approved": 0,
        "rejected": 0,
        "failed_controls": 0,
        "workers": 0,
        "triplets": 0,
        "labelled": 0,
        "open": 0,
        "unresolved": 0,
        "positive": 0,
        "votes": 0,
        "votes_discarded": 0,
        "ties": 0,
        "agreement": None,
        "excluded_workers": 0,
        "calls_waiting": 0,
        "calls_failed": 0,
        "stuck": [],
        "spent_cents": 0,
    }


def test_every_count_is_right_halfway(stage: Stage) -> None:
    """Ada says yes on ranks 1 and 2; bob on rank 1 alone, in HIT 1; eve fails at the third.

    HIT 1: a yes of ada's alone is a tie. HITs 2 and 3: ada's votes, and eve's, discarded.
    HIT 4: eve's alone, rejected. HIT 5: nobody yet.
    """
    stage.publish()
    for number in (1, 2, 3):
        stage.work("ada", number, lambda _, rank: int(rank <= 2))
    stage.work("bob", 1, lambda _, rank: int(rank == 1))
    stage.work("eve", 2, 1)
    stage.work("eve", 3, 0)
    stage.work("eve", 4, slips=1)
    stage.advance()
    ranks = [rank for _, rank in stage.triplets(1)]
    yes, ties = ranks.count(1), ranks.count(2)
    stage.work("cara", 5)  # not collected yet

    found = progress(stage.campaign)
    assert found["crowd"] == stage.mturk.url
    assert (found["queries"], found["candidates"], found["triplets"]) == (5, 25, 25)
    # One more place each in HIT 1 (if tied), 2, 3 and 4.
    assert (found["hits"], found["published"]) == (5, 5)
    assert found["places"] == 5 * 2 + 3 + (ties > 0)
    assert (found["submitted"], found["to_review"], found["workers"]) == (7, 0, 3)
    assert (found["approved"], found["rejected"], found["failed_controls"]) == (6, 1, 1)
    assert (found["labelled"], found["positive"]) == (5 - ties, yes)
    assert (found["open"], found["unresolved"]) == (20 + ties, 0)
    assert (found["votes"], found["votes_discarded"]) == (5 + 5 + 5 + 5, 10)
    assert (found["excluded_workers"], found["ties"]) == (1, ties)
    assert found["agreement"] == (5 - ties) / 5
    assert (found["calls_waiting"], found["calls_failed"], found["stuck"]) == (0, 0, [])
    assert found["spent_cents"] == stage.mturk.spent_cents == 6 * PRICE


def test_agreement_is_that_of_the_first_two_votes_by_time(set_stage: SetStage) -> None:
    """Ten triplets: 6 pairs agree on no, 1 on yes, 3 differ; the third votes do not matter.

    By hand: 7 of 10 agree.
    """
    stage = set_stage(candidates_per_query=2)
    stage.publish()
    triplets = [*stage.triplets(1), *stage.triplets(2)]
    both, first_only, second_only = triplets[:1], triplets[1:2], triplets[2:4]
    for number in (1, 2):
        stage.work("bob", number, lambda *one: int(one in both + first_only))
        stage.work("ada", number, lambda *one: int(one in both + second_only))
    stage.advance()
    found = progress(stage.campaign)
    assert (found["agreement"], found["ties"]) == (0.7, 3)
    for number in (1, 2):
        if stage.hit(number).places > 2:
            stage.work("cara", number, 1)
    stage.advance()
    found = progress(stage.campaign)
    assert (found["agreement"], found["ties"]) == (0.7, 3)


def test_triplets_with_fewer_votes_say_nothing_of_agreement() -> None:
    assert first_two_votes([[], [1], [0, 1], [1, 1, 0]]) == [(0, 1), (1, 1)]


def test_unreviewed_work_waits_for_review(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    one_hit.campaign.hits.get().assignments.update(passed=None)
    assert progress(one_hit.campaign)["to_review"] == 1


def test_work_without_a_single_answer_is_counted(one_hit: Stage) -> None:
    crowd_id = one_hit.hit(1).crowd_id
    assert crowd_id
    one_hit.mturk.person("eve").work(crowd_id, {"comment": "hello"})
    one_hit.advance()
    found = progress(one_hit.campaign)
    assert (found["submitted"], found["failed_controls"], found["votes"]) == (1, 1, 0)


def test_faults_are_grouped_the_most_frequent_first(stage: Stage) -> None:
    stage.publish()
    first, second, third, fourth, done = stage.intents("create")
    for intent, error in ((first, "rare"), (second, "often"), (third, "often")):
        intent.state, intent.error = "failed", error
        intent.save()
    fourth.state, fourth.error = "pending", "rare"
    fourth.save()
    assert done.state == "done"
    assert progress(stage.campaign)["stuck"] == ["create, 2 times: often", "create, 2 times: rare"]
    fourth.error = "often"
    fourth.save()
    assert progress(stage.campaign)["stuck"] == ["create, 3 times: often", "create, 1 times: rare"]


def test_hits_that_expired_with_votes_missing_are_told(one_hit: Stage) -> None:
    one_hit.publish()
    one_hit.work("ada", 1, 1)
    one_hit.advance()
    assert stuck(one_hit.campaign, clock=one_hit.mturk.clock.now) == []
    one_hit.mturk.clock.move_on(days=8)
    one_hit.advance()
    [told] = stuck(one_hit.campaign, clock=one_hit.mturk.clock.now)
    assert told.startswith("1 HITs have expired with votes missing: prolong them at the crowd")


def test_a_prolonged_hit_is_no_longer_stuck(one_hit: Stage) -> None:
    one_hit.publish()
    one_hit.campaign.hits.update(expires_at=one_hit.mturk.clock.now() - timedelta(days=1))
    assert stuck(one_hit.campaign) != []
    one_hit.advance()  # the crowd's record says otherwise
    assert stuck(one_hit.campaign) == []
