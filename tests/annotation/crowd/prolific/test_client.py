"""The client against the emulator over HTTP: faults, error forms, the token, hostile texts."""

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import CompletionCode
from annotation.crowd.prolific.api.values import Record, major_units, paragraphs
from annotation.crowd.prolific.errors import OutcomeUnknown
from annotation.crowd.wire.faults import KINDS, Faults
from tests.annotation.crowd.prolific.world import (
    LONG,
    NOBODY,
    STUDY,
    Prolific,
    client_at,
    insist,
    running,
)

TOKEN = "SECRET-token-123"


def seed_of(*kinds: str) -> int:
    """One under which the first calls meet these faults, in this order."""
    for seed in itertools.count():
        faults = Faults(1.0, seed)
        met = [fault.kind if (fault := faults.of_call()) else None for _ in kinds]
        if tuple(met) == kinds:
            return seed
    raise AssertionError


@contextmanager
def troubled(prolific: Prolific, *kinds: str, timeout: float = 10) -> Iterator[Prolific]:
    """A second emulator on the state of the first, where the first calls meet these faults."""
    faults = Faults(1.0, seed_of(*kinds))
    with running(prolific.state, clock=prolific.clock, faults=faults, timeout=timeout) as twin:
        yield twin


def test_a_call_that_is_safe_is_repeated_until_it_is_answered(prolific: Prolific) -> None:
    submission_id = prolific.person().do(prolific.study())
    with troubled(prolific, "failed_after", "closed_before", "slow") as twin:
        assert twin.client.submissions.approve(submission_id).status == "APPROVED"
    with troubled(prolific, "closed_after", "throttled", "slow") as twin:
        assert twin.client.submissions.get(submission_id).status == "APPROVED"
        assert twin.rate.pauses == 1
    assert prolific.wallet()[2] == 13_334


def test_a_call_that_is_not_safe_is_sent_once(prolific: Prolific) -> None:
    for kind in ("closed_before", "closed_after", "failed_before", "failed_after", "throttled"):
        made = len(list(prolific.client.studies.list()))
        with troubled(prolific, kind) as twin, pytest.raises(CrowdError) as failed:
            twin.client.studies.create(STUDY)
        assert not failed.value.permanent
        assert failed.value.throttled == (kind == "throttled")
        after = len(list(prolific.client.studies.list()))
        assert after - made == kind.endswith("_after")


@pytest.mark.parametrize(
    ("kind", "paid"),
    [("closed_before", 0), ("closed_after", 1), ("failed_before", 0), ("failed_after", 1)],
)
def test_a_payment_whose_answer_is_lost_is_not_repeated(
    prolific: Prolific, kind: str, paid: int
) -> None:
    submission_id, bulk_id = bonus(prolific)
    with troubled(prolific, kind) as twin:
        with pytest.raises(OutcomeUnknown, match="Nobody knows whether") as unknown:
            twin.client.bonuses.pay(bulk_id)
        assert unknown.value.permanent
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == (50,) * paid
    assert len(prolific.rows("SELECT 1 FROM faults")) == 1  # one call was made


def bonus(prolific: Prolific) -> tuple[str, str]:
    study_id = prolific.study()
    submission_id = prolific.person().do(study_id)
    return submission_id, prolific.client.bonuses.set_up(study_id, [(submission_id, 50)]).bulk_id


def test_a_payment_that_comes_late_is_unknown_too(prolific: Prolific) -> None:
    submission_id, bulk_id = bonus(prolific)
    with (
        troubled(prolific, "slow", timeout=0.1) as twin,
        pytest.raises(OutcomeUnknown, match="ReadTimeout"),
    ):
        twin.client.bonuses.pay(bulk_id)
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == (50,)


def test_a_payment_that_was_throttled_was_not_made(prolific: Prolific) -> None:
    submission_id, bulk_id = bonus(prolific)
    with troubled(prolific, "throttled") as twin, pytest.raises(CrowdError) as refused:
        twin.client.bonuses.pay(bulk_id)
    assert refused.value.throttled
    assert not isinstance(refused.value, OutcomeUnknown)
    prolific.clock.forward(60)
    assert prolific.client.submissions.get(submission_id).bonus_cents == ()


def test_a_payment_that_was_never_sent_can_be_sent_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        client_at(f"http://127.0.0.1:{port}") as client,
        pytest.raises(CrowdError, match="cannot be reached") as refused,
    ):
        client.bonuses.pay(NOBODY)
    assert not refused.value.permanent
    assert not isinstance(refused.value, OutcomeUnknown)


def publish_insisting(prolific: Prolific) -> str:
    """Who does not know what came of a call looks first."""
    studies = prolific.client.studies
    study_id: str = insist(studies.create, STUDY).study_id
    while insist(studies.get, study_id).status == "UNPUBLISHED":
        with suppress(CrowdError):
            studies.transition(study_id, "PUBLISH")
    prolific.clock.forward(2)
    return study_id


