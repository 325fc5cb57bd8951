"""Any order of calls, accepts, submissions and waiting, against a small model of MTurk's rules."""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from werkzeug.test import Client, TestResponse

from annotation.crowd.emulator.http.app import Emulator
from annotation.crowd.emulator.store import Store
from tests.annotation.crowd.emulator.turk import TARGET, Clock, question
from tests.support.examples import examples

INITIAL = 2_000
APPROVAL = 1_000  # seconds until MTurk approves by itself
BONUSES = {"0.01": 2, "0.13": 16, "2.00": 240}  # with the fee
WORKERS = ("AADA", "ABOB", "AEVE")
DURATION = 600
PRICES = {"0.01": 2, "0.15": 18, "1.00": 120}  # reward and fee below ten assignments
DEAR_PRICES = {"0.01": 3, "0.15": 21, "1.00": 140}  # from ten on
picks = st.integers(0, 50)


@dataclass
class Hit:
    id: str
    max_assignments: int
    price: int
    expires_at: float
    deleted: bool = False


@dataclass
class Assignment:
    id: str
    hit: Hit
    worker: str
    deadline: float
    status: str = "Accepted"
    approval_at: float = 0.0


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
        self.bonuses: dict[str, int] = {}  # token -> cents
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

    def open_assignments(self, hit: Hit) -> int:
        return hit.max_assignments - self.of(hit, "Accepted", "Submitted", "Approved", "Rejected")

    @property
    def held(self) -> int:
        return sum(
            hit.price
            * (
                self.of(hit, "Accepted", "Submitted")
                + (0 if self.expired(hit) else self.open_assignments(hit))
            )
            for hit in self.hits
        )

    @property
    def available(self) -> int:
        return INITIAL - self.spent - self.held

    @initialize(lifetime=st.sampled_from([300, 3_000]))
    def begin(self, lifetime: int) -> None:
        """With work to do: most of what can go wrong needs some."""
        self.publish(max_assignments=3, reward="0.15", lifetime=lifetime)
        for worker in WORKERS[:2]:
            self.accept(pick=0, worker=worker)
        self.submit(pick=0)

    # The rules: each predicts whether the emulator will do it.

    @rule(
        max_assignments=st.sampled_from([1, 2, 3, 9, 10]),
        reward=st.sampled_from(sorted(PRICES)),
        lifetime=st.sampled_from([300, 3_000]),
    )
    def publish(self, max_assignments: int, reward: str, lifetime: int) -> None:
        price = (PRICES if max_assignments < 10 else DEAR_PRICES)[reward]
        expected = max_assignments * price <= self.available
        _, made = self.call(
            "CreateHITType",
            Title="t",
            Description="d",
            Reward=reward,
            AssignmentDurationInSeconds=DURATION,
            AutoApprovalDelayInSeconds=APPROVAL,
        )
        done, answer = self.call(
            "CreateHITWithHITType",
            HITTypeId=made["HITTypeId"],
            LifetimeInSeconds=lifetime,
            MaxAssignments=max_assignments,
            Question=question(),
        )
        assert done == expected
        if done:
            expires_at = self.clock.now + lifetime
            self.hits.append(Hit(answer["HIT"]["HITId"], max_assignments, price, expires_at))

    @rule(pick=picks, max_assignments=st.integers(1, 3))
    def extend(self, pick: int, max_assignments: int) -> None:
        hit = self.hits[pick % len(self.hits)]
        affordable = self.expired(hit) or max_assignments * hit.price <= self.available
        many = hit.max_assignments < 10 <= hit.max_assignments + max_assignments
        expected = affordable and not many and not hit.deleted
        done, _ = self.call(
            "CreateAdditionalAssignmentsForHIT",
            HITId=hit.id,
            NumberOfAdditionalAssignments=max_assignments,
        )
        assert done == expected
        if done:
            hit.max_assignments += max_assignments

    @rule(pick=picks, worker=st.sampled_from(WORKERS))
    def accept(self, pick: int, worker: str) -> None:
        hit = self.hits[pick % len(self.hits)]
        taken = any(
            each.hit is hit
            and each.worker == worker
            and each.status not in ("Returned", "Abandoned")
            for each in self.assignments
        )
        expected = not taken and not self.expired(hit) and self.open_assignments(hit) > 0
        response = self.post(f"/worker/{worker}/hits/{hit.id}/accept")
        assert (response.status_code == 303) == expected
        if expected:
            assignment_id = response.location.rsplit("/", 1)[1]
            deadline = self.clock.now + DURATION
            self.assignments.append(Assignment(assignment_id, hit, worker, deadline))

    @rule(pick=picks)
    def submit(self, pick: int) -> None:
        work = self.assignments[pick % len(self.assignments)]
        response = self.post("/mturk/externalSubmit", assignmentId=work.id, item="1")
        assert (response.status_code == 200) == (work.status == "Accepted")
        if work.status == "Accepted":
            work.status = "Submitted"
            work.approval_at = self.clock.now + APPROVAL

    @rule(pick=picks)
    def give_back(self, pick: int) -> None:
        work = self.assignments[pick % len(self.assignments)]
        response = self.post(f"/worker/{work.worker}/assignments/{work.id}/return")
        assert (response.status_code == 303) == (work.status == "Accepted")
        if work.status == "Accepted":
            work.status = "Returned"

    @rule(pick=picks, override=st.booleans())
    def approve(self, pick: int, override: bool) -> None:
        work = self.assignments[pick % len(self.assignments)]
        affordable = work.hit.price <= self.available and not work.hit.deleted
        reversible = override and work.status == "Rejected" and affordable
        expected = work.status == "Submitted" or reversible
        done, _ = self.call("ApproveAssignment", AssignmentId=work.id, OverrideRejection=override)
        assert done == expected
        if done:
            work.status = "Approved"
            self.spent += work.hit.price

    @rule(pick=picks)
    def reject(self, pick: int) -> None:
        work = self.assignments[pick % len(self.assignments)]
        done, _ = self.call("RejectAssignment", AssignmentId=work.id, RequesterFeedback="no")
        assert done == (work.status == "Submitted")
        if done:
            work.status = "Rejected"

    @rule(pick=picks, seconds=st.sampled_from([-DURATION, 0, 1, 300, 3_000]))
    def set_expiration(self, pick: int, seconds: int) -> None:
        hit = self.hits[pick % len(self.hits)]
        at = self.clock.now + seconds
        reopened = self.expired(hit) and at > self.clock.now
        needed = hit.price * self.open_assignments(hit) if reopened else 0
        expected = needed <= self.available and not hit.deleted
        done, _ = self.call("UpdateExpirationForHIT", HITId=hit.id, ExpireAt=at)
        assert done == expected
        if done:
            hit.expires_at = at

    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        hit = self.hits[pick % len(self.hits)]
        undone = self.of(hit, "Accepted", "Submitted") > 0
        offered = self.open_assignments(hit) > 0 and not self.expired(hit)
        done, _ = self.call("DeleteHIT", HITId=hit.id)
        assert done == (not undone and not offered and not hit.deleted)
        hit.deleted = hit.deleted or done

    @rule(
        pick=picks,
        token=st.sampled_from(["one", "two", "three"]),
        amount=st.sampled_from(sorted(BONUSES)),
    )
    def give_bonus(self, pick: int, token: str, amount: str) -> None:
        work = self.assignments[pick % len(self.assignments)]
        submitted = work.status in ("Submitted", "Approved", "Rejected")
        affordable = BONUSES[amount] <= self.available
        done, _ = self.call(
            "SendBonus",
            AssignmentId=work.id,
            WorkerId=work.worker,
            BonusAmount=amount,
            Reason="careful",
            UniqueRequestToken=token,
        )
        # No run of this machine lasts 24 hours, so a token pays once.
        assert done == (submitted and affordable and token not in self.bonuses)
        if done:
            self.bonuses[token] = BONUSES[amount]
            self.spent += BONUSES[amount]

    @rule(seconds=st.sampled_from([1, 299, 301, 700, APPROVAL]))
    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds)
        for work in self.assignments:
            if work.status == "Accepted" and work.deadline <= self.clock.now:
                work.status = "Abandoned"
            if work.status == "Submitted" and work.approval_at <= self.clock.now:
                work.status = "Approved"
                self.spent += work.hit.price

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
    def each_payment_is_of_one_kind(self) -> None:
        with self.store.reading() as session:
            kinds = session.db.execute(
                "SELECT kind, SUM(spent) AS spent FROM money GROUP BY kind"
            ).fetchall()
        spent = {row["kind"]: row["spent"] for row in kinds}
        approved = sum(work.hit.price for work in self.assignments if work.status == "Approved")
        assert spent.get("reward", 0) + spent.get("fee", 0) == approved
        assert spent.get("bonus", 0) + spent.get("bonus_fee", 0) == sum(self.bonuses.values())

    @invariant()
    def the_counts_of_each_hit_add_up(self) -> None:
        for hit in self.hits:
            _, answer = self.call("GetHIT", HITId=hit.id)
            shown = answer["HIT"]
            pending, submitted = self.of(hit, "Accepted"), self.of(hit, "Submitted")
            completed = self.of(hit, "Approved", "Rejected")
            free = 0 if self.expired(hit) else hit.max_assignments - pending - submitted - completed
            status = "Assignable" if free else "Unassignable" if pending else "Reviewable"
            assert shown["HITStatus"] == ("Disposed" if hit.deleted else status)
            assert shown["MaxAssignments"] == hit.max_assignments
            assert shown["NumberOfAssignmentsPending"] == pending
            assert shown["NumberOfAssignmentsAvailable"] == free
            assert shown["NumberOfAssignmentsCompleted"] == completed


TestMoneyMachine = MoneyMachine.TestCase
TestMoneyMachine.settings = settings(
    max_examples=examples(30), stateful_step_count=30, deadline=None
)
