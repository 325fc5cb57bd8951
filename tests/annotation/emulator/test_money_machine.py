"""Any order of calls, accepts, submissions and waiting, against a small model of MTurk's rules."""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from werkzeug.test import Client, TestResponse

from annotation.crowd.emulator.app import Emulator
from annotation.crowd.emulator.store import Store
from tests.annotation.emulator.turk import TARGET, Clock, question

INITIAL = 2_000
WORKERS = ("AADA", "ABOB", "AEVE")
DURATION = 600
PRICES = {"0.01": 2, "0.15": 18, "1.00": 120}  # reward and fee below ten assignments
DEAR_PRICES = {"0.01": 3, "0.15": 21, "1.00": 140}  # from ten on
picks = st.integers(0, 50)


@dataclass
class Hit:
    id: str
    places: int
    price: int
    expires_at: float


@dataclass
class Assignment:
    id: str
    hit: Hit
    worker: str
    deadline: float
    status: str = "Accepted"


class MoneyMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = Clock()
        path = Path(self.folder.name) / "state.sqlite3"
        self.store = Store(path, balance_cents=INITIAL, clock=self.clock)
        self.web = Client(Emulator(self.store))
        self.hits: list[Hit] = []
        self.assignments: list[Assignment] = []
        self.spent = 0
        for worker in WORKERS:
            self.web.post("/worker/register", data={"workerId": worker})

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def call(self, operation: str, **parameters: object) -> tuple[bool, dict[str, Any]]:
        headers = {"X-Amz-Target": f"{TARGET}.{operation}"}
        response = self.web.post("/", data=json.dumps(parameters), headers=headers)
        assert response.status_code in (200, 400), response.text
        return response.status_code == 200, json.loads(response.data)

    def post(self, path: str, **form: str) -> TestResponse:
        return self.web.post(path, data=form)

    # The model: what is held and what is free follows from the list of assignments alone.

    def expired(self, hit: Hit) -> bool:
        return hit.expires_at <= self.clock.now

    def of(self, hit: Hit, *statuses: str) -> int:
        return sum(each.hit is hit and each.status in statuses for each in self.assignments)

    def open_places(self, hit: Hit) -> int:
        return hit.places - self.of(hit, "Accepted", "Submitted", "Approved", "Rejected")

    @property
    def held(self) -> int:
        return sum(
            hit.price
            * (
                self.of(hit, "Accepted", "Submitted")
                + (0 if self.expired(hit) else self.open_places(hit))
            )
            for hit in self.hits
        )

    @property
    def available(self) -> int:
        return INITIAL - self.spent - self.held

    # The rules: each predicts whether the emulator will do it.

    @rule(
        places=st.sampled_from([1, 2, 3, 9, 10]),
        reward=st.sampled_from(sorted(PRICES)),
        lifetime=st.sampled_from([300, 3_000]),
    )
    def publish(self, places: int, reward: str, lifetime: int) -> None:
        price = (PRICES if places < 10 else DEAR_PRICES)[reward]
        expected = places * price <= self.available
        _, made = self.call(
            "CreateHITType",
            Title="t",
            Description="d",
            Reward=reward,
            AssignmentDurationInSeconds=DURATION,
        )
        done, answer = self.call(
            "CreateHITWithHITType",
            HITTypeId=made["HITTypeId"],
            LifetimeInSeconds=lifetime,
            MaxAssignments=places,
            Question=question(),
        )
        assert done == expected
        if done:
            expires_at = self.clock.now + lifetime
            self.hits.append(Hit(answer["HIT"]["HITId"], places, price, expires_at))

    @rule(pick=picks, places=st.integers(1, 3))
    def extend(self, pick: int, places: int) -> None:
        if not self.hits:
            return
        hit = self.hits[pick % len(self.hits)]
        affordable = self.expired(hit) or places * hit.price <= self.available
        expected = affordable and not hit.places < 10 <= hit.places + places
        done, _ = self.call(
            "CreateAdditionalAssignmentsForHIT", HITId=hit.id, NumberOfAdditionalAssignments=places
        )
        assert done == expected
        if done:
            hit.places += places

    @rule(pick=picks, worker=st.sampled_from(WORKERS))
    def accept(self, pick: int, worker: str) -> None:
        if not self.hits:
            return
        hit = self.hits[pick % len(self.hits)]
        taken = any(
            each.hit is hit
            and each.worker == worker
            and each.status not in ("Returned", "Abandoned")
            for each in self.assignments
        )
        expected = not taken and not self.expired(hit) and self.open_places(hit) > 0
        response = self.post(f"/worker/{worker}/hits/{hit.id}/accept")
        assert (response.status_code == 303) == expected
        if expected:
            assignment_id = response.location.rsplit("/", 1)[1]
            deadline = self.clock.now + DURATION
            self.assignments.append(Assignment(assignment_id, hit, worker, deadline))

    @rule(pick=picks)
    def submit(self, pick: int) -> None:
        if not self.assignments:
            return
        work = self.assignments[pick % len(self.assignments)]
        response = self.post("/mturk/externalSubmit", assignmentId=work.id, item="1")
        assert (response.status_code == 200) == (work.status == "Accepted")
        if work.status == "Accepted":
            work.status = "Submitted"

    @rule(pick=picks)
    def give_back(self, pick: int) -> None:
        if not self.assignments:
            return
        work = self.assignments[pick % len(self.assignments)]
        response = self.post(f"/worker/{work.worker}/assignments/{work.id}/return")
        assert (response.status_code == 303) == (work.status == "Accepted")
        if work.status == "Accepted":
            work.status = "Returned"

    @rule(pick=picks, override=st.booleans())
    def approve(self, pick: int, override: bool) -> None:
        if not self.assignments:
            return
        work = self.assignments[pick % len(self.assignments)]
        reversible = override and work.status == "Rejected" and work.hit.price <= self.available
        expected = work.status == "Submitted" or reversible
        done, _ = self.call("ApproveAssignment", AssignmentId=work.id, OverrideRejection=override)
        assert done == expected
        if done:
            work.status = "Approved"
            self.spent += work.hit.price

    @rule(pick=picks)
    def reject(self, pick: int) -> None:
        if not self.assignments:
            return
        work = self.assignments[pick % len(self.assignments)]
        done, _ = self.call("RejectAssignment", AssignmentId=work.id, RequesterFeedback="no")
        assert done == (work.status == "Submitted")
        if done:
            work.status = "Rejected"

    @rule(seconds=st.sampled_from([1, 299, 301, 700]))
    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds)
        for work in self.assignments:
            if work.status == "Accepted" and work.deadline <= self.clock.now:
                work.status = "Abandoned"

    # What must hold after each step.

    @invariant()
    def the_money_is_where_the_model_says(self) -> None:
        _, answer = self.call("GetAccountBalance")
        shown = [round(100 * float(answer[f"{name}Balance"])) for name in ("Available", "OnHold")]
        assert shown == [self.available, self.held]
        with self.store.reading() as session:
            account = session.db.execute("SELECT available, on_hold, spent FROM account").fetchone()
            moved = session.db.execute(
                "SELECT SUM(available), SUM(on_hold), SUM(spent) FROM money"
            ).fetchone()
        assert tuple(account) == tuple(moved) == (self.available, self.held, self.spent)
        assert sum(account) == INITIAL

    @invariant()
    def the_counts_of_each_hit_add_up(self) -> None:
        for hit in self.hits:
            _, answer = self.call("GetHIT", HITId=hit.id)
            shown = answer["HIT"]
            pending, submitted = self.of(hit, "Accepted"), self.of(hit, "Submitted")
            completed = self.of(hit, "Approved", "Rejected")
            free = 0 if self.expired(hit) else hit.places - pending - submitted - completed
            status = "Assignable" if free else "Unassignable" if pending else "Reviewable"
            assert shown["HITStatus"] == status
            assert shown["MaxAssignments"] == hit.places
            assert shown["NumberOfAssignmentsPending"] == pending
            assert shown["NumberOfAssignmentsAvailable"] == free
            assert shown["NumberOfAssignmentsCompleted"] == completed


TestMoneyMachine = MoneyMachine.TestCase
TestMoneyMachine.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
