"""The site's Turk is killed in the middle of everything, and calls and answers get lost.

A requester posts, reviews and pays with boto3, people work by HTTP, all at once; each repeats what
was lost, with its token where there is one. Then the record of the account is compared with what
they know.
"""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.payments import book_deposits, lines_of, new_payout, owed
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.wire.faults import Faults
from demo.services import Services
from tests.annotation.crowd.turk.conftest import Person, question_of, submit
from tests.annotation.support.turk import QUESTION, client_of
from tests.annotation.web.stage import make_member
from tests.services.conftest import start_stack
from tests.services.stack import ServiceStack
from tests.support.examples import examples

pytestmark = pytest.mark.services

SEED = 7
HITS = examples(500, fast=30)
KILLS = examples(12, fast=2)
PEOPLE = 6
RATE = 0.15  # of the requests that are lost
REWARD, BONUS = 12, 5
DEPOSITS = 4
MOST_SECONDS = 600
DONE_BEFORE = ("HitAlreadyExists", "IdempotencyTokenAlreadyProcessed", "InvalidAssignmentState")

_Answer = TypeVar("_Answer")


class LostError(Exception):
    """Nobody knows whether it was done."""


@dataclass
class Wire:
    """Loses requests before they are sent, and answers."""

    faults: Faults = field(default_factory=lambda: Faults(RATE, SEED))
    repeated: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def until_answered(self, what: str, ask: Callable[[], _Answer]) -> tuple[_Answer, bool]:
        """The answer, and whether it was asked before."""
        for turn in count():
            assert not self.over.is_set(), f"{what} was never answered"
            try:
                return self._once(ask), turn > 0
            except (LostError, BotoCoreError, httpx.TransportError):
                self.repeated[what] += 1
                time.sleep(0.05)
        raise AssertionError

    def _once(self, ask: Callable[[], _Answer]) -> _Answer:
        fault = self.faults.of_call()
        kind = fault.kind if fault else ""
        if kind not in ("", "slow") and not kind.endswith("_after"):
            raise LostError
        answer = ask()
        if kind.endswith("_after"):
            raise LostError
        return answer


def whole(answer: dict[str, Any]) -> dict[str, Any]:
    """Killed after the head of an answer, the server has boto3 return one without its body."""
    about = answer["ResponseMetadata"]["HTTPHeaders"]
    if answer.keys() == {"ResponseMetadata"} and about["content-length"] != str(len("{}")):
        raise LostError
    return answer


