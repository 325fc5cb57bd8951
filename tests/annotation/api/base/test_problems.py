"""Every error is a problem document."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from pytest_django import Settings

from annotation.models import Campaign
from tests.annotation.api.people import Program, is_problem


@pytest.fixture
def root(campaign: Campaign) -> Program:
    return Program(User.objects.create_superuser("root"))


@pytest.mark.parametrize(
    "path", ["/api/v1/nothing", "/api/v2/campaigns", "/api/v1/campaigns/", "/api/v1/campaigns/ä"]
)
def test_an_address_that_is_none(root: Program, path: str) -> None:
    assert is_problem(root.get(path), 404)
    assert is_problem(root.post(path), 404)
    assert is_problem(Program(None).post(path), 404)


@pytest.mark.parametrize(
    "path",
    [
        "campaigns/faq/hits/99",
        "campaigns/faq/workers/%00",  # which PostgreSQL cannot even be asked for
        "campaigns/none",
        "jobs/9",
        "indexes/9",
    ],
)
def test_a_row_that_is_not_there(root: Program, path: str) -> None:
    assert is_problem(root.get(path), 404)


def test_a_field_that_there_is_not_is_not_passed_over(root: Program) -> None:
    """Its default may cost money."""
    sent = {"frist": 5, "agreed": True}
    answer = root.post("campaigns/faq/jobs/publish", sent, key="one")
    assert is_problem(answer, 400)
    assert answer.json()["errors"] == {
        "frist": ["Unknown field: choose among first, live, agreed."]
    }
    labels = [{"query": "a", "question": "b", "label": 1, "notes": "sure"}]
    answer = root.post("campaigns/faq/expert-labels/import", {"labels": labels}, key="two")
    assert is_problem(answer, 400)
    assert list(answer.json()["errors"]) == ["labels.0.notes"]
    assert is_problem(root.post("campaigns/faq/jobs/pack", {"all": True}, key="three"), 400)


def test_the_type_s_own_letters_hide_no_field(root: Program) -> None:
    answer = root.client.post(
        "/api/v1/campaigns/faq/jobs/publish",
        '{"frist": 5, "agreed": true}',
        content_type="Application/JSON",
        headers={**root.headers, "Idempotency-Key": "one"},
    )
    assert is_problem(answer, 400)


@pytest.mark.parametrize("labels", [[None], [[]], None, {}, [{}, None]])
def test_rows_that_are_none_are_told(root: Program, labels: Any) -> None:
    answer = root.post("campaigns/faq/expert-labels/import", {"labels": labels}, key="one")
    assert is_problem(answer, 400)


def test_a_number_larger_than_any_row(root: Program) -> None:
    assert is_problem(root.get(f"campaigns/faq/triplets/{9**40}"), 404)


def test_a_method_that_the_address_does_not_take(root: Program) -> None:
    answer = root.delete("campaigns/faq")
    assert is_problem(answer, 405)
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"


def test_another_form_than_json(root: Program) -> None:
    answer = root.client.post("/api/v1/campaigns/faq/operations/pause", {"agreed": "false"})
    assert is_problem(answer, 415)


@pytest.mark.parametrize("body", [b"{", b"\xff", b"NaN", b"[" * 100_000, b'{"agreed": NaN}'])
def test_a_body_that_cannot_be_read(root: Program, body: bytes) -> None:
    path = "/api/v1/campaigns/faq/operations/pause"
    assert is_problem(root.client.post(path, body, content_type="application/json"), 400)


@pytest.mark.parametrize("body", [b"[]", b"null", b"3", b'"agreed"'])
def test_a_body_that_is_no_object(root: Program, body: bytes) -> None:
    path = "/api/v1/campaigns/faq/operations/pause"
    assert is_problem(root.client.post(path, body, content_type="application/json"), 400)


def test_a_body_that_is_too_large(root: Program, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = root.post("campaigns/faq/operations/pause", {"agreed": False, "more": "x" * 100})
    assert is_problem(answer, 413)


def test_each_field_says_what_is_wrong_with_it(root: Program) -> None:
    sent = {
        "name": "no name",
        "queries": [{"query": "well"}, {"query": 5}],
        "policy": {"hit_size": 1, "reward": 3},
        "seed": "7",
    }
    answer = root.post("campaigns", sent, key="one")
    assert is_problem(answer, 400)
    errors = answer.json()["errors"]
    assert sorted(errors) == ["name", "policy", "queries.1.query", "seed"]
    assert errors["policy"] == [
        "unknown field 'reward'; did you mean reward_cents?",
        "hit_size must be a whole number from 3 to 100, not 1",
    ]


def test_what_the_rules_refuse_says_why(root: Program) -> None:
    answer = root.post("campaigns/faq/operations/resume", {"agreed": False})
    assert is_problem(answer, 422)
    assert answer.json()["detail"] == "Campaign faq is not paused."


def test_too_many_calls(root: Program, settings: Settings) -> None:
    settings.API_CALLS_PER_MINUTE = 2
    assert [root.get("me").status_code for _ in range(2)] == [200, 200]
    answer = root.get("me")
    assert is_problem(answer, 429)
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert Program(User.objects.create_user("eve")).get("me").status_code == 200


def test_the_database_away(root: Program) -> None:
    def gone(*_: Any) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(gone):
        answer = root.get("campaigns")
    assert is_problem(answer, 503)
    assert answer.headers["Retry-After"] == "60"


def test_an_error_of_ours(root: Program) -> None:
    Campaign.objects.update(policy_data={"hit_size": "seven"})
    assert is_problem(root.get("campaigns/faq/policy"), 500)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("tokens", r'{"\ud800": 1, "name": "x", "password": "y"}'),
        ("jobs/index", r'{"form": "\ud800"}'),
        ("campaigns/faq/operations/pause", r'{"agreed": false, "\udfff": 1}'),
    ],
)
def test_half_a_character_in_a_name_is_told_as_such(root: Program, path: str, sent: str) -> None:
    answer = root.client.post(
        f"/api/v1/{path}",
        sent,
        content_type="application/json",
        headers={"Idempotency-Key": "one"},
    )
    assert answer.status_code == 400
    assert "\\ud" in answer.content.decode()


def test_whatever_form_is_asked_for_the_answer_is_json(root: Program) -> None:
    answer = root.client.get("/api/v1/me", headers={"Accept": "text/html"})
    assert answer.headers["Content-Type"] == "application/json"


def test_the_pages_of_the_site_keep_their_errors(root: Program) -> None:
    answer = root.client.get("/nothing")
    assert (answer.status_code, answer.headers["Content-Type"][:9]) == (404, "text/html")


def test_a_redis_that_is_away_keeps_nobody_out(root: Program, settings: Settings) -> None:
    settings.CROWD_RATE_STORAGE = "redis://127.0.0.1:1"  # where nobody listens
    settings.API_CALLS_PER_MINUTE = 2
    assert [root.get("me").status_code for _ in range(3)] == [200, 200, 429]
