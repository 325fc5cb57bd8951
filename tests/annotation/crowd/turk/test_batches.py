"""A template and a table become HITs that people do, and a table of results comes back."""

import csv
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from lxml import html

from annotation.crowd.turk.batches import MOST_ROWS, fill
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.workers import worker_id_of
from annotation.models import AuditEntry, PastRecord
from annotation.pipeline.history.import_history import import_history
from core.errors import UserError
from tests.annotation.crowd.turk.conftest import Join, submit
from tests.support.command_line import quorum

# As Turkle's guide has them: without a form, with JSON for the template's own script.
TEMPLATE = """<p id="text">${text}</p>
<script>const numbers = ${numbers}; console.log(`${numbers.length} numbers`);</script>
<label><input type="radio" name="label" value="yes"> Yes</label>
<textarea name="why"></textarea>
"""
TABLE = 'text,numbers\n<b>eggs</b> & ham,"[3,6]"\nsecond ]]> row,[]\n'
ABOUT = ("--title", "Label texts", "--reward", "0.15", "--sandbox", "--yes")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A template and a table that fit each other."""
    template, table = tmp_path / "label.html", tmp_path / "texts.csv"
    template.write_text(TEMPLATE)
    table.write_text(TABLE)
    return [str(template), str(table)]


def publish(files: list[str], *words: str, batch: str = "texts") -> None:
    quorum("turk", "publish", "lab", batch, *files, *ABOUT, *words)


def results(tmp_path: Path) -> list[dict[str, str]]:
    file = tmp_path / "results.csv"
    quorum("turk", "results", "lab", "texts", "--csv", str(file), "--sandbox")
    assert file.stat().st_mode & 0o777 == 0o600
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.usefixtures("lab")
def test_each_row_becomes_a_hit_and_its_answers_come_back_beside_it(
    join: Join, labs: Any, files: list[str], tmp_path: Path
) -> None:
    ada, bob = join("ada"), join("bob")
    publish(files, "--assignments", "2", "--keywords", "eggs", "--minutes", "5")
    hits = labs.list_hits()["HITs"]
    assert {(hit["Title"], hit["Description"], hit["Reward"]) for hit in hits} == {
        ("Label texts", "Label texts", "0.15")
    }
    assert {(hit["RequesterAnnotation"], hit["MaxAssignments"]) for hit in hits} == {("texts", 2)}
    assert results(tmp_path) == []
    for person in (ada, bob):
        given = person.take()
        assert submit(given, label="yes", why="=1+1").status_code == 200
    labs.approve_assignment(AssignmentId=given["assignmentId"], RequesterFeedback="Thanks")
    lines = results(tmp_path)
    assert [line["WorkerId"] for line in lines] == [worker_id_of(one.member) for one in (ada, bob)]
    assert lines[0] | {
        "Reward": "$0.15", "RequesterAnnotation": "texts", "AssignmentDurationInSeconds": "300",
        "AutoApprovalDelayInSeconds": "2592000", "AssignmentStatus": "Submitted",
        "RequesterFeedback": "", "LifetimeApprovalRate": "0% (0/0)",
        "Input.text": "<b>eggs</b> & ham", "Input.numbers": "[3,6]", "Answer.label": "yes",
        "Answer.why": "'=1+1", "Approve": "", "Reject": "",
    } == lines[0]  # fmt: skip
    assert (lines[1]["AssignmentStatus"], lines[1]["RequesterFeedback"]) == ("Approved", "Thanks")
    assert lines[1]["Last7DaysApprovalRate"] == "100% (1/1)"
    done = import_history(tmp_path / "results.csv")
    assert (done.faults, done.new) == ([], {"hit": 1, "assignment": 2})
    past = PastRecord.objects.select_related("part_of").get(key=given["assignmentId"])
    assert past.part_of
    assert (past.status, past.part_of.cents, past.at is None) == ("approved", 15, False)


@pytest.mark.usefixtures("lab")
def test_values_are_put_in_as_they_are_and_scripts_keep_their_own(
    join: Join, files: list[str]
) -> None:
    ada = join("ada")
    publish(files)
    pages = []
    for _ in range(2):
        given = ada.take()
        [frame] = ada.page(given["page"].partition(ada.home)[2]).xpath("//iframe/@src")
        pages.append(ada.http.get(frame).text)
        submit(given, label="yes")
    assert '<p id="text"><b>eggs</b> & ham</p>' in pages[0]
    assert "const numbers = [3,6]; console.log(`${numbers.length} numbers`)" in pages[0]
    assert "second ]]> row" in pages[1]
    page: Any = html.document_fromstring(pages[0])
    [form] = page.xpath("//form[.//textarea and .//input[@type='submit']]")
    assert form.get("action") == given["turkSubmitTo"] + "/mturk/externalSubmit"
    assert "mturk.com" not in pages[0]


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("<input name=a><button>Send</button>", (1, 0)),
        ("<input name=a><button type=button>Play</button>", (1, 1)),
        ("<!-- <form> --><input name=a>", (1, 1)),
        ("<form><input name=a></form>", (1, 0)),
        ("<html><body><crowd-form><input name=a></crowd-form></body></html>", (0, 0)),
    ],
)
def test_a_template_gets_the_form_and_the_button_that_it_lacks(
    tmp_path: Path, template: str, parts: tuple[int, int]
) -> None:
    (tmp_path / "a.html").write_text(template)
    (tmp_path / "a.csv").write_text("text\nx\n")
    [one] = fill(tmp_path / "a.html", tmp_path / "a.csv")
    page = html.document_fromstring(one.question.partition("CDATA[")[2])
    made = (len(page.xpath("//form")), len(page.xpath("//*[@id='submitButton']")))
    assert made == parts


@pytest.mark.parametrize(
    ("template", "table", "sentence"),
    [
        ("${text} ${other}", "text\nx\n", "has no column 'other': name it in its first line"),
        ("", "text\nx\n", "is empty: name the HTML of your HITs"),
        ("${text}", "text\n", "has no rows"),
        ("${text}", "text\nx,y\n", "Line 2 of .*: the row has 2 columns, the header 1"),
        ("${text}", "text\n" + "x\n" * (MOST_ROWS + 1), "has more than 20,000 rows"),
    ],
)
def test_files_that_do_not_fit_each_other_are_refused(
    tmp_path: Path, template: str, table: str, sentence: str
) -> None:
    (tmp_path / "a.html").write_text(template)
    (tmp_path / "a.csv").write_text(table)
    with pytest.raises(UserError, match=sentence):
        fill(tmp_path / "a.html", tmp_path / "a.csv")


@pytest.mark.parametrize(
    "template", ["<!-- later -->", '<?xml version="1.0" encoding="UTF-8"?><p/>']
)
def test_a_template_that_is_no_html_is_refused(files: list[str], template: str) -> None:
    Path(files[0]).write_text(template)
    with pytest.raises(UserError, match=r"label\.html is no HTML that can be shown"):
        fill(*map(Path, files))


def test_a_closed_account_publishes_nothing(lab: RequesterAccount, files: list[str]) -> None:
    RequesterAccount.objects.filter(pk=lab.pk).update(active=False)
    with pytest.raises(CommandError, match="The account lab is closed: its HITs would be offered"):
        publish(files)


def test_a_template_or_table_in_another_form_is_refused(tmp_path: Path) -> None:
    template, table = tmp_path / "a.html", tmp_path / "a.jsonl"
    template.write_bytes(b"<p>\xff</p>")
    with pytest.raises(UserError, match="is not valid UTF-8"):
        fill(template, table)
    template.write_text("${text}")
    table.write_text('{"text": "x"}')
    with pytest.raises(UserError, match="must be a CSV or TSV file"):
        fill(template, table)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [("x" * 70_000, "is larger than 65535 bytes"), ("a\x0bb", "Line 4 of .*texts.csv")],
)
def test_a_batch_is_published_whole_or_not_at_all(
    labs: Any, files: list[str], row: str, sentence: str
) -> None:
    Path(files[1]).write_text(f"{TABLE}{row},[]\n")
    with pytest.raises(CommandError, match=sentence):
        publish(files)
    assert labs.list_hits()["HITs"] == []
    assert labs.get_account_balance()["OnHoldBalance"] == "0.00"
    assert not AuditEntry.objects.filter(verb="turk-publish").exists()


def test_a_name_is_published_once(labs: Any, files: list[str]) -> None:
    publish(files)
    with pytest.raises(CommandError, match="lab has a batch 'texts' already"):
        publish(files)
    assert labs.list_hits()["NumResults"] == 2
    entry = AuditEntry.objects.get(verb="turk-publish")
    assert (entry.subject, entry.details) == (
        "lab", {"batch": "texts", "environment": "sandbox", "hits": 2, "cents": 30},
    )  # fmt: skip
    publish(files, batch="more")
    assert labs.list_hits()["NumResults"] == 4
    with pytest.raises(CommandError, match=r"no batch 'eggs' there\. Its batches: more, texts"):
        quorum("turk", "results", "lab", "eggs", "--csv", "none.csv", "--sandbox")


def test_money_is_foreseen_and_has_to_be_there(
    lab: RequesterAccount, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("turk", "publish", "lab", "texts", *files, "--title", "T", "--reward", "$1.5")
    with pytest.raises(SystemExit):
        quorum(*words)
    asked = "This puts $3.00 on hold in production, for 2 HITs with 1 assignment each.\n"
    assert asked in capsys.readouterr().err
    with pytest.raises(CommandError, match=r"Line 2 of .*insufficient funds"):
        quorum(*words, "--yes")
    with pytest.raises(CommandError, match="lab: Title must not be empty"):
        quorum(*words, "--title", " ", "--yes")