@dataclass
class Requester:
    client: Any
    wire: Wire
    hits: dict[int, str] = field(default_factory=dict)
    approved: dict[str, str] = field(default_factory=dict)  # assignment -> worker
    rejected: set[str] = field(default_factory=set)
    bonuses: set[str] = field(default_factory=set)

    def call(self, name: str, **parameters: Any) -> dict[str, Any]:
        """Empty where an earlier try has done it."""

        def ask() -> tuple[dict[str, Any], str]:
            try:
                return whole(getattr(self.client, name)(**parameters)), ""
            except ClientError as error:
                about = dict(error.response)
                code = str(about.get("TurkErrorCode", error)).rpartition(".")[2]
                if "ThrottlingException" in str(error):
                    raise LostError from error
                if code not in DONE_BEFORE:
                    raise
                return {}, str(error)

        (answer, refusal), again = self.wire.until_answered(name, ask)
        assert again or not refusal, refusal
        return answer or {"refusal": refusal}

    def post(self) -> None:
        for number in range(HITS):
            self.create(number)

    def create(self, number: int) -> None:
        """Of each third a place is added later."""
        hit_type = self.call(
            "create_hit_type",
            Title="Name the colour",
            Description="Say what you see.",
            Reward="0.12",
            AssignmentDurationInSeconds=3600,
        )
        made = self.call(
            "create_hit_with_hit_type",
            HITTypeId=hit_type["HITTypeId"],
            LifetimeInSeconds=86_400,
            MaxAssignments=2,
            RequesterAnnotation=str(number),
            UniqueRequestToken=f"hit-{number}",
            Question=QUESTION.format(url=f"https://example.org/{number}"),
        )
        known = re.search(r"The HIT (\w+) already exists", made.get("refusal", ""))
        hit_id = known[1] if known else made["HIT"]["HITId"]
        if number % 3 == 0:
            self.call(
                "create_additional_assignments_for_hit",
                HITId=hit_id,
                NumberOfAdditionalAssignments=1,
                UniqueRequestToken=f"more-{number}",
            )
        self.hits[number] = hit_id

    def review(self, number: int) -> None:
        """What was submitted of a HIT; each seventh is rejected, every other one gets a bonus."""
        listed = self.call("list_assignments_for_hit", HITId=self.hits[number], MaxResults=100)
        for work in listed["Assignments"]:
            about = {"AssignmentId": work["AssignmentId"]}
            if work["AssignmentStatus"] != "Submitted":
                continue
            if (len(self.approved) + len(self.rejected)) % 7 == 6:
                self.call("reject_assignment", **about, RequesterFeedback="No.")
                self.rejected.add(work["AssignmentId"])
                continue
            self.call("approve_assignment", **about)
            self.approved[work["AssignmentId"]] = work["WorkerId"]
            if len(self.approved) % 2:
                token = {"UniqueRequestToken": f"bonus-{work['AssignmentId']}"}
                paid = {"BonusAmount": "0.05", "Reason": "Thanks", "WorkerId": work["WorkerId"]}
                self.call("send_bonus", **about, **paid, **token)
                self.bonuses.add(work["AssignmentId"])


def places(number: int) -> int:
    return 3 if number % 3 == 0 else 2


PLACES = sum(map(places, range(HITS)))


@dataclass
class Worker:
    person: Person
    wire: Wire
    sent: dict[str, str]  # assignment -> answer, of all workers

    def work(self) -> None:
        while len(self.sent) < PLACES and not self.wire.over.is_set():
            if not self._turn():
                time.sleep(0.1)

    def _turn(self) -> bool:
        listed = self.page("list", lambda: self.person.http.get(self.person.home))
        if begun := re.search(r'<a [^>]*href="([^"]+/assignments/\w+)"', listed.text):
            question = self.page("open", lambda: self.person.http.get(begun[1]))
        elif offered := re.search(r'<a [^>]*href="([^"]+/hits/\w+)"', listed.text):
            question = self.page("accept", lambda: self.person.accept(offered[1]))
        else:
            return False
        if question.status_code != 409:  # else others were faster, or an earlier try was heard
            self._submit(question_of(question))
        return True

    def _submit(self, given: dict[str, str]) -> None:
        colour = random.Random(given["assignmentId"]).choice(["red", "green", "blue"])
        answer = self.page("submit", lambda: submit(given, colour=colour))
        assert answer.status_code in (200, 409), answer.text
        self.sent[given["assignmentId"]] = colour

    def page(self, what: str, ask: Callable[[], httpx.Response]) -> httpx.Response:
        answer, _ = self.wire.until_answered(what, ask)
        assert answer.status_code in (200, 409), answer.text
        return answer


def person(name: str, site: str) -> Person:
    member = make_member(name)
    browser = Client()
    browser.force_login(member.user)
    cookies = {"sessionid": browser.cookies["sessionid"].value}
    http = httpx.Client(base_url=site, cookies=cookies, follow_redirects=True, timeout=60)
    return Person(member, http, "production")


@pytest.fixture
def site(
    services: Services, on_postgresql: None, tmp_path: Path, settings: Settings
) -> Iterator[ServiceStack]:
    with start_stack(services, tmp_path, settings, {"QUORUM_WEB_WORKERS": "2"}) as running:
        settings.DATA_DIR = running.data
        yield running


def kill_the_site(site: ServiceStack, done: Callable[[], int], wire: Wire) -> int:
    """As the work goes on, at moments that are spread over it."""
    kills = 0
    for kills in range(1, KILLS + 1):
        while done() < kills * PLACES // (KILLS + 2) and not wire.over.is_set():
            time.sleep(0.01)
        site.restart("site")
        site.wait_for("site")
    return kills


