"""The statuses of a study, its fields and its places, by each reading of what is undecided."""

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import CompletionCode, screen_out
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import DAY, DONE, LONG, NOBODY, STUDY, Prolific


def test_a_new_study_is_a_draft_that_costs_nothing(prolific: Prolific) -> None:
    study = prolific.client.studies.create(STUDY)
    assert (study.status, study.places_taken, study.published_at) == ("UNPUBLISHED", 0, None)
    assert prolific.wallet() == (10_000_000, 0, 0)
    assert prolific.person().offers() == []


def test_publishing_locks_the_money_and_takes_a_moment(prolific: Prolific) -> None:
    study_id = prolific.draft()
    assert prolific.client.studies.transition(study_id, "PUBLISH").status == "PUBLISHING"
    # 200 cents for people and 66.67 for Prolific.
    assert prolific.wallet() == (10_000_000 - 26_667, 26_667, 0)
    prolific.clock.forward(2)
    assert prolific.status(study_id) == "ACTIVE"


def test_publishing_can_be_immediate(start: Start) -> None:
    prolific = start(publishing_seconds=0.0)
    assert prolific.client.studies.transition(prolific.draft(), "PUBLISH").status == "ACTIVE"


@pytest.mark.parametrize("status", [400, 402])
def test_without_the_money_a_draft_stays_a_draft(start: Start, status: int) -> None:
    prolific = start(balance_cents=266, no_funds=status)
    study_id = prolific.draft()
    with pytest.raises(CrowdError, match=r"266\.67 cents.*266") as refused:
        prolific.client.studies.transition(study_id, "PUBLISH")
    assert not refused.value.permanent
    assert prolific.status(study_id) == "UNPUBLISHED"
    assert prolific.wallet() == (26_600, 0, 0)


def test_a_study_is_published_when_its_time_has_come(prolific: Prolific) -> None:
    study_id = prolific.draft()
    at = "2027-01-16T00:00:00Z"  # the clock stands at the day before
    assert prolific.transition("studies", study_id, action="SCHEDULE_PUBLISH").status_code == 400
    answer = prolific.transition("studies", study_id, action="SCHEDULE_PUBLISH", publish_at=at)
    assert answer.json()["status"] == "SCHEDULED"
    prolific.clock.forward(DAY)
    assert prolific.status(study_id) == "ACTIVE"


def test_a_scheduled_study_can_be_called_off(prolific: Prolific) -> None:
    study_id = prolific.draft()
    at = "2027-01-16T00:00:00Z"
    prolific.transition("studies", study_id, action="SCHEDULE_PUBLISH", publish_at=at)
    assert prolific.client.studies.transition(study_id, "CANCEL_PUBLISH").status == "UNPUBLISHED"
    prolific.clock.forward(DAY)
    assert prolific.status(study_id) == "UNPUBLISHED"


def test_a_scheduled_study_without_the_money_is_a_draft_again(start: Start) -> None:
    prolific = start(balance_cents=1)
    study_id = prolific.draft()
    at = "2027-01-16T00:00:00Z"
    prolific.transition("studies", study_id, action="SCHEDULE_PUBLISH", publish_at=at)
    prolific.clock.forward(DAY)
    assert prolific.status(study_id) == "UNPUBLISHED"
    assert prolific.wallet() == (100, 0, 0)


def test_a_paused_study_takes_nobody_and_lets_people_finish(prolific: Prolific) -> None:
    study_id = prolific.study()
    ada, bob = prolific.person(), prolific.person()
    submission_id = ada.start(study_id)
    assert prolific.client.studies.transition(study_id, "PAUSE").status == "PAUSED"
    assert bob.post(f"studies/{study_id}/take").status_code == 409
    assert ada.complete(submission_id) == "AWAITING REVIEW"
    assert prolific.client.studies.transition(study_id, "START").status == "ACTIVE"
    assert bob.offers() == [study_id]


@pytest.mark.parametrize("status", [400, 409])
def test_an_impossible_transition_is_refused(start: Start, status: int) -> None:
    prolific = start(illegal_transition=status)
    for action in ("PAUSE", "START", "STOP", "CANCEL_PUBLISH"):
        answer = prolific.transition("studies", prolific.draft(), action=action)
        assert answer.status_code == status
        assert action in answer.json()["error"]["detail"]


