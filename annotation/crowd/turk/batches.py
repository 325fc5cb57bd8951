"""Batches, as Mechanical Turk's console and Turkle have them: a template, and a table to fill it.

All HITs of a batch are made in one transaction: there is never a part of one, and none is there
twice. What comes back is the console's table of results.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree, html

from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.http.wire import Wire
from annotation.crowd.emulator.question.document import HTML_QUESTION
from annotation.crowd.emulator.state import money
from annotation.crowd.emulator.validation import Model
from annotation.crowd.mturk.xml import read_answers
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.turk.workers import moment
from annotation.crowd.wire.session import Row, Session
from core.errors import UserError
from core.files.rows import read_rows
from core.progress import Progress, no_progress

DAY = 86_400
MOST_ROWS = 20_000  # others can't write while they are stored
NAMED = re.compile(r"\$\{(\w+)\}")  # must be a column
ANY = re.compile(r"\$\{([^{}]+)\}")  # may be an expression of the template's own script
# What Turkle and the console put around a template that has no form.
FORM = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script>
</head>
<body>
<form name="mturk_form" id="mturk_form" method="post"
  action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" name="assignmentId" id="assignmentId" value="">
{template}
{button}
</form>
<script>turkSetAssignmentID();</script>
</body>
</html>
"""
BUTTON = '<p><input type="submit" id="submitButton" value="Submit"></p>'
IS_FORM = "//form | //crowd-form"
HAS_BUTTON = "//button[not(@type) or @type='submit'] | //input[@type='submit' or @type='image']"
QUESTION = (
    f'<HTMLQuestion xmlns="{HTML_QUESTION}"><HTMLContent><![CDATA[%s]]></HTMLContent>'
    "<FrameHeight>0</FrameHeight></HTMLQuestion>"
)
HIT_COLUMNS = (
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime",
    "MaxAssignments", "RequesterAnnotation", "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds", "Expiration", "NumberOfSimilarHITs", "LifetimeInSeconds",
)  # fmt: skip
ASSIGNMENT_COLUMNS = (
    "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime",
    "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds",
)  # fmt: skip
# Of the worker at this requester: the column, and the days before now.
RATES = {
    "LifetimeApprovalRate": None,
    "Last30DaysApprovalRate": 30,
    "Last7DaysApprovalRate": 7,
}
REVIEW = ("Approve", "Reject")  # for the requester to fill


@dataclass(frozen=True)
class Terms:
    """What the HITs of a batch have in common."""

    title: str
    description: str
    keywords: str
    reward: str  # dollars
    assignments: int
    minutes: int
    days: int
    approval_days: int

    @property
    def hit_type(self) -> dict[str, object]:
        return {
            "Title": self.title,
            "Description": self.description,
            "Keywords": self.keywords,
            "Reward": self.reward,
            "AssignmentDurationInSeconds": self.minutes * 60,
            "AutoApprovalDelayInSeconds": self.approval_days * DAY,
        }


@dataclass(frozen=True)
class Filled:
    """A template with one row of a table in it."""

    place: str  # of the row, for people
    fields: Mapping[str, str]
    question: str


def fill(template: Path, table: Path) -> list[Filled]:
    """UserError where they do not fit each other."""
    page = _page(_text(template), template)
    names = dict.fromkeys(NAMED.findall(page))
    if not table.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        raise UserError(f"{table} must be a CSV or TSV file, with a column for each ${{...}}.")
    rows = read_rows(table, required=[(name,) for name in names], as_written=True)
    filled: list[Filled] = []
    for row in rows:
        place = f"Line {row.line:,} of {table}"
        if row.fault:
            raise UserError(f"{place}: {row.fault}.")
        if len(filled) == MOST_ROWS:
            raise UserError(f"{table} has more than {MOST_ROWS:,} rows: make several batches.")
        fields = {name: str(value) for name, value in row.fields.items()}
        filled.append(Filled(place, fields, _question(page, fields)))
    return filled


def _text(template: Path) -> str:
    try:
        return template.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{template} is not valid UTF-8: save the file as UTF-8.") from error


def _page(template: str, path: Path) -> str:
    """A whole page with a form."""
    if not template.strip():
        raise UserError(f"{path} is empty: name the HTML of your HITs.")
    try:
        parsed = html.document_fromstring(template)
    except (ValueError, etree.ParserError) as error:
        # What names an encoding of its own, as XHTML does, or has no element at all.
        raise UserError(f"{path} is no HTML that can be shown ({error}).") from error
    if parsed.xpath(IS_FORM):
        return template
    button = "" if parsed.xpath(HAS_BUTTON) else BUTTON
    return FORM.format(template=template, button=button)


def _question(page: str, fields: Mapping[str, str]) -> str:
    """Values go in as they are, as HTML or script: so it is at Mechanical Turk and at Turkle."""
    filled = ANY.sub(lambda match: fields.get(match[1], match[0]), page)
    return QUESTION % filled.replace("]]>", "]]]]><![CDATA[>")