def give_money(lab: RequesterAccount) -> None:
    """As by processes that are killed before they have booked it, and by others."""
    everything = PLACES * (REWARD + BONUS)
    for number in range(DEPOSITS):
        cents = everything // DEPOSITS + (everything % DEPOSITS if number == 0 else 0)
        lab.deposits.create(cents=cents, made_at=timezone.now())
        if number in (0, DEPOSITS - 1):
            book_deposits(lab)


def test_a_server_that_is_killed_loses_pays_and_counts_nothing_twice(site: ServiceStack) -> None:
    lab, wire, sent = create_account("lab"), Wire(), {}
    give_money(lab)
    requester = Requester(client_of(lab, site.site_url, "/turk/"), wire)
    workers = [Worker(person(f"p{number}", site.site_url), wire, sent) for number in range(PEOPLE)]
    payouts = []
    with ThreadPoolExecutor(PEOPLE + 3) as threads:
        try:
            killing = threads.submit(kill_the_site, site, lambda: len(sent), wire)
            running: list[Future[Any]] = [threads.submit(one.work) for one in workers]
            running += [killing, threads.submit(requester.post)]
            end = time.monotonic() + MOST_SECONDS
            while len(requester.approved) + len(requester.rejected) < PLACES:
                assert time.monotonic() < end, f"{len(sent)} of {PLACES} were submitted"
                for one in [one for one in running if one.done()]:
                    one.result()
                for number in [*requester.hits]:
                    requester.review(number)
                if owed(lab):
                    payouts.append(new_payout(lab))
            assert killing.result() == KILLS
            assert requester.call("get_account_balance")["OnHoldBalance"] == "0.00"
        finally:
            wire.over.set()
    compare(requester, sent, [line for one in payouts for line in lines_of(one)])
    print(f"\nchaos: {PLACES} assignments, {KILLS} kills, repeated {dict(wire.repeated)}")
    assert wire.repeated.total() >= examples(1_000, fast=20)


def compare(requester: Requester, sent: dict[str, str], paid: list[tuple[object, ...]]) -> None:
    [lab] = RequesterAccount.objects.all()
    assert owed(lab) == []
    with store_of(lab, Environment.PRODUCTION).reading() as session:
        rows = session.db.execute

        def column(query: str) -> list[Any]:
            return [row[0] for row in rows(query)]

        hits = {
            int(row[0]): row[1] for row in rows("SELECT requester_annotation, hit_id FROM hits")
        }
        assert hits == requester.hits
        assert len(column("SELECT hit_id FROM hits")) == HITS
        work = {
            row[0]: row for row in rows("SELECT assignment_id, status, answer FROM assignments")
        }
        assert {row[1] for row in work.values()} == {"Approved", "Rejected"}
        assert work.keys() == sent.keys()
        assert all(f"<FreeText>{sent[key]}</FreeText>" in work[key][2] for key in sent)
        assert len(work) == PLACES
        rewarded = column("SELECT assignment_id FROM money WHERE kind = 'reward'")
        given = column("SELECT assignment_id FROM money WHERE kind = 'bonus'")
        spent = REWARD * len(requester.approved) + BONUS * len(requester.bonuses)
        assert sorted(rewarded) == sorted(requester.approved)
        assert sorted(given) == sorted(requester.bonuses)
        assert sorted(column("SELECT assignment_id FROM bonuses")) == sorted(requester.bonuses)
        [balance] = rows("SELECT available, on_hold, spent FROM account")
        assert tuple(balance) == (PLACES * (REWARD + BONUS) - spent, 0, spent)
    earned = Counter[object]()
    for line in paid:
        earned[line[0]] += round(100 * float(str(line[5])))
    expected = Counter[object]()
    for assignment_id, worker_id in requester.approved.items():
        expected[worker_id] += REWARD + BONUS * (assignment_id in requester.bonuses)
    assert earned == expected
