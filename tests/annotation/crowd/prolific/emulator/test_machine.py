"""Any order of calls, people and waiting: the books are right to a hundredth of a cent.

What is locked and paid is worked out again here, from the statuses that the API shows alone.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from werkzeug.test import Client

from annotation.crowd.prolific.api.studies import CompletionCode, screen_out
from annotation.crowd.prolific.emulator.http.app import Emulator
from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.prolific.emulator.store import Store
from tests.annotation.crowd.prolific.world import DAY, DONE, LONG, MINUTE, STUDY, Clock
from tests.support.examples import examples

CENTS = 2_000
REWARD, SCREENED, BONUS = 100, 14, 30
PEOPLE = [f"{number:024x}" for number in range(1, 5)]
CODES = [
    DONE,
    CompletionCode("QUICK", "COMPLETED", [{"action": "AUTOMATICALLY_APPROVE"}]),
    CompletionCode("OUT", "FIXED_SCREENOUT", [screen_out(cents=SCREENED, slots=2)]),
]
RUNNING = ("RESERVED", "ACTIVE")
TAKING = (*RUNNING, "AWAITING REVIEW", "APPROVED")
picks = st.integers(0, 50)


def charged(cents: int) -> int:
    """With the fee of a third, in hundredths of a cent."""
    return cents * 100 + -(-cents * 100 // 3)


@dataclass
class Submission:
    id: str
    study: str
    person: str


class Machine(RuleBasedStateMachine):
    readings = Readings()

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = Clock()
        path = Path(self.folder.name) / "state.sqlite3"
        self.store = Store(path, balance_cents=CENTS, clock=self.clock, readings=self.readings)
        self.web = Client(Emulator(self.store, token="local"))
        self.studies: list[str] = []
        self.submissions: list[Submission] = []
        self.bulks: list[str] = []
        self.payments: list[tuple[str, float]] = []  # of bonuses: the bulk, and when it is due
        for person in PEOPLE:
            self.post("/participants/", participant_id=person)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def call(self, method: str, path: str, **body: object) -> tuple[int, Any]:
        answer = self.web.open(
            f"/api/v1{path}",
            method=method,
            data=json.dumps(body),
            headers={"Authorization": "Token local"},
        )
        assert answer.status_code < 500, answer.text
        return answer.status_code, json.loads(answer.data) if answer.data else None

    def post(self, path: str, **body: object) -> tuple[int, Any]:
        answer = self.web.post(path, data=json.dumps(body))
        assert answer.status_code < 500, answer.text
        return answer.status_code, json.loads(answer.data) if answer.data else None

    # What the API shows.

    def study(self, study_id: str) -> dict[str, Any]:
        return dict(self.call("GET", f"/studies/{study_id}/")[1])

    def statuses(self, study_id: str) -> Counter[str]:
        _, counted = self.call("GET", f"/studies/{study_id}/submissions/counts/")
        return Counter({name: number for name, number in counted.items() if name != "TOTAL"})

    def status(self, submission: Submission) -> str:
        return str(self.call("GET", f"/submissions/{submission.id}/")[1]["status"])

    def wallet(self) -> tuple[int, int, int]:
        with self.store.reading() as session:
            row = session.rows("SELECT available, locked, paid FROM workspaces")[0]
        return row["available"], row["locked"], row["paid"]

    def free(self, study_id: str) -> int:
        counted = self.statuses(study_id)
        return int(self.study(study_id)["total_available_places"]) - sum(
            counted[it] for it in TAKING
        )

    # The rules: many predict whether the emulator will do it.

    @initialize()
    def begin(self) -> None:
        self.publish(places=2)
        self.wait(2)
        for pick in range(2):
            self.take(0, pick)
        self.open(0)
        self.complete(0, "DONE")

    @rule(places=st.integers(1, 3))
    def publish(self, places: int) -> None:
        body = STUDY.body() | {
            "total_available_places": places,
            "completion_codes": [code.body() for code in CODES],
        }
        _, made = self.call("POST", "/studies/", **body)
        affordable = charged(places * REWARD + 2 * SCREENED) <= self.wallet()[0]
        status, _ = self.call("POST", f"/studies/{made['id']}/transition/", action="PUBLISH")
        assert (status == 200) == affordable
        self.studies.append(made["id"])

    @rule(pick=picks, more=st.integers(0, 2))
    def raise_places(self, pick: int, more: int) -> None:
        study_id = self.studies[pick % len(self.studies)]
        before = self.study(study_id)
        places = before["total_available_places"] + more
        status, _ = self.call("PATCH", f"/studies/{study_id}/", total_available_places=places)
        after = self.study(study_id)["total_available_places"]
        assert after == (places if status == 200 else before["total_available_places"])

    @rule(pick=picks)
    def lower_places(self, pick: int) -> None:
        study_id = self.studies[pick % len(self.studies)]
        study = self.study(study_id)
        places = study["total_available_places"] - 1
        status, _ = self.call("PATCH", f"/studies/{study_id}/", total_available_places=places)
        assert (status == 200) == (study["status"] == "UNPUBLISHED" and places >= 1)

    @rule(pick=picks, action=st.sampled_from(["PAUSE", "START", "STOP"]))
    def move(self, pick: int, action: str) -> None:
        study_id = self.studies[pick % len(self.studies)]
        status = self.study(study_id)["status"]
        possible = {"PAUSE": ("ACTIVE",), "START": ("PAUSED",), "STOP": ("ACTIVE", "PAUSED")}
        done, _ = self.call("POST", f"/studies/{study_id}/transition/", action=action)
        assert (done == 200) == (status in possible[action])

    @rule(pick=picks, person=st.integers(0, len(PEOPLE) - 1))
    def take(self, pick: int, person: int) -> None:
        study_id = self.studies[pick % len(self.studies)]
        who = PEOPLE[person]
        before = any(it.study == study_id and it.person == who for it in self.submissions)
        possible = self.study(study_id)["status"] == "ACTIVE" and self.free(study_id) > 0
        done, answer = self.post(f"/participants/{who}/studies/{study_id}/take/")
        assert (done == 201) == (possible and not before)
        if done == 201:
            self.submissions.append(Submission(answer["submission_id"], study_id, who))

    def act(self, pick: int, verb: str, allowed: tuple[str, ...], **body: object) -> None:
        it = self.submissions[pick % len(self.submissions)]
        before = self.status(it)
        done, _ = self.post(f"/participants/{it.person}/submissions/{it.id}/{verb}/", **body)
        assert (done == 200) == (before in allowed)

    @rule(pick=picks)
    def open(self, pick: int) -> None:
        self.act(pick, "open", RUNNING)

    @rule(pick=picks, code=st.sampled_from(["DONE", "QUICK", "OUT", "NOCODE"]))
    def complete(self, pick: int, code: str) -> None:
        self.act(pick, "complete", ("ACTIVE",), code=code)

    @rule(pick=picks)
    def give_up(self, pick: int) -> None:
        self.act(pick, "return", (*RUNNING, "AWAITING REVIEW"))

    @rule(pick=picks, approved=st.booleans())
    def review(self, pick: int, approved: bool) -> None:
        it = self.submissions[pick % len(self.submissions)]
        before = self.status(it)
        target = "APPROVED" if approved else "REJECTED"
        body = {"action": "APPROVE"}
        if not approved:
            body = {"action": "REJECT", "rejection_category": "OTHER", "message": LONG}
        done, _ = self.call("POST", f"/submissions/{it.id}/transition/", **body)
        assert (done == 200) == (before in ("AWAITING REVIEW", target))
        assert self.status(it) == (target if done == 200 else before)

    @rule(picked=st.lists(picks, min_size=1, max_size=3))
    def approve_in_bulk(self, picked: list[int]) -> None:
        ids = [self.submissions[pick % len(self.submissions)].id for pick in picked]
        assert self.call("POST", "/submissions/bulk-approve/", submission_ids=ids)[0] == 200

    @rule(pick=picks)
    def set_up_bonus(self, pick: int) -> None:
        it = self.submissions[pick % len(self.submissions)]
        body = {"study_id": it.study, "csv_bonuses": f"{it.id},0.30\n"}
        before = self.wallet()
        done, answer = self.call("POST", "/submissions/bonus-payments/", **body)
        assert (done, self.wallet()) == (201, before)
        self.bulks.append(answer["id"])

    @rule(pick=picks)
    def pay_bonus(self, pick: int) -> None:
        """The same bulk may come again: it is paid again, as documented."""
        if not self.bulks:
            return
        bulk = self.bulks[pick % len(self.bulks)]
        affordable = charged(BONUS) <= self.wallet()[0]
        done, _ = self.call("POST", f"/bulk-bonus-payments/{bulk}/pay/")
        assert (done == 202) == affordable
        if done == 202:
            self.payments.append((bulk, self.clock.now + 60))

    @rule(seconds=st.sampled_from([2, 61, 11 * MINUTE, 26 * MINUTE, 21 * DAY]))
    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds)

    # What must hold after each step.

    @invariant()
    def the_books_are_right(self) -> None:
        locked = paid = 0
        for study_id in self.studies:
            study, counted = self.study(study_id), self.statuses(study_id)
            rewarded = REWARD * counted["APPROVED"] + SCREENED * counted["SCREENED OUT"]
            places = sum(counted[it] for it in (*RUNNING, "AWAITING REVIEW"))
            slots = 0
            if study["status"] in ("PUBLISHING", "ACTIVE", "PAUSED"):
                places = study["total_available_places"] - counted["APPROVED"]
                slots = 2 - counted["SCREENED OUT"]
            reserved = REWARD * places + SCREENED * slots
            if study["status"] == "UNPUBLISHED":
                reserved = 0
            paid += charged(rewarded)
            locked += charged(rewarded + reserved) - charged(rewarded)
        due = sum(at <= self.clock.now for _, at in self.payments)
        paid += due * charged(BONUS)
        locked += (len(self.payments) - due) * charged(BONUS)
        assert self.wallet() == (CENTS * 100 - locked - paid, locked, paid)

    @invariant()
    def money_is_moved_and_never_made(self) -> None:
        with self.store.reading() as session:
            moved = session.rows("SELECT SUM(available), SUM(locked), SUM(paid) FROM money")[0]
        assert tuple(moved) == self.wallet()
        assert sum(moved) == CENTS * 100

    @invariant()
    def nobody_is_paid_twice_for_one_submission(self) -> None:
        with self.store.reading() as session:
            rows = session.rows("SELECT submission_id, kind FROM payments WHERE kind <> 'bonus'")
            bonuses = session.count("SELECT COUNT(*) FROM payments WHERE kind = 'bonus'")
        assert len({row["submission_id"] for row in rows}) == len(rows)
        assert bonuses == sum(at <= self.clock.now for _, at in self.payments)

    @invariant()
    def no_place_is_taken_twice(self) -> None:
        assert all(self.free(study_id) >= 0 for study_id in self.studies)


class ReopeningMachine(Machine):
    """By the other readings of what a full or a stopped study does."""

    readings = Readings(
        rejection_when_full="ACTIVE", stop_with_open_reviews="AWAITING REVIEW", publishing_seconds=0
    )


for each in (Machine, ReopeningMachine):
    each.TestCase.settings = settings(
        max_examples=examples(25), stateful_step_count=25, deadline=None
    )
TestMachine = pytest.mark.hypothesis(Machine.TestCase)
TestReopeningMachine = pytest.mark.hypothesis(ReopeningMachine.TestCase)