def publish(
    account: RequesterAccount,
    environment: Environment,
    batch: str,
    filled: Sequence[Filled],
    terms: Terms,
    progress: Progress = no_progress,
) -> None:
    """All HITs or none. UserError where the account is closed, or has a batch of this name."""
    if not account.active:
        raise UserError(f"The account {account} is closed: its HITs would be offered to nobody.")
    store = store_of(account, environment)
    wire = Wire(store, Model())
    place = str(account)
    try:
        with store.writing() as session:
            if batch in _batches(session):
                raise UserError(f"{account} has a batch {batch!r} already: choose another name.")
            made = wire.run_in(session, "CreateHITType", **terms.hit_type)
            for one in filled:
                place = one.place
                _make(wire, session, batch, one, terms, str(made["HITTypeId"]))
                progress(1)
    except RequestError as error:
        raise UserError(f"{place}: {error}") from error


def _make(
    wire: Wire, session: Session, batch: str, filled: Filled, terms: Terms, type_id: str
) -> None:
    answer = wire.run_in(
        session,
        "CreateHITWithHITType",
        HITTypeId=type_id,
        MaxAssignments=terms.assignments,
        LifetimeInSeconds=terms.days * DAY,
        RequesterAnnotation=batch,
        Question=filled.question,
    )
    hit = answer["HIT"]
    assert isinstance(hit, dict)
    session.db.execute(
        "INSERT INTO batch_rows VALUES (?, ?, ?)",
        (hit["HITId"], batch, json.dumps(filled.fields, ensure_ascii=False)),
    )


def _batches(session: Session) -> list[str]:
    rows = session.db.execute("SELECT DISTINCT batch FROM batch_rows ORDER BY batch")
    return [row["batch"] for row in rows]


def results(
    account: RequesterAccount, environment: Environment, batch: str
) -> tuple[Sequence[str], list[dict[str, object]]]:
    """The head and the lines: one for each assignment that was submitted."""
    with store_of(account, environment).reading() as session:
        known = _batches(session)
        if batch not in known:
            names = ", ".join(known) or "none"
            raise UserError(f"{account} has no batch {batch!r} there. Its batches: {names}.")
        rows = session.db.execute(
            "SELECT a.*, h.*, r.fields FROM batch_rows r JOIN hit_records h USING (hit_id)"
            " JOIN assignments a USING (hit_id)"
            " WHERE r.batch = ? AND a.submit_number IS NOT NULL ORDER BY h.seq, a.submit_number",
            (batch,),
        ).fetchall()
        rates = _rates(session)
    lines = [_line(row, rates) for row in rows]
    named = dict.fromkeys(name for line in lines for name in line)
    inputs = [name for name in named if name.startswith("Input.")]
    answers = [name for name in named if name.startswith("Answer.")]
    return [*HIT_COLUMNS, *ASSIGNMENT_COLUMNS, *RATES, *inputs, *answers, *REVIEW], lines


def _line(row: Row, rates: Mapping[tuple[str, str], str]) -> dict[str, object]:
    inputs: dict[str, str] = json.loads(row["fields"])
    worker_id = row["worker_id"]
    return {
        "HITId": row["hit_id"],
        "HITTypeId": row["hit_type_id"],
        "Title": row["title"],
        "Description": row["description"],
        "Keywords": row["keywords"],
        "Reward": f"${money.dollars(row['reward_cents'])}",
        "CreationTime": _time(row["created_at"]),
        "MaxAssignments": row["max_assignments"],
        "RequesterAnnotation": row["requester_annotation"],
        "AssignmentDurationInSeconds": row["assignment_seconds"],
        "AutoApprovalDelayInSeconds": row["auto_approval_seconds"],
        "Expiration": _time(row["expires_at"]),
        "AssignmentId": row["assignment_id"],
        "WorkerId": worker_id,
        "AssignmentStatus": row["status"],
        "AcceptTime": _time(row["accepted_at"]),
        "SubmitTime": _time(row["submitted_at"]),
        "AutoApprovalTime": _time(row["auto_approval_at"]),
        "ApprovalTime": _time(row["approved_at"]),
        "RejectionTime": _time(row["rejected_at"]),
        "RequesterFeedback": row["feedback"],
        "WorkTimeInSeconds": int(row["submitted_at"] - row["accepted_at"]),
        **{column: rates.get((column, worker_id), "0% (0/0)") for column in RATES},
        **{f"Input.{name}": value for name, value in inputs.items()},
        **{f"Answer.{name}": value for name, value in read_answers(row["answer"]).items()},
    }


def _time(seconds: float | None) -> str | None:
    """As the console writes it."""
    return None if seconds is None else f"{moment(seconds):%a %b %d %H:%M:%S UTC %Y}"


def _rates(session: Session) -> dict[tuple[str, str], str]:
    """Of each worker: how much of the work that was decided is approved."""
    return {
        (column, worker_id): f"{100 * approved // decided}% ({approved}/{decided})"
        for column, days in RATES.items()
        for worker_id, approved, decided in session.db.execute(
            "SELECT worker_id, SUM(status = 'Approved'), COUNT(*) FROM assignments"
            " WHERE status IN ('Approved', 'Rejected') AND submitted_at >= ? GROUP BY worker_id",
            (0 if days is None else session.now - days * DAY,),
        )
    }


def cost_cents(filled: Sequence[Filled], terms: Terms) -> int:
    return len(filled) * terms.assignments * money.cents(terms.reward)