@pytest.mark.parametrize("after", ["COMPLETED", "AWAITING REVIEW"])
def test_stopping_with_open_reviews_has_two_readings(start: Start, after: str) -> None:
    prolific = start(stop_with_open_reviews=after)
    study_id = prolific.study()
    submission_id = prolific.person().do(study_id)
    assert prolific.client.studies.transition(study_id, "STOP").status == after
    assert prolific.wallet()[1:] == (13_334, 0)  # what may still be paid
    prolific.client.submissions.approve(submission_id)
    assert prolific.status(study_id) == "COMPLETED"
    assert prolific.wallet()[1:] == (0, 13_334)


def test_a_full_study_awaits_its_reviews_and_then_is_completed(prolific: Prolific) -> None:
    study_id = prolific.study()
    first, second = (prolific.person().do(study_id) for _ in range(2))
    assert prolific.status(study_id) == "AWAITING REVIEW"
    prolific.client.submissions.approve(first)
    assert prolific.status(study_id) == "AWAITING REVIEW"
    prolific.client.submissions.approve(second)
    assert prolific.status(study_id) == "COMPLETED"
    assert prolific.wallet() == (10_000_000 - 26_667, 0, 26_667)


@pytest.mark.parametrize("after", ["AWAITING REVIEW", "PAUSED", "ACTIVE"])
def test_a_rejection_in_a_full_study_has_three_readings(start: Start, after: str) -> None:
    prolific = start(rejection_when_full=after)
    study_id = prolific.study()
    first, _ = (prolific.person().do(study_id) for _ in range(2))
    prolific.client.submissions.reject(first, category="FAILED_CHECK", message=LONG)
    assert prolific.status(study_id) == after
    assert (prolific.person().offers() == [study_id]) == (after == "ACTIVE")


@pytest.mark.parametrize("after", ["AWAITING REVIEW", "PAUSED", "ACTIVE"])
def test_a_return_to_a_full_study_has_the_same_readings(start: Start, after: str) -> None:
    prolific = start(rejection_when_full=after)
    study_id, ada = prolific.study(), prolific.person()
    submission_id = ada.do(study_id)
    prolific.person().do(study_id)
    ada.give_up(submission_id)
    assert prolific.status(study_id) == after
    if after == "PAUSED":
        prolific.client.studies.transition(study_id, "START")
        assert prolific.person().offers() == [study_id]


def test_a_stopped_study_does_not_open_by_itself(start: Start) -> None:
    prolific = start(rejection_when_full="ACTIVE", stop_with_open_reviews="AWAITING REVIEW")
    study_id = prolific.study()
    submission_id = prolific.person().do(study_id)
    prolific.client.studies.transition(study_id, "STOP")
    prolific.client.submissions.reject(submission_id, category="OTHER", message=LONG)
    assert prolific.status(study_id) == "COMPLETED"


@pytest.mark.parametrize("allowed", [False, True])
def test_a_study_under_review_starts_again_by_one_reading(start: Start, allowed: bool) -> None:
    prolific = start(start_after_review=allowed)
    study_id = prolific.study()
    first, _ = (prolific.person().do(study_id) for _ in range(2))
    prolific.client.submissions.reject(first, category="FAILED_CHECK", message=LONG)
    answer = prolific.transition("studies", study_id, action="START")
    assert answer.status_code == (200 if allowed else 400)
    assert (prolific.person().offers() == [study_id]) == allowed


@pytest.mark.parametrize("final", [False, True])
def test_more_places_open_a_completed_study_unless_stop_is_final(start: Start, final: bool) -> None:
    prolific = start(stop_is_final=final)
    study_id = prolific.study()
    prolific.client.studies.transition(study_id, "STOP")
    answer = prolific.http.patch(f"/studies/{study_id}/", json={"total_available_places": 3})
    assert answer.status_code == (400 if final else 200)
    assert prolific.status(study_id) == ("COMPLETED" if final else "ACTIVE")
    assert prolific.wallet()[1] == (0 if final else 40_000)


def test_places_only_grow_and_their_money_is_locked(prolific: Prolific) -> None:
    study_id = prolific.study()
    assert prolific.client.studies.enlarge(study_id, 3).total_available_places == 3
    assert prolific.wallet()[1] == 40_000
    with pytest.raises(CrowdError, match="only grow"):
        prolific.client.studies.enlarge(study_id, 2)
    with pytest.raises(CrowdError, match="top up"):
        prolific.client.studies.enlarge(study_id, 1_000_000)
    assert prolific.client.studies.get(study_id).total_available_places == 3


