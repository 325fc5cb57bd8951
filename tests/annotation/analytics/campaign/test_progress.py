from datetime import UTC, datetime, timedelta

import pytest

from annotation.analytics.campaign.progress import progress
from annotation.analytics.campaign.status import blockers, campaign_status
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.lifecycle import cancel, pause, prolong
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.labels.expert_agreement import BASIS
from annotation.protocol.policy.crowds import CROWDS
from annotation.protocol.policy.policy import Policy
from tests.conftest import SetStage
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19


@pytest.mark.usefixtures("small_database")
def test_a_new_campaign_has_nothing_yet() -> None:
    campaign = create_campaign("faq", policy=Policy(), seed=1, sample=3)
    assert progress(campaign) == {
        "campaign": "faq",
        "status": "active",
        "state": "active",
        "progress": "nothing packed yet",
        "crowd": "not published yet",
        "corpus": "all",
        "sources": ["faq"],
        "queries": 3,
        "candidates": 0,
        "hits": 0,
        "hits_published": 0,
        "max_assignments": 0,
        "submitted": 0,
        "to_review": 0,
        "approved": 0,
        "rejected": 0,
        "failed_controls": 0,
        "workers": 0,
        "rejection_reasons": {"unanswered": 0, "missed": 0, "manual": 0},
        "triplets": 0,
        "triplets_published": 0,
        "judged": 0,
        "labelled": 0,
        "open": 0,
        "unresolved": 0,
        "positive": 0,
        "cannot_judge": 0,
        "votes": 0,
        "votes_discarded": 0,
        "ties": 0,
        "agreement": None,
        "expert": {
            "labels": 0,
            "triplets": 0,
            "unresolved_adjudicated": None,
            "agreement": None,
            "label_error": None,
            "label_error_interval": None,
            "label_error_triplets": 0,
            "label_error_reason": "no gold",
            "label_error_basis": BASIS,
        },
        "excluded_workers": 0,
        "messages_waiting": 0,
        "messages_failed": 0,
        "blockers": [],
        "budget_cents": 0,
        "reserved_cents": 0,
        "paid_cents": 0,
        "discarded_cents": 0,
        "available_cents": 0,
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
    assert (found["triplets_published"], found["judged"]) == (25, 15)
    assert (found["hits"], found["hits_published"]) == (5, 5)
    assert found["max_assignments"] == 5 * 2 + 3 + (ties > 0)
    assert (found["submitted"], found["to_review"], found["workers"]) == (7, 0, 3)
    assert (found["approved"], found["rejected"], found["failed_controls"]) == (6, 1, 1)
    assert found["rejection_reasons"] == {"unanswered": 0, "missed": 1, "manual": 0}
    assert found["progress"] == f"{5 - ties} of 25 triplets labelled"
    assert (found["labelled"], found["positive"]) == (5 - ties, yes)
    assert (found["open"], found["unresolved"]) == (20 + ties, 0)
    assert (found["votes"], found["votes_discarded"]) == (5 + 5 + 5 + 5, 10)
    assert (found["excluded_workers"], found["ties"]) == (1, ties)
    assert found["agreement"] == (5 - ties) / 5
    assert (found["messages_waiting"], found["messages_failed"], found["blockers"]) == (0, 0, [])
    assert found["spent_cents"] == stage.mturk.spent_cents == 6 * PRICE
    assert (found["paid_cents"], found["discarded_cents"]) == (4 * PRICE, 2 * PRICE)
    tie_reserve = sum(hit.tie_reserve for hit in stage.campaign.hits.all()) * PRICE
    assert found["reserved_cents"] == stage.mturk.on_hold_cents + tie_reserve
    budget = (found["spent_cents"], found["reserved_cents"], found["available_cents"])
    assert found["budget_cents"] == sum(budget) == 1_000_000


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
        if stage.hit(number).max_assignments > 2:
            stage.work("cara", number, 1)
    stage.advance()
    found = progress(stage.campaign)
    assert (found["agreement"], found["ties"]) == (0.7, 3)


def test_triplets_with_fewer_votes_say_nothing_of_agreement(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 1)
    one_hit.advance()
    found = progress(one_hit.campaign)
    assert (found["votes"], found["agreement"], found["ties"]) == (5, None, 0)


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


def test_refused_calls_are_grouped_the_most_frequent_first(stage: Stage) -> None:
    stage.publish()
    messages = stage.outbox("create")
    for message, error in zip(messages, ("rare", "often", "often"), strict=False):
        message.state, message.error = "failed", error
        message.save()
    report = "(refused, tried once; when that is mended: `quorum campaign retry faq`)"
    assert blockers(stage.campaign) == [
        f"create, 2 times: often {report}",
        f"create, once: rare {report}",
    ]
    assert progress(stage.campaign)["blockers"] == blockers(stage.campaign)


def test_a_call_that_waits_tells_how_often_it_was_tried_and_when_it_goes_out(stage: Stage) -> None:
    stage.publish()
    again = datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC)
    stage.campaign.outbox.update(state="pending", error="throttled", retry_at=again, attempts=4)
    assert blockers(stage.campaign) == [
        "create, 5 times: throttled (tried 4 times, again from 2027-01-02 03:04:05 UTC on)"
    ]
    stage.campaign.outbox.update(retry_at=None, attempts=0)
    assert blockers(stage.campaign) == ["create, 5 times: throttled"]


