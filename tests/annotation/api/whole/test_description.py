"""The description, the page that shows it, and docs/api.md."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client

from annotation.operations.registry import LONG_OPERATIONS
from tests.annotation.api.whole.described import description, operations

ROOT = Path(__file__).resolve().parents[4]
DOC = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
SCHEMA = ("GET", "/api/v1/schema")


def all_operations() -> list[dict[str, object]]:
    return [described for path in description()["paths"].values() for described in path.values()]


def test_it_is_of_openapi_3_1_and_names_each_operation_once() -> None:
    assert description()["openapi"] == "3.1.0"
    names = [one["operationId"] for one in all_operations()]
    assert len(names) == len(set(names)) == len(operations())


def test_no_two_of_its_parts_share_a_name(tmp_path: Path) -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "v1.yml"))


def test_every_operation_has_an_example_of_what_is_sent_and_answered() -> None:
    for one in all_operations():
        for status, answer in one["responses"].items():  # type: ignore[attr-defined]
            if status < "300" and "content" in answer:
                assert answer["content"]["application/json"]["examples"], one["operationId"]
        if body := one.get("requestBody"):
            (content,) = body["content"].values()  # type: ignore[index]
            assert content["examples"], one["operationId"]


@pytest.mark.parametrize("name", LONG_OPERATIONS)
def test_the_example_of_a_job_is_of_its_own_kind(name: str) -> None:
    paths = description()["paths"]
    answers = paths[f"/api/v1/campaigns/{{name}}/jobs/{name}"]["post"]["responses"]
    [example] = answers["202"]["content"]["application/json"]["examples"].values()
    assert example["value"]["kind"] == name


def test_every_refusal_is_described_as_a_problem() -> None:
    for one in all_operations():
        refusals = {s: a for s, a in one["responses"].items() if s >= "400"}  # type: ignore[attr-defined]
        assert {"400", "401", "403", "429", "503"} <= refusals.keys()
        for answer in refusals.values():
            assert list(answer["content"]) == ["application/problem+json"]


def test_everybody_can_read_it() -> None:
    """Twice the same: it is made once."""
    answers = [Client().get("/api/v1/schema") for _ in range(2)]
    assert answers[0].json()["openapi"] == "3.1.0"
    assert len({answer.content for answer in answers}) == 1
    assert answers[0]["Content-Type"] == "application/vnd.oai.openapi+json"


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_script_within_it() -> None:
    answer = Client().get("/api/")
    page = answer.content.decode()
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "//" not in page.replace('xmlns="http://', "")
    assert re.findall(r"<script(?! src=)", page) == []
    for path in re.findall(r'(?:src|href)="/static/([^"]+)"', page):
        assert finders.find(path), path
    script = re.search(r'<script src="(/api/[^"]*script[^"]*)"', page)
    assert script
    report = Client().get(script[1])
    assert report.headers["Content-Type"].startswith("application/javascript")
    assert b"/api/v1/schema" in report.content


def test_the_doc_names_operations_that_exist() -> None:
    named = set(re.findall(r"`(GET|POST|DELETE) (/api/v1/[^`]+)`", DOC)) - {SCHEMA}
    assert len(named) >= 5
    assert {(method.lower(), path) for method, path in named} <= set(operations())


@pytest.mark.parametrize("word", ["Idempotency-Key", "problem+json", "next", "Bearer", "Location"])
def test_the_doc_tells_of(word: str) -> None:
    assert word in DOC
