"""Ids, texts and money on their way out: checked, exact, and harmless whatever they say."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import CompletionCode
from annotation.crowd.prolific.api.values import Record, major_units, paragraphs
from tests.annotation.crowd.prolific.impostor import impostor
from tests.annotation.crowd.prolific.world import NOBODY, STUDY, Prolific, client_at

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


def test_what_is_no_text_is_not_sent_in_any_field(prolific: Prolific) -> None:
    with pytest.raises(CrowdError, match="cannot be sent"):
        prolific.client.studies.patch(NOBODY, metadata="\ud800")
    with pytest.raises(CrowdError, match="cannot be sent"):
        prolific.client.studies.patch(NOBODY, reward=float("nan"))


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