def test_a_campaign_under_faults_pays_each_once(tmp_path: Path) -> None:
    rounds = 8
    with running(tmp_path / "state.sqlite3", faults=Faults(0.4, 5)) as prolific:
        submissions = prolific.client.submissions
        for _ in range(rounds):
            study_id = publish_insisting(prolific)
            good, bad = (prolific.person().do(study_id) for _ in range(2))
            insist(submissions.approve, good)
            insist(submissions.reject, bad, category="OTHER", message=LONG)
            insist(submissions.approve_in_bulk, [good, bad])
            prolific.clock.forward(60)
            assert insist(submissions.get, good).status == "APPROVED"
        assert prolific.rows("SELECT kind, cents FROM payments") == [("reward", 100)] * rounds
        assert {kind for (kind,) in prolific.rows("SELECT kind FROM faults")} == {*KINDS}


def test_a_client_reads_every_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.crowd.prolific.connection.LIMIT", 2)
    with running(tmp_path / "state.sqlite3") as prolific:
        made = [prolific.draft() for _ in range(5)]
        assert [it.study_id for it in prolific.client.studies.list()] == made
        study_id = prolific.study(total_available_places=4)
        done = [prolific.person().do(study_id) for _ in range(4)]
        read = [it.submission_id for it in prolific.client.submissions.of_study(study_id)]
        assert read == done


