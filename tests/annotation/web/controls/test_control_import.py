"""Positive controls that come by a file: its rows are told, and the operation is in the log."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from lxml import html

from annotation.models import AuditEntry, Campaign, Control
from annotation.pipeline.controls.import_controls import SHIPPED, import_controls
from annotation.web.controls import control_import
from tests.annotation.web.base.readers import plays, root, with_permission
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

PAGE = "/admin/controls/import"
GOOD = """query,question,answer
how old is ada,the age of ada,Ten.
how tall is bob,bob's height,Tall.
"""
BAD = """query,question,answer
how old is ada,the age of ada,Ten.
How old is eve?,how old is eve,Nine.
<script>alert(1)</script>,,Seven.
"""


@pytest.fixture
def editor() -> Client:
    return with_permission("change_control", "cleo")


def sent(client: Client, content: str | bytes, name: str = "own.csv") -> Any:
    raw = content.encode() if isinstance(content, str) else content
    return client.post(PAGE, {"file": SimpleUploadedFile(name, raw)})


def parsed(response: Any) -> Any:
    return html.fromstring(response.content)


def said(response: Any) -> str:
    return " ".join(parsed(response).find("body").text_content().split())


def test_a_file_of_controls_joins_the_pool_and_the_log(editor: Client) -> None:
    answer = sent(editor, GOOD)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/controls/")
    assert "2 controls added. The pool holds 2 now." in said(editor.get("/admin/controls/"))
    found = {(one.query, one.kind, one.campaign) for one in Control.objects.all()}
    assert found == {("how old is ada", "positive", None), ("how tall is bob", "positive", None)}
    entry = AuditEntry.objects.get(verb="import-controls")
    assert (entry.actor, entry.details["file"], entry.details["added"]) == ("cleo", "own.csv", 2)


def test_the_same_file_again_adds_nothing_and_says_so(editor: Client) -> None:
    sent(editor, GOOD)
    sent(editor, GOOD)
    report = said(editor.get("/admin/controls/"))
    assert "0 controls added; 2 were known already. The pool holds 2 now." in report


def test_every_row_that_is_no_control_is_told_and_none_is_taken(editor: Client) -> None:
    answer = sent(editor, BAD)
    assert answer.status_code == 422
    rows = [
        [cell.text_content() for cell in row.findall("td")]
        for row in parsed(answer).xpath("//main//tbody/tr")
    ]
    assert [(line, reason) for line, reason, _ in rows] == [
        ("3", "Its query and question are the same text, which tells it at a glance"),
        ("4", "The question is empty"),
    ]
    assert "<script>alert(1)" in rows[1][2]
    assert b"<script>alert(1)" not in answer.content
    assert "Line 3 of own.csv" in said(answer)
    assert "(1 more row cannot be used either); nothing was imported." in said(answer)
    assert not Control.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_file_that_is_none_of_controls_is_refused_in_a_sentence(editor: Client) -> None:
    for name, content, fault in [
        ("own.xlsx", GOOD, "own.xlsx has an unknown type"),
        ("own.csv", "", "own.csv"),
        ("own.csv", "query,answer\na,b\n", "question"),
        ("own.csv", GOOD.encode("utf-16"), "own.csv is in UTF-16"),
        ("own.jsonl", "[1]\n", "Line 1 of own.jsonl"),
    ]:
        answer = sent(editor, content, name)
        assert answer.status_code == 422
        [alert] = parsed(answer).xpath("//main//*[@role='alert']")
        assert fault in alert.text_content()
        assert "/tmp" not in alert.text_content()
        assert not Control.objects.exists()


def test_a_row_of_another_encoding_is_told(editor: Client) -> None:
    answer = sent(
        editor, "query,question,answer\nBr\xf6tchen,what is it,Bread.\n".encode("latin-1")
    )
    assert answer.status_code == 422
    assert "Line 2 of own.csv: the row is not valid UTF-8" in said(answer)
    header = sent(editor, "query,question,\xe4\n".encode("latin-1"))
    assert "has no column 'answer'" in said(header)


def test_a_file_that_is_too_large_is_not_even_read(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_import, "MOST_BYTES", len(GOOD) - 1)
    answer = sent(editor, GOOD)
    assert "own.csv is larger than" in said(answer)
    assert not Control.objects.exists()


def test_those_of_quorum_come_by_one_click(editor: Client) -> None:
    editor.post(PAGE, {"shipped": "yes"})
    came = set(Control.objects.values_list("key", flat=True))
    Control.objects.all().delete()
    import_controls(SHIPPED)
    assert came == set(Control.objects.values_list("key", flat=True))
    assert came


def test_whoever_may_not_change_the_pool_imports_nothing() -> None:
    campaign: Campaign = make_campaign()
    before = Control.objects.count()
    for client in (plays("owner", campaign), plays("viewer", campaign)):
        assert client.get(PAGE).status_code == 403
        assert sent(client, GOOD).status_code == 403
        assert client.post(PAGE, {"shipped": "yes"}).status_code == 403
    assert Client().post(PAGE, {"shipped": "yes"}).status_code == 302
    assert Control.objects.count() == before


def test_the_pool_s_page_leads_there(editor: Client) -> None:
    assert PAGE in editor.get("/admin/controls/").content.decode()
    assert PAGE in root().get("/admin/controls/").content.decode()
    viewer = plays("viewer", make_campaign())
    assert PAGE not in viewer.get("/admin/controls/").content.decode()
