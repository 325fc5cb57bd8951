"""Experts' labels from a file or a program: its rows are told, the operation is in the log."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from lxml import html

from annotation.models import AuditEntry, Campaign, ExpertLabel, Role, Triplet
from tests.annotation.api.people import Program, is_problem, person
from tests.annotation.support.hits import REAL, make_campaign, make_hit
from tests.annotation.web.base.readers import plays

pytestmark = pytest.mark.django_db

PAGE = "/admin/campaigns/faq/review/import"
API = "campaigns/faq/expert-labels/import"
GOOD = [{"query": query, "question": question, "label": 1} for query, question, _ in REAL[:2]]
BAD = """query,question,label
price of a stamp,How much does a stamp cost?,1
boil an egg,How long do I boil an egg?,perhaps
<script>alert(1)</script>,,1
price of a stamp,How much does a stamp cost?,0
"""


@pytest.fixture
def campaign() -> Campaign:
    campaign = make_campaign()
    make_hit(campaign)
    return campaign


@pytest.fixture
def manager(campaign: Campaign) -> Client:
    return plays("manager", campaign, "cleo")


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def sent(client: Client, content: str, name: str = "own.jsonl", **asked: str) -> Any:
    upload = SimpleUploadedFile(name, content.encode())
    return client.post(PAGE, {"file": upload, "expert": "gold", **asked})


def said(response: Any) -> str:
    return " ".join(html.fromstring(response.content).find("body").text_content().split())


def test_a_file_of_labels_stands_beside_the_votes_and_in_the_log(
    campaign: Campaign, manager: Client
) -> None:
    stray = {"query": "nobody asks", "question": "this", "label": 0}
    answer = sent(manager, lines([*GOOD, stray]))
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    report = said(manager.get(PAGE))
    assert "2 labels added. 1 row is about no triplet here (line 3)." in report
    found = ExpertLabel.objects.filter(triplet__campaign=campaign)
    assert {(one.expert, one.label, one.source) for one in found} == {("gold", 1, "import")}
    assert found.count() == 2
    entry = AuditEntry.objects.get(verb="import-gold")
    assert (entry.actor, entry.via, entry.campaign) == ("cleo", "page", campaign)
    assert entry.details.items() >= {
        "file": "own.jsonl", "expert": "gold", "replace": False, "labels_new": 2
    }.items()  # fmt: skip
    assert not Triplet.objects.exclude(status="open").exists()


def test_every_row_that_cannot_be_used_is_told_and_none_is_taken(manager: Client) -> None:
    answer = sent(manager, BAD, "own.csv")
    assert answer.status_code == 422
    rows = [
        [cell.text_content() for cell in row.findall("td")]
        for row in html.fromstring(answer.content).xpath("//main//tbody/tr")
    ]
    assert [(line, reason) for line, reason, _ in rows] == [
        ("3", "The label must be 1 or 0, not 'perhaps'"),
        ("4", "The question is empty"),
        ("5", "It says 0 of what line 2 says 1 of, by the same expert"),
    ]
    assert b"<script>alert(1)" not in answer.content
    report = said(answer)
    assert "Line 3 of own.csv: the label must be 1 or 0" in report
    assert "(2 more rows cannot be used either); nothing was imported." in report
    assert not ExpertLabel.objects.exists()
    assert not AuditEntry.objects.exists()


def test_what_an_expert_gave_before_is_replaced_where_that_is_said(manager: Client) -> None:
    sent(manager, lines(GOOD), expert="dan")
    other = lines([{**GOOD[0], "label": 0}])
    refused = sent(manager, other, expert="dan")
    assert refused.status_code == 422
    assert "are not those that the same expert gave before" in said(refused)
    assert "/tmp" not in said(refused)
    sent(manager, other, expert="dan", replace="on")
    assert "0 labels added, 1 changed." in said(manager.get(PAGE))
    assert sorted(ExpertLabel.objects.values_list("label", flat=True)) == [0, 1]


def test_a_file_that_is_none_of_labels_is_refused_in_a_sentence(manager: Client) -> None:
    for name, content, fault in [
        ("own.xlsx", "x", "own.xlsx has an unknown type"),
        ("own.jsonl", "", "own.jsonl"),
        ("own.csv", "query,label\na,1\n", "own.csv has no column 'question'"),
        ("own.csv", "query,question,label\na,b,1\n", "None of the 1 rows of own.csv is about"),
    ]:
        answer = sent(manager, content, name)
        assert answer.status_code == 422
        assert "/tmp" not in said(answer)
        assert fault in said(answer)
        assert not ExpertLabel.objects.exists()


def test_a_row_of_another_encoding_is_told(manager: Client) -> None:
    content = "query,question,label\nBr\xf6tchen,what is it,1\n".encode("latin-1")
    upload = SimpleUploadedFile("own.csv", content)
    answer = manager.post(PAGE, {"file": upload, "expert": "gold"})
    assert answer.status_code == 422
    assert "Line 2 of own.csv: the row is not valid UTF-8" in said(answer)


@pytest.mark.parametrize("role", ["adjudicator", "viewer", "annotator"])
def test_whoever_does_not_run_the_campaign_imports_nothing(campaign: Campaign, role: str) -> None:
    client = plays(role, campaign)
    assert client.get(PAGE).status_code == sent(client, lines(GOOD)).status_code == 403
    assert PAGE not in client.get("/admin/campaigns/faq/review/").content.decode()
    elsewhere = plays("owner", make_campaign("other"))
    assert sent(elsewhere, lines(GOOD)).status_code == 404
    assert not ExpertLabel.objects.exists()


def test_a_form_of_another_site_imports_nothing(manager: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = manager.cookies
    assert sent(strict, lines(GOOD)).status_code == 403
    assert not ExpertLabel.objects.exists()


def test_the_review_leads_there(manager: Client) -> None:
    assert PAGE in manager.get("/admin/campaigns/faq/review/").content.decode()


@pytest.fixture
def program(campaign: Campaign) -> Program:
    user = person("dan")
    Role.objects.create(user=user, campaign=campaign, name="owner")
    return Program(user)


def test_a_program_sends_labels_once(program: Program) -> None:
    body = {"labels": [*GOOD, {**GOOD[0], "expert": "cleo", "note": "sure"}], "expert": "bob"}
    first, again = (program.post(API, body, key="one") for _ in range(2))
    assert first.status_code == 200
    assert first.json() == again.json()
    assert first.json()["labels_new"] == 3
    given = ExpertLabel.objects.values_list("expert", "note")
    assert sorted(given) == [("bob", ""), ("bob", ""), ("cleo", "sure")]
    entry = AuditEntry.objects.get(verb="import-gold")
    assert (entry.actor, entry.via) == ("dan", "api")


def test_a_program_is_told_which_labels_contradict_each_other(program: Program) -> None:
    answer = program.post(API, {"labels": [*GOOD, {**GOOD[1], "label": 0}]}, key="one")
    assert is_problem(answer, 400)
    assert answer.json()["errors"] == {
        "labels.2": ["it says 0 of what line 2 says 1 of, by the same expert"]
    }
    assert not ExpertLabel.objects.exists()


def test_labels_of_no_triplet_here_are_refused_to_a_program(program: Program) -> None:
    stray = {"query": "nobody asks", "question": "this", "label": 0}
    answer = program.post(API, {"labels": [stray]}, key="one")
    assert is_problem(answer, 422)
    assert "None of the 1 rows of labels.jsonl is about" in answer.json()["detail"]