@contextmanager
def impostor(status: int, body: bytes, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """A server that gives one answer to everything, and the paths that it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


E = b'{"status": 400, "error_code": 1, "title": "Validation error", "detail": %s}'
SAID: list[tuple[int, bytes, str, bool]] = [
    (400, b'{"error": %s}' % (E % b'"No."'), "Validation error. No.", True),
    (400, E % b'"No."', "Validation error. No.", True),
    (400, E % b'["One.", "Two."]', "One. Two.", True),
    (400, E % b'{"name": ["Too long."], "reward": ["Too low."]}', "name: Too long. reward:", True),
    (400, b'{"message": "M", "detail": null}', "M.", True),
    (400, b'{"error": "plain"}', "plain.", True),
    (400, b"<html>\n<b>Bad</b>\x1b[31m", "<html> <b>Bad</b> [31m", True),
    (400, b"", "no reason given", True),
    (400, b"{}", "no reason given", True),
    (401, b'{"detail": "Invalid token."}', "check the API token", False),
    (403, b"{}", "check what the API token may do", False),
    (404, b'{"error": %s}' % (E % b'"Not found."'), "Not found.", True),
    (400, E % b'"No permission to use this feature."', "ask Prolific to enable", False),
    (200, b'{"error": {"detail": "Failed."}}', "Failed.", True),
    (302, b"", "redirects with status 302", False),
    (200, b"<html>", "not JSON", False),
    (200, b"[]", "cannot be read", False),
    (200, b'{"id": "../x"}', "cannot be read (id)", False),
    (503, b"<html>Busy</html>", "try again later", False),
    (400, b'"' + b"x" * 9_000 + b'"', "x...", True),
]


@pytest.mark.parametrize(("status", "body", "sentence", "permanent"), SAID)
def test_each_form_of_an_error_becomes_one_sentence(
    status: int, body: bytes, sentence: str, permanent: bool
) -> None:
    with (
        impostor(status, body, Location="http://evil.example/") as (url, _),
        client_at(url, TOKEN) as client,
        pytest.raises(CrowdError) as failed,
    ):
        client.submissions.get(NOBODY)
    message = str(failed.value)
    assert sentence in message
    assert failed.value.permanent == permanent
    assert not failed.value.throttled
    assert message.isprintable()
    assert len(message) < 800


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_token_is_never_said(status: int) -> None:
    body = f'{{"detail": "You sent Token {TOKEN}."}}'.encode()
    with (
        impostor(status, body) as (url, _),
        client_at(url, TOKEN) as client,
        pytest.raises(CrowdError) as failed,
    ):
        client.workspaces.me()
    assert TOKEN not in str(failed.value)
    assert TOKEN not in repr(failed.value.__cause__)
    assert "[token]" in str(failed.value)


@pytest.mark.parametrize("token", ["", "a b", "x\r\nX-Evil: 1", "tökn", "\x00"])
def test_a_token_that_is_none_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(CrowdError, match="set it to the text") as failed:
        client_at("http://127.0.0.1:1", token)
    assert not token or token not in str(failed.value)


def test_a_wrong_token_is_said_to_be_wrong(prolific: Prolific) -> None:
    with (
        client_at(f"{prolific.url}/", "wrong") as client,
        pytest.raises(CrowdError, match="check the API token"),
    ):
        client.workspaces.me()


CALLS: list[Callable[[Any, str], object]] = [
    lambda client, key: client.studies.get(key),
    lambda client, key: client.studies.transition(key, "PUBLISH"),
    lambda client, key: client.submissions.approve(key),
    lambda client, key: client.submissions.approve_in_bulk([key]),
    lambda client, key: list(client.submissions.of_study(key)),
    lambda client, key: client.groups.add(key, [NOBODY]),
    lambda client, key: client.groups.add(NOBODY, [key]),
    lambda client, key: client.bonuses.set_up(NOBODY, [(key, 1)]),
    lambda client, key: client.bonuses.pay(key),
    lambda client, key: client.messages.send(key, "x", study_id=NOBODY),
    lambda client, key: client.hooks.unsubscribe(key),
    lambda client, key: client.workspaces.balance(key),
]
NO_IDS = [
    "",
    "../users/me",
    "60D9AADEB86739DE712FAEE0",
    "0" * 23,
    "0" * 25,
    f"{NOBODY}\n",
    "é" * 24,
]


def test_what_is_no_id_never_leaves_the_client() -> None:
    with impostor(200, b"{}") as (url, asked), client_at(url) as client:
        for call, key in itertools.product(CALLS, NO_IDS):
            with pytest.raises(CrowdError, match="is not the id of a") as failed:
                call(client, key)
            assert failed.value.permanent
        assert asked == []


HOSTILE = [
    "<script>alert(1)</script>", '"; DROP TABLE studies; --', "{{%PROLIFIC_PID%}}", "‮evil",
    "a\tb\nc", "👩‍🔬" * 50, "\\ud800 as text", "=1+1",
]  # fmt: skip


def test_hostile_texts_arrive_as_they_are(prolific: Prolific) -> None:
    study_id, ada = prolific.study(), prolific.person()
    for text in HOSTILE:
        study = prolific.client.studies.create(replace(STUDY, name=text, description=text))
        assert study.name == text
        shown = prolific.http.get(f"/studies/{study.study_id}/").json()["description"]
        assert "<script>" not in shown
        assert prolific.client.groups.create(prolific.workspace, text).name == text
        prolific.client.messages.send(ada.id, text, study_id=study_id)
    assert [it["body"] for it in ada.get("messages")] == HOSTILE


def test_texts_that_nobody_can_read_are_refused(prolific: Prolific) -> None:
    for text in ("", "  ", "a\x00b", "\ud800", "\x1b[31m"):
        with pytest.raises(CrowdError, match="name of the study") as failed:
            prolific.client.studies.create(replace(STUDY, name=text))
        assert failed.value.permanent
        with pytest.raises(CrowdError, match="message"):
            prolific.client.messages.send(NOBODY, text, study_id=NOBODY)
        with pytest.raises(CrowdError):
            prolific.client.studies.create(
                replace(STUDY, completion_codes=[CompletionCode(text, "OTHER", [])])
            )


def test_a_rejection_too_short_never_leaves_the_client() -> None:
    with impostor(200, b"{}") as (url, asked), client_at(url) as client:
        with pytest.raises(CrowdError, match="at least 100 characters, not 2"):
            client.submissions.reject(NOBODY, category="OTHER", message="no")
        assert asked == []


def test_money_is_exact() -> None:
    assert [major_units(it) for it in (1, 50, 425, 3_000)] == ["0.01", "0.50", "4.25", "30.00"]
    for cents in (0, -1):
        with pytest.raises(CrowdError, match="cannot be paid"):
            major_units(cents)
    record = Record({"a": Decimal("283.34"), "b": Decimal("5.0"), "c": True}, "x")
    assert record.exact("a") == Decimal("283.34")
    assert record.number("b") == 5
    for name in ("a", "c", "d"):
        with pytest.raises(CrowdError, match=f"\\({name}\\)"):
            record.number(name)


def test_a_description_is_paragraphs_of_plain_text() -> None:
    assert paragraphs("a < b\n\n 'c' & d ") == "<p>a &lt; b</p><p>&#x27;c&#x27; &amp; d</p>"


def test_bonuses_are_divided_by_the_caller() -> None:
    with impostor(200, b"{}") as (url, asked), client_at(url) as client:
        for number in (0, 201):
            with pytest.raises(CrowdError, match="1 to 200"):
                client.bonuses.set_up(NOBODY, [(NOBODY, 1)] * number)
        assert asked == []


def test_a_total_that_was_read_differently_is_not_paid() -> None:
    body = b'{"id": "%s", "study": "%s", "amount": 42500, "fees": 0, "vat": 0, "total_amount": 1}'
    key = NOBODY.encode()
    with (
        impostor(201, body % (key, key)) as (url, _),
        client_at(url) as client,
        pytest.raises(CrowdError, match="425 cents as 42500: do not pay"),
    ):
        client.bonuses.set_up(NOBODY, [(NOBODY, 425)])
