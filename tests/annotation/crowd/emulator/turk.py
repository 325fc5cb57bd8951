"""A running emulator and the people who use it, for the tests of this folder."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx
from lxml import html

from annotation.crowd.emulator.question.document import EXTERNAL_QUESTION

DAY = 86_400
TARGET = "MTurkRequesterServiceV20170117"
SESSION = boto3.session.Session(
    aws_access_key_id="local", aws_secret_access_key="local", region_name="us-east-1"
)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


def question(url: str = "https://quorum.example/hit/1", height: int = 600) -> str:
    escaped = url.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<ExternalQuestion xmlns="{EXTERNAL_QUESTION}"><ExternalURL>{escaped}</ExternalURL>'
        f"<FrameHeight>{height}</FrameHeight></ExternalQuestion>"
    )


def parsed(page: str) -> Any:
    """The page's tree; lxml's types make every XPath result a union of everything."""
    return html.fromstring(page)


@dataclass
class Worker:
    """Somebody with a browser."""

    id: str
    browser: httpx.Client

    def offers(self, page: int = 1) -> list[str]:
        return self._ids(f"/worker/{self.id}/hits?page={page}", "data-hit")

    def at_work(self) -> list[str]:
        return self._ids(f"/worker/{self.id}/hits", "data-assignment")

    def _ids(self, path: str, attribute: str) -> list[str]:
        page = parsed(self.browser.get(path).raise_for_status().text)
        return [str(each) for each in page.xpath(f"//li/@{attribute}")]

    def accept(self, hit_id: str) -> httpx.Response:
        return self.browser.post(f"/worker/{self.id}/hits/{hit_id}/accept")

    def take(self, hit_id: str) -> str:
        response = self.accept(hit_id)
        assert response.status_code == 303, response.text
        return response.headers["Location"].rsplit("/", 1)[1]

    def open(self, assignment_id: str) -> httpx.Response:
        return self.browser.get(f"/worker/{self.id}/assignments/{assignment_id}")

    def preview(self, hit_id: str) -> httpx.Response:
        return self.browser.get(f"/worker/{self.id}/hits/{hit_id}/preview")

    def give_back(self, assignment_id: str) -> httpx.Response:
        return self.browser.post(f"/worker/{self.id}/assignments/{assignment_id}/return")

    def submit(self, assignment_id: str, **answers: str | list[str]) -> httpx.Response:
        form = {"assignmentId": assignment_id} | (answers or {"item-1": "1"})
        return self.browser.post("/mturk/externalSubmit", data=form)

    def do(self, hit_id: str) -> str:
        """Accept and submit."""
        assignment_id = self.take(hit_id)
        assert self.submit(assignment_id).status_code == 200
        return assignment_id


@dataclass
class Turk:
    url: str
    state: Path
    clock: Clock
    api: Any  # the boto3 client
    browsers: list[httpx.Client] = field(default_factory=list)

    def browser(self) -> httpx.Client:
        # verify=False: certificates take long to load, and there is no TLS on loopback.
        self.browsers.append(httpx.Client(base_url=self.url, timeout=30, verify=False))
        return self.browsers[-1]

    def close(self) -> None:
        for browser in self.browsers:
            browser.close()
        self.api.close()

    def raw(self, operation: str, **parameters: object) -> httpx.Response:
        """A call without boto3, which would refuse much of it before it is sent."""
        headers = {"X-Amz-Target": f"{TARGET}.{operation}"}
        with self.browser() as browser:
            return browser.post("/", content=json.dumps(parameters), headers=headers)

    def hit_type(self, **parameters: Any) -> str:
        values = {
            "Title": "Same question?",
            "Description": "Judge pairs of questions",
            "Reward": "0.15",
            "AssignmentDurationInSeconds": 600,
        }
        type_id: str = self.api.create_hit_type(**values | parameters)["HITTypeId"]
        return type_id

    def hit(
        self, *, max_assignments: int = 1, hit_type: str | None = None, **parameters: Any
    ) -> str:
        values = {
            "HITTypeId": hit_type or self.hit_type(),
            "LifetimeInSeconds": DAY,
            "MaxAssignments": max_assignments,
            "Question": question(),
        }
        hit_id: str = self.api.create_hit_with_hit_type(**values | parameters)["HIT"]["HITId"]
        return hit_id

    def worker(
        self, worker_id: str, *, masters: bool = True, percent: int = 99, approved: int = 500
    ) -> Worker:
        form = {"workerId": worker_id, "approvalPercent": percent, "approvedHits": approved}
        if masters:
            form["masters"] = "1"
        browser = self.browser()
        assert browser.post("/worker/register", data=form).status_code == 303
        return Worker(worker_id, browser)

    def shown(self, hit_id: str) -> dict[str, Any]:
        hit: dict[str, Any] = self.api.get_hit(HITId=hit_id)["HIT"]
        return hit

    def counts(self, hit_id: str) -> tuple[str, int, int, int]:
        """Status; pending, available and completed assignments."""
        hit = self.shown(hit_id)
        names = ("Pending", "Available", "Completed")
        pending, available, completed = (hit[f"NumberOfAssignments{name}"] for name in names)
        return hit["HITStatus"], pending, available, completed

    def assignments(self, hit_id: str, *statuses: str) -> list[dict[str, Any]]:
        filters = {"AssignmentStatuses": list(statuses)} if statuses else {}
        pages = self.api.get_paginator("list_assignments_for_hit")
        return [
            each for page in pages.paginate(HITId=hit_id, **filters) for each in page["Assignments"]
        ]

    def balance(self) -> tuple[str, str]:
        """Available and on hold."""
        answer = self.api.get_account_balance()
        return answer["AvailableBalance"], answer["OnHoldBalance"]

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """What an outside auditor reads."""
        db = sqlite3.connect(f"file:{self.state}?mode=ro", uri=True)
        db.row_factory = sqlite3.Row
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()


def refusal(call: Callable[..., object], **parameters: Any) -> tuple[str, str]:
    """TurkErrorCode without its prefix, and the message, of a call that MTurk refuses."""
    client = call.__self__  # type: ignore[attr-defined]
    try:
        call(**parameters)
    except client.exceptions.RequestError as error:
        prefix, _, code = error.response["TurkErrorCode"].rpartition(".")
        assert prefix == "AWS.MechanicalTurk"
        return code, error.response["Error"]["Message"]
    raise AssertionError("the call was not refused")


def requirement(
    type_id: str, comparator: str, values: Sequence[int] = (), **more: object
) -> dict[str, object]:
    given: dict[str, object] = {"QualificationTypeId": type_id, "Comparator": comparator, **more}
    return given | ({"IntegerValues": list(values)} if values else {})


def own_type(turk: Turk, name: str = "known workers") -> str:
    made = turk.api.create_qualification_type(
        Name=name, Description="of this requester", QualificationTypeStatus="Active"
    )
    type_id: str = made["QualificationType"]["QualificationTypeId"]
    return type_id


def grant(turk: Turk, type_id: str, worker_id: str, value: int = 1) -> None:
    turk.api.associate_qualification_with_worker(
        QualificationTypeId=type_id, WorkerId=worker_id, IntegerValue=value
    )