def test_a_draft_changes_in_any_field_and_a_published_study_in_few(prolific: Prolific) -> None:
    study_id = prolific.draft()
    assert prolific.client.studies.patch(study_id, name="New", reward=50).reward_cents == 50
    assert prolific.client.studies.enlarge(study_id, 1).total_available_places == 1
    prolific.client.studies.transition(study_id, "PUBLISH")
    assert prolific.client.studies.patch(study_id, internal_name="x").internal_name == "x"
    for field, value in (("name", "Newer"), ("reward", 60), ("description", "<p>New</p>")):
        with pytest.raises(CrowdError, match=f"{field}: This field cannot change"):
            prolific.client.studies.patch(study_id, **{field: value})


def test_by_one_reading_a_paused_study_gets_another_reward(start: Start) -> None:
    prolific = start(reward_can_change=True)
    study_id = prolific.study()
    with pytest.raises(CrowdError, match="cannot change"):
        prolific.client.studies.patch(study_id, reward=200)
    prolific.client.studies.transition(study_id, "PAUSE")
    assert prolific.client.studies.patch(study_id, reward=200).reward_cents == 200
    assert prolific.wallet()[1] == 53_334


def test_a_draft_is_deleted_by_its_project(prolific: Prolific) -> None:
    draft, other = prolific.draft(), f"/projects/{NOBODY}"
    project = f"/projects/{prolific.http.get(f'/studies/{draft}/').json()['project']}"
    assert prolific.http.delete(f"{other}/studies/{draft}/").status_code == 404
    assert prolific.http.delete(f"{project}/studies/{draft}/").status_code == 204
    assert prolific.http.get(f"/studies/{draft}/").status_code == 404


@pytest.mark.parametrize("operation", ["clone", "test-study"])
def test_what_the_emulator_cannot_do_says_so(prolific: Prolific, operation: str) -> None:
    answer = prolific.http.post(f"/studies/{prolific.draft()}/{operation}")
    assert answer.status_code == 501
    assert "does not have this operation" in answer.json()["error"]["detail"]


def test_only_drafts_are_deleted(prolific: Prolific) -> None:
    draft, published = prolific.draft(), prolific.study()
    prolific.client.studies.delete(draft)
    with pytest.raises(CrowdError, match="No study"):
        prolific.client.studies.get(draft)
    with pytest.raises(CrowdError, match="Only drafts"):
        prolific.client.studies.delete(published)


def test_a_study_pauses_itself_when_its_screen_out_slots_are_used_up(prolific: Prolific) -> None:
    out = CompletionCode("OUT", "FIXED_SCREENOUT", [screen_out(cents=14, slots=1)])
    study_id = prolific.study(completion_codes=[DONE, out])
    assert prolific.wallet()[1] == 28_534  # 214 cents and a third
    submission_id = prolific.person().do(study_id, "OUT")
    assert prolific.submission(submission_id) == "SCREENED OUT"
    assert prolific.status(study_id) == "PAUSED"
    assert prolific.wallet()[2] == 1_867
    more = [
        DONE.body(),
        CompletionCode("OUT", "FIXED_SCREENOUT", [screen_out(cents=14, slots=2)]).body(),
    ]
    prolific.client.studies.patch(study_id, completion_codes=more)
    prolific.client.studies.transition(study_id, "START")
    assert prolific.person().offers() == [study_id]
    for worse in (more[:1], [more[0], out.body()]):
        with pytest.raises(CrowdError, match="lots"):
            prolific.client.studies.patch(study_id, completion_codes=worse)


def test_what_a_study_costs_is_known_before_and_after(prolific: Prolific) -> None:
    assert prolific.client.studies.estimated_cents(reward_cents=100, places=30) == 4_000
    study_id = prolific.study()
    prolific.client.submissions.approve(prolific.person().do(study_id))
    rewards, bonuses = prolific.client.studies.cost(study_id)
    assert (str(rewards.rewards), str(rewards.fees), bonuses.rewards) == ("100", "33.34", 0)
    projected, _ = prolific.client.studies.cost(study_id, projected=True)
    assert (str(projected.rewards), str(projected.fees)) == ("200", "66.67")


def test_studies_are_listed_by_state_in_both_ways(prolific: Prolific) -> None:
    draft, active = prolific.draft(), prolific.study()

    def ids(**query: str) -> list[str]:
        return [it["id"] for it in prolific.http.get("/studies/", params=query).json()["results"]]

    assert ids() == [draft, active]
    assert ids(state="(active|published)") == ids(active="1") == ids(published="1") == [active]
    assert ids(state="unpublished") == ids(published="0") == [draft]
    assert ids(completed="1") == []
