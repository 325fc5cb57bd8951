"""The statuses of a study, its fields and its places, by each reading of what is undecided."""

from typing import Any

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import REVIEW, CompletionCode, screen_out
from annotation.crowd.prolific.emulator.operations.study_fields import cleaned, least_minutes
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import DAY, DONE, LONG, STUDY, Prolific


def body(**changes: Any) -> dict[str, Any]:
    return STUDY.body() | changes


def refusal(prolific: Prolific, **changes: Any) -> dict[str, Any]:
    answer = prolific.http.post("/studies/", json=body(**changes))
    assert answer.status_code == 400, answer.text
    detail: dict[str, Any] = answer.json()["detail"]
    return detail


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
    assert prolific.client.studies.raise_places(study_id, 3).total_available_places == 3
    assert prolific.wallet()[1] == 40_000
    with pytest.raises(CrowdError, match="only grow"):
        prolific.client.studies.raise_places(study_id, 2)
    with pytest.raises(CrowdError, match="top up"):
        prolific.client.studies.raise_places(study_id, 1_000_000)
    assert prolific.client.studies.get(study_id).total_available_places == 3


def test_a_draft_changes_in_any_field_and_a_published_study_in_few(prolific: Prolific) -> None:
    study_id = prolific.draft()
    assert prolific.client.studies.patch(study_id, name="New", reward=50).reward_cents == 50
    assert prolific.client.studies.raise_places(study_id, 1).total_available_places == 1
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


REQUIRED = (
    "name", "description", "external_study_url", "prolific_id_option", "total_available_places",
    "estimated_completion_time", "reward",
)  # fmt: skip


def test_the_declared_fields_are_required(prolific: Prolific) -> None:
    for name in REQUIRED:
        assert refusal(prolific, **{name: None}) == {name: ["This field is required."]}


@pytest.mark.parametrize("required", ["declared", "described"])
def test_codes_and_filters_are_required_by_one_reading(start: Start, required: str) -> None:
    prolific = start(required=required)
    for name in ("completion_codes", "filters"):
        answer = prolific.http.post("/studies/", json=body(**{name: None}))
        assert answer.status_code == (201 if required == "declared" else 400)


WRONG = [
    ("total_available_places", 0), ("total_available_places", 1.5),
    ("total_available_places", True), ("total_available_places", 10**30),
    ("estimated_completion_time", 0), ("reward", 0),
    ("reward", "100"), ("maximum_allowed_time", 16), ("maximum_allowed_time", 1_440),
    ("external_study_url", "javascript:alert(1)"), ("external_study_url", "https://[x"),
    ("prolific_id_option", "maybe"), ("device_compatibility", ["watch"]),
    ("device_compatibility", "desktop"), ("content_warning_details", "x" * 1_001),
    ("naivety_distribution_rate", 1.1), ("completion_codes", {}), ("name", " "), ("name", 5),
    ("submissions_config", {"max_submissions_per_participant": 0}), ("submissions_config", []),
]  # fmt: skip


def test_a_value_out_of_its_bounds_is_refused_by_its_field(prolific: Prolific) -> None:
    for name, value in WRONG:
        assert list(refusal(prolific, **{name: value})) == [name], (name, value)


CODES: list[tuple[Any, str]] = [
    (["x"], "dictionary"),
    ([{"code": "A", "code_type": "OTHER"}], "actions"),
    ([DONE.body(), DONE.body()], "unique"),
    ([{**DONE.body(), "actions": [{"action": "PAY_TWICE"}]}], "not an action"),
    ([{**DONE.body(), "actions": [REVIEW, {"action": "AUTOMATICALLY_APPROVE"}]}], "not both"),
    ([{**DONE.body(), "actions": [{"action": "DYNAMIC_PAYMENT"}]}], "actor researcher"),
    ([{**DONE.body(), "actions": [screen_out(cents=9, slots=1)]}], "from 10 to 99"),
    ([{**DONE.body(), "actions": [screen_out(cents=100, slots=1)]}], "from 10 to 99"),
    ([{**DONE.body(), "actions": [screen_out(cents=10, slots=0)]}], "from 1"),
    ([{**DONE.body(), "code": c, "actions": [screen_out(cents=10, slots=1)]} for c in "AB"], "one"),
    ([{**DONE.body(), "actions": [{"action": "REQUEST_RETURN"}]}], "required"),
    ([{**DONE.body(), "actions": [{"action": "ADD_TO_PARTICIPANT_GROUP"}]}], "id of 24"),
]


def test_completion_codes_follow_their_rules(prolific: Prolific) -> None:
    for codes, sentence in CODES:
        assert sentence in str(refusal(prolific, completion_codes=codes)), codes


def test_the_shortest_time_follows_from_the_estimate(prolific: Prolific) -> None:
    assert round(least_minutes(5), 2) == 16.47
    given = body(maximum_allowed_time=None)
    assert prolific.http.post("/studies/", json=given).json()["maximum_allowed_time"] == 25
    given = body(maximum_allowed_time=17)
    assert prolific.http.post("/studies/", json=given).json()["maximum_allowed_time"] == 17


@pytest.mark.parametrize("where", ["allowed", "create", "publish"])
def test_low_pay_is_refused_where_the_reading_says(start: Start, where: str) -> None:
    prolific = start(low_pay=where)
    if where == "create":
        assert "minimum" in str(refusal(prolific, reward=13))
        return
    study_id = prolific.draft(reward_cents=13)
    answer = prolific.transition("studies", study_id, action="PUBLISH")
    assert answer.status_code == (200 if where == "allowed" else 400)


def test_a_description_keeps_a_few_tags_alone() -> None:
    assert cleaned('<p onclick="x">a<script>b</script><b>c</b></p>') == "<p>ab<b>c</b></p>"


def test_what_the_emulator_lacks_it_says(prolific: Prolific) -> None:
    for name in ("access_details", "data_collection_method", "filter_set_id"):
        answer = prolific.http.post("/studies/", json=body(**{name: "x"}))
        assert "not supported by the Prolific emulator" in answer.json()["detail"]


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
