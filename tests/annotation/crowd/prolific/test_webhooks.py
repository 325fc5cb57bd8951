"""Events: signed as documented, delivered at least once, and believed in their ids alone."""

import base64
import hashlib
import hmac
import itertools
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.crowd.port import CrowdError, NotSent
from annotation.crowd.prolific.events import (
    SIGNATURE,
    TIMESTAMP,
    HookEvent,
    is_genuine,
    read_event,
)
from annotation.crowd.wire.faults import Faults
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import DAY, NOBODY, Prolific, Target

SUBMISSION = "submission.status.change"
STUDY = "study.status.change"


def subscribe(prolific: Prolific, target: Target, event_type: str = SUBMISSION) -> tuple[str, str]:
    """The secret, and the subscription's id."""
    hooks, workspace = prolific.client.hooks, prolific.workspace
    secret = hooks.create_secret(workspace)
    made = hooks.subscribe(workspace, event_type=event_type, target_url=target.url)
    return secret, made.subscription_id


def drain(prolific: Prolific) -> None:
    """The emulator's own thread may be at it too."""
    for _ in range(8):
        while prolific.server.deliveries.deliver():
            pass
        prolific.clock.forward(6)


def test_an_event_is_signed_and_read_again(start: Start, target: Target) -> None:
    prolific = start(loopback_hooks=True)
    secret, subscription = subscribe(prolific, target)
    ada = prolific.person()
    submission_id = ada.do(prolific.study())
    drain(prolific)
    assert target.statuses() == ["RESERVED", "ACTIVE", "AWAITING REVIEW"]
    for body, headers in target.got:
        event = read_event(body, headers, secret)
        assert (event.event_type, event.resource_id) == (SUBMISSION, submission_id)
        assert body == json.dumps(json.loads(body)).encode()  # who signs what was parsed is right
        with pytest.raises(NotSent, match="check the webhook secret"):
            read_event(body + b" ", headers, secret)
        with pytest.raises(NotSent):
            read_event(body, headers, "another")
    log = list(prolific.client.hooks.deliveries(subscription))
    assert [(it.status, it.resource_id) for it in log] == [("SUCCEEDED", submission_id)] * 3


def test_a_study_tells_its_status(start: Start, target: Target) -> None:
    prolific = start(loopback_hooks=True)
    subscribe(prolific, target, STUDY)
    prolific.client.studies.transition(prolific.study(), "PAUSE")
    drain(prolific)
    assert target.statuses() == ["PUBLISHING", "ACTIVE", "PAUSED"]
    assert json.loads(target.got[0][0])["metadata"] == {}


def test_a_target_that_fails_is_tried_again(start: Start, target: Target) -> None:
    prolific = start(loopback_hooks=True, hook_attempts=3)
    _, subscription = subscribe(prolific, target)
    target.status = 500
    prolific.person().take(prolific.study())
    prolific.server.deliveries.deliver()
    assert len(target.got) == 1
    target.status = 204
    prolific.clock.forward(61)
    prolific.server.deliveries.deliver()
    ids = [headers["X-Event-ID"] for _, headers in target.got]
    assert len(ids) == 2
    assert len(set(ids)) == 1
    (delivery,) = prolific.client.hooks.deliveries(subscription)
    assert delivery.status == "SUCCEEDED"


def test_a_target_that_is_slow_has_failed(start: Start, target: Target) -> None:
    prolific = start(loopback_hooks=True, hook_timeout_seconds=0.1, hook_attempts=1)
    _, subscription = subscribe(prolific, target)
    target.seconds = 0.3
    prolific.person().take(prolific.study())
    prolific.server.deliveries.deliver()
    (delivery,) = prolific.client.hooks.deliveries(subscription)
    assert (delivery.status, len(target.got)) == ("FAILED", 1)


def test_a_target_that_always_fails_is_given_up(start: Start, target: Target) -> None:
    prolific = start(loopback_hooks=True, hook_attempts=3)
    _, subscription = subscribe(prolific, target)
    target.status = 503
    study_id = prolific.study(total_available_places=3)
    prolific.person().take(study_id)
    for _ in range(3):
        prolific.clock.forward(150)
        prolific.server.deliveries.deliver()
    (delivery,) = prolific.client.hooks.deliveries(subscription)
    assert delivery.status == "FAILED"
    prolific.clock.forward(5 * DAY)
    prolific.person().take(study_id)
    prolific.server.deliveries.deliver()
    (disabled,) = prolific.client.hooks.subscriptions(prolific.workspace)
    assert not disabled.is_enabled
    assert prolific.client.hooks.enable(subscription).is_enabled


def test_events_are_repeated_and_reordered_by_the_seed(start: Start, target: Target) -> None:
    def met(seed: int) -> list[str | None]:
        faults = Faults(1.0, seed)
        return [faults.of_delivery() for _ in range(3)]

    seed = next(it for it in itertools.count() if met(it) == ["late", "repeated", "repeated"])
    # Deliveries alone are troubled: the client's calls are to meet no fault.
    prolific = start(loopback_hooks=True)
    subscribe(prolific, target)
    prolific.server.deliveries._faults = Faults(1.0, seed)
    prolific.person().do(prolific.study())
    drain(prolific)
    counted = Counter(target.statuses())
    assert counted == {"RESERVED": 1, "ACTIVE": 2, "AWAITING REVIEW": 2}
    assert target.statuses()[0] != "RESERVED"
    ids = {headers["X-Event-ID"] for _, headers in target.got}
    assert len(ids) == 3
    rows = prolific.rows("SELECT kind FROM faults ORDER BY seq")
    assert rows == [("late",), ("repeated",), ("repeated",)]


