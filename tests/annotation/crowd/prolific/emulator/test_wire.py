"""The API's own manners: the token, both forms of addresses, errors and pages, hostile bodies."""

from typing import Any

import httpx
import pytest

from annotation.crowd.prolific.emulator.readings import Readings, parsed
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import NOBODY, Prolific


@pytest.mark.parametrize("header", ["", "Token wrong", "Bearer local", "Token locäl", "local"])
def test_without_the_token_nothing_is_answered(prolific: Prolific, header: str) -> None:
    headers = {"Authorization": header.encode("latin-1")}
    answer = prolific.http.get("/users/me/", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["status"] == 401


def test_both_forms_of_an_address_are_the_same(prolific: Prolific) -> None:
    study_id = prolific.draft()
    for path in ("/users/me", f"/studies/{study_id}", "/studies", f"/studies/{study_id}/cost"):
        assert prolific.http.get(path).json() == prolific.http.get(f"{path}/").json() or (
            path == "/studies"  # whose links differ
        )


def test_by_one_reading_the_other_form_redirects(start: Start) -> None:
    prolific = start(slashes="redirect")
    answer = prolific.http.get("/users/me")
    assert answer.status_code == 308
    assert answer.headers["Location"].endswith("/users/me/")
    assert prolific.client.workspaces.me()  # the client uses the documented form


def shapes(prolific: Prolific) -> tuple[bool, bool]:
    """Whether errors of two operations are wrapped: one declared so, one declared bare."""
    wrapped = prolific.http.get(f"/studies/{NOBODY}/").json()
    bare = prolific.http.post("/studies/", json={}).json()
    return "error" in wrapped, "error" in bare


@pytest.mark.parametrize(
    ("reading", "expected"),
    [("declared", (True, False)), ("wrapped", (True, True)), ("bare", (False, False))],
)
def test_errors_have_two_shapes(start: Start, reading: str, expected: tuple[bool, bool]) -> None:
    assert shapes(start(error_shape=reading)) == expected


def test_an_error_has_the_documented_keys(prolific: Prolific) -> None:
    error = prolific.http.get(f"/studies/{NOBODY}/").json()["error"]
    assert {"status", "error_code", "title", "detail"} <= set(error)
    assert (error["status"], error["title"]) == (404, "Not found")


HOSTILE: list[bytes] = [
    b"{", b"[]", b'"x"', b"null", b'{"name": NaN}', b'{"name": "\\ud800"}', b"\xff\xfe",
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b"[" * 50_000,
]  # fmt: skip


def test_bodies_that_are_no_json_object_are_refused(prolific: Prolific) -> None:
    for body in HOSTILE:
        assert prolific.http.post("/studies/", content=body).status_code == 400, body[:20]
    large = b'{"name": "' + b"x" * 2_000_000 + b'"}'
    assert prolific.http.post("/studies/", content=large).status_code == 413


WRITES = (
    "/studies/", "/workspaces/", "/participant-groups/", "/messages/", "/messages/bulk/",
    "/submissions/bulk-approve/", "/submissions/bonus-payments/", "/hooks/secrets/",
    "/hooks/subscriptions/", "/messages/participant-group/",
)  # fmt: skip
KEYS = (
    "name", "title", "workspace_id", "study_id", "recipient_id", "ids", "body", "submission_ids",
    "csv_bonuses", "participant_ids", "event_type", "target_url", "currency_code", "reward",
    "participant_group_id", "project", "publish_at", "filters", "completion_codes",
)  # fmt: skip


@pytest.mark.parametrize("value", [{}, [], 5, "\x00", "' OR 1=1 --", 10**400, [[]], [None], True])
def test_no_value_of_any_kind_breaks_a_call(prolific: Prolific, value: Any) -> None:
    for path in WRITES:
        answer = prolific.http.post(path, json=dict.fromkeys(KEYS, value))
        assert answer.status_code < 500, (path, answer.text)


def test_unknown_addresses_and_methods_are_refused(prolific: Prolific) -> None:
    assert prolific.http.get("/nothing/").status_code == 404
    assert prolific.http.put("/studies/").status_code == 405
    assert prolific.http.get("/studies/%00'/").status_code == 404


def test_pages_by_number_lead_to_each_other_and_end(prolific: Prolific) -> None:
    made = [prolific.draft() for _ in range(5)]
    read: list[str] = []
    answer = prolific.http.get("/studies/", params={"page_size": 2}).json()
    while True:
        read += [it["id"] for it in answer["results"]]
        assert answer["meta"] == {"count": 5}
        if (href := answer["_links"]["next"]["href"]) is None:
            break
        assert "page_size=2" in href
        answer = prolific.http.get(href).json()
    assert read == made
    assert prolific.http.get("/studies/", params={"page_size": 2, "page": 4}).status_code == 404
    for query in ({"page": "0"}, {"page_size": "1001"}, {"page": "x"}, {"page": "1" * 40}):
        assert prolific.http.get("/studies/", params=query).status_code == 400


def test_pages_by_offset_lead_to_each_other_and_end(prolific: Prolific) -> None:
    path = f"/workspaces/{prolific.workspace}/projects/"
    for number in range(4):
        prolific.http.post(path, json={"title": str(number)})
    answer = prolific.http.get(path, params={"limit": 2, "offset": 2}).json()
    assert [it["title"] for it in answer["results"]] == ["1", "2"]
    links = {name: link["href"] for name, link in answer["_links"].items()}
    assert "offset=4" in links["next"]
    assert "offset=0" in links["previous"]
    answer = prolific.http.get(links["last"]).json()
    assert [it["title"] for it in answer["results"]] == ["3"]
    assert answer["_links"]["next"]["href"] is None
    assert prolific.http.get(path, params={"offset": 9}).json()["results"] == []
    assert prolific.http.get(path, params={"limit": "0"}).status_code == 400


def test_readings_are_chosen_by_name() -> None:
    assert parsed([]) == Readings()
    chosen = parsed(["undo=true", "no_funds=402", "rejection_limit=3", "publishing_seconds=0.5"])
    assert (chosen.undo, chosen.no_funds, chosen.rejection_limit) == (True, 402, 3)
    assert chosen.publishing_seconds == 0.5
    assert parsed(["error_shape=bare", "message_limit=none"]).error_shape == "bare"
    for wrong in ("x=1", "undo=maybe", "no_funds=x", "error_shape=round", "rejection_limit=-1"):
        with pytest.raises(ValueError, match=wrong.partition("=")[0]):
            parsed([wrong])


def test_a_connection_without_a_token_reaches_the_participants_face_only(
    prolific: Prolific,
) -> None:
    assert httpx.get(f"{prolific.url}/api/v1/users/me/", trust_env=False).status_code == 401
    assert prolific.person().offers() == []


def test_workspaces_and_projects_are_named_anew(prolific: Prolific) -> None:
    workspace = f"/workspaces/{prolific.workspace}/"
    [project] = prolific.http.get(f"{workspace}projects/").json()["results"][:1]
    for path in (workspace, f"/projects/{project['id']}/"):
        before = prolific.http.get(path).json()
        assert prolific.http.patch(path, json={"title": ""}).status_code == 400
        changed = prolific.http.patch(path, json={"title": "Autumn"})
        assert changed.json() == prolific.http.get(path).json() == {**before, "title": "Autumn"}


def test_rewards_are_recommended_in_both_currencies(prolific: Prolific) -> None:
    rows = prolific.http.get("/reward-recommendations/").json()
    least = {it["currency"]: it["min_reward_per_hour"] for it in rows}
    assert least == {"GBP": 600, "USD": 800}