def test_what_was_given_up_is_no_blocker(stage: Stage) -> None:
    stage.publish()
    stage.campaign.outbox.update(state="cancelled", error="no")
    assert blockers(stage.campaign) == []


def test_hits_whose_record_cannot_be_read_are_told(stage: Stage) -> None:
    stage.publish()
    stage.campaign.hits.filter(number__lte=2).update(fault="no such HIT")
    assert blockers(stage.campaign) == [
        "2 HITs cannot be read: no such HIT; `quorum campaign reconcile faq` compares them "
        "with the crowd's record"
    ]


def test_blockers_of_a_team_speak_of_tasks(stage: Stage) -> None:
    stage.publish()
    stage.campaign.hits.filter(number__lte=2).update(fault="no answer")
    stage.campaign.policy_data |= CROWDS["inhouse"].defaults()
    [unreadable, *_] = blockers(stage.campaign)
    assert unreadable.reason == "2 tasks cannot be read: no answer"


def test_hits_that_expired_with_votes_missing_are_told(one_hit: Stage) -> None:
    one_hit.publish()
    one_hit.work("ada", 1, 1)
    one_hit.advance()
    assert blockers(one_hit.campaign, clock=one_hit.mturk.clock.now) == []
    one_hit.mturk.clock.move_on(days=8)
    one_hit.advance()
    [report] = blockers(one_hit.campaign, clock=one_hit.mturk.clock.now)
    assert report.startswith("1 HIT has expired with votes missing: `quorum campaign extend faq")
    one_hit.campaign.policy_data |= CROWDS["inhouse"].defaults()
    report, *_ = blockers(one_hit.campaign, clock=one_hit.mturk.clock.now)
    assert report.reason == "1 task has expired with votes missing"
    one_hit.campaign.refresh_from_db()
    prolong(one_hit.campaign, days=7, now=one_hit.mturk.clock.now())
    assert blockers(one_hit.campaign, clock=one_hit.mturk.clock.now) == []


def test_the_expired_hits_of_a_cancelled_campaign_are_as_they_should_be(one_hit: Stage) -> None:
    cancel(one_hit.campaign, one_hit.mturk.clock.now())
    one_hit.advance()
    assert progress(one_hit.campaign)["blockers"] == []


def test_approved_work_that_the_budget_does_not_cover_is_told(one_hit: Stage) -> None:
    """Somebody has made the HIT larger at the crowd."""
    set_budget(one_hit.campaign, 3 * PRICE)
    crowd_id = one_hit.hit(1).crowd_id
    assert crowd_id
    one_hit.mturk.crowd.extend_hit(crowd_id, extra=2, token="by hand")
    for name in ("ada", "bob", "cara", "dan"):
        one_hit.work(name, 1)
    one_hit.advance()
    one_hit.advance()
    [report] = blockers(one_hit.campaign)
    assert report == (
        "1 approved assignments, $0.19, are not covered by the budget: raise it by "
        "`quorum campaign budget faq AMOUNT`"
    )
    set_budget(one_hit.campaign, 4 * PRICE)
    one_hit.advance()
    assert blockers(one_hit.campaign) == []
    assert progress(one_hit.campaign)["spent_cents"] == one_hit.mturk.spent_cents


def test_at_its_budget_a_campaign_names_the_votes_that_wait(one_hit: Stage) -> None:
    """Eve's place was filled again from what was set aside for a tie; now there is one."""
    one_hit.work("eve", 1, slips=1)
    one_hit.work("ada", 1, 0)
    one_hit.advance()
    set_budget(one_hit.campaign, 2 * PRICE)
    one_hit.work("bob", 1, 1)
    one_hit.advance()
    assert one_hit.campaign.state == "capped"
    assert campaign_status(one_hit.campaign) == (
        "at its budget: 0 HITs and 1 further votes wait; raise it by $0.19: "
        "`quorum campaign budget faq 0.57`"
    )
    set_budget(one_hit.campaign, 3 * PRICE)
    assert campaign_status(one_hit.campaign).startswith("at its budget, and there is room again")
    assert one_hit.advance().assignments_requested == 1
    assert campaign_status(one_hit.campaign) == "active"


def test_each_state_says_what_follows(stage: Stage) -> None:
    assert campaign_status(stage.campaign) == "active"
    pause(stage.campaign)
    assert "`quorum campaign resume faq`" in campaign_status(stage.campaign)
    cancel(stage.campaign, stage.mturk.clock.now())
    assert campaign_status(stage.campaign).startswith("cancelled: submitted")


def test_a_prolonged_hit_is_no_longer_a_blocker(one_hit: Stage) -> None:
    one_hit.publish()
    one_hit.campaign.hits.update(expires_at=one_hit.mturk.clock.now() - timedelta(days=1))
    assert blockers(one_hit.campaign) != []
    one_hit.advance()  # the crowd's record says otherwise
    assert blockers(one_hit.campaign) == []