@pytest.mark.parametrize("told", [False, True])
def test_an_unconfirmed_subscription_has_two_readings(
    start: Start, target: Target, told: bool
) -> None:
    prolific = start(loopback_hooks=True, unconfirmed_hooks=told)
    prolific.client.hooks.create_secret(prolific.workspace)
    body = {"workspace_id": prolific.workspace, "event_type": STUDY, "target_url": target.url}
    answer = prolific.http.post("/hooks/subscriptions/", json=body)
    assert answer.headers["X-Hook-Secret"]
    path = f"/hooks/subscriptions/{answer.json()['id']}/"
    assert prolific.http.post(path, json={"secret": "wröng"}).status_code == 400
    prolific.study()
    drain(prolific)
    assert bool(target.got) == told


@pytest.mark.parametrize("shape", ["object", "list"])
def test_both_shapes_of_a_new_subscription_are_read(
    start: Start, target: Target, shape: str
) -> None:
    prolific = start(loopback_hooks=True, subscription_shape=shape)
    _, subscription = subscribe(prolific, target)
    prolific.client.hooks.unsubscribe(subscription)
    assert list(prolific.client.hooks.subscriptions(prolific.workspace)) == []


def test_targets_are_public_https_addresses_alone(prolific: Prolific) -> None:
    hooks, workspace = prolific.client.hooks, prolific.workspace
    with pytest.raises(CrowdError, match="secret for the workspace first"):
        hooks.subscribe(workspace, event_type=STUDY, target_url="https://quorum.example/hook")
    hooks.create_secret(workspace)
    for url in ("http://127.0.0.1:1/x", "ftp://x.example/", "https://", "https://[x", "x"):
        with pytest.raises(CrowdError, match="public https"):
            hooks.subscribe(workspace, event_type=STUDY, target_url=url)
    hooks.subscribe(workspace, event_type=STUDY, target_url="https://quorum.example/hook")
    names = {it["event_type"] for it in prolific.http.get("/hooks/event-types/").json()["results"]}
    assert {STUDY, SUBMISSION} < names


def test_a_new_secret_replaces_the_one_before(prolific: Prolific) -> None:
    hooks, workspace = prolific.client.hooks, prolific.workspace
    first, second = hooks.create_secret(workspace), hooks.create_secret(workspace)
    assert hooks.secrets(workspace) == [second] != [first]


def signed(body: bytes, timestamp: str = "1779275290", secret: str = "s€cret") -> dict[str, str]:
    """By the documented recipe, on what arrives as bytes."""
    digest = hmac.new(
        secret.encode("utf-8"), (timestamp + body.decode("utf-8")).encode("utf-8"), hashlib.sha256
    ).digest()
    return {TIMESTAMP: timestamp, SIGNATURE: base64.b64encode(digest).decode("utf-8")}


EVENT = json.dumps({"resource_id": NOBODY, "event_type": SUBMISSION, "status": "APPROVED"}).encode()


def test_the_documented_recipe_is_genuine() -> None:
    event = read_event(EVENT, signed(EVENT) | {"X-Event-ID": "E1"}, "s€cret")
    assert event == HookEvent(SUBMISSION, NOBODY, "E1")


@pytest.mark.parametrize(
    "changed",
    [
        {SIGNATURE: ""}, {SIGNATURE: "é" * 44}, {SIGNATURE: "A" * 44}, {TIMESTAMP: ""},
        {TIMESTAMP: "1779275291"}, {TIMESTAMP: "x"}, {TIMESTAMP: "٣"}, {TIMESTAMP: "1" * 99},
        {SIGNATURE: "\ud800"},
    ],
)  # fmt: skip
def test_a_changed_header_is_not_genuine(changed: dict[str, str]) -> None:
    with pytest.raises(NotSent):
        read_event(EVENT, signed(EVENT) | changed, "s€cret")


def test_digits_cannot_move_between_timestamp_and_body() -> None:
    """They are joined without a separator, but no event begins with a digit."""
    body = b"0" + EVENT
    moved = signed(EVENT, "17792752900")
    assert is_genuine(body, timestamp="1779275290", signature=moved[SIGNATURE], secret="s€cret")
    with pytest.raises(NotSent, match="not JSON"):
        read_event(body, moved | {TIMESTAMP: "1779275290"}, "s€cret")


def test_no_secret_makes_nothing_genuine() -> None:
    assert not is_genuine(
        EVENT, timestamp="1", signature=signed(EVENT, "1", "")[SIGNATURE], secret=""
    )


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{}", b"null", b"[" * 100_000, b'{"event_type": "x", "resource_id": "../1"}',
        b'{"event_type": 5, "resource_id": "%s"}' % NOBODY.encode(),
        b'{"event_type": "", "resource_id": "%s"}' % NOBODY.encode(),
        b'{"event_type": "%s", "resource_id": "%s"}' % (b"x" * 101, NOBODY.encode()),
    ],
)  # fmt: skip
def test_a_genuine_body_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(NotSent, match="ignore it"):
        read_event(body, signed(body), "s€cret")


@pytest.mark.hypothesis
@given(body=st.binary(max_size=200), headers=st.dictionaries(st.text(), st.text(), max_size=3))
def test_no_request_of_a_stranger_is_genuine(body: bytes, headers: dict[str, str]) -> None:
    with pytest.raises(NotSent):
        read_event(body, {TIMESTAMP: "1", SIGNATURE: "x"} | headers, "secret")
