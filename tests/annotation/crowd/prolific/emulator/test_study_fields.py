"""The rules for the fields of a study, by each reading of what is undecided."""

from typing import Any

import pytest

from annotation.crowd.prolific.api.studies import REVIEW, screen_out
from annotation.crowd.prolific.emulator.operations.study_fields import cleaned, least_minutes
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import DONE, STUDY, Prolific


def body(**changes: Any) -> dict[str, Any]:
    return STUDY.body() | changes


def refusal(prolific: Prolific, **changes: Any) -> dict[str, Any]:
    answer = prolific.http.post("/studies/", json=body(**changes))
    assert answer.status_code == 400, answer.text
    detail: dict[str, Any] = answer.json()["detail"]
    return detail


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


@pytest.mark.parametrize(("longest", "status"), [(1_439, 400), (1_440, 201)])
def test_the_longest_time_is_a_reading(start: Start, longest: int, status: int) -> None:
    prolific = start(longest_minutes=longest)
    answer = prolific.http.post("/studies/", json=body(maximum_allowed_time=1_440))
    assert answer.status_code == status
