"""Work for an account of the site's Turk, done and approved without a page."""

from typing import Any

from django.utils import timezone

from annotation.crowd.emulator.http.wire import Wire
from annotation.crowd.emulator.state import assignments
from annotation.crowd.emulator.validation import Model
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.payments import book_deposits
from annotation.crowd.turk.stores import Environment, store_of
from tests.annotation.support.turk import QUESTION


def give_money(lab: RequesterAccount, cents: int) -> None:
    lab.deposits.create(cents=cents, made_at=timezone.now())
    book_deposits(lab)


class Earner:
    """Does work for an account without a page."""

    def __init__(self, lab: RequesterAccount) -> None:
        self.store = store_of(lab, Environment.PRODUCTION)
        self.wire = Wire(self.store, Model())

    def call(self, name: str, **body: object) -> Any:
        return self.wire.run(name, body)

    def earn(self, worker_id: str, reward: str, *, bonus: str = "") -> str:
        """One approved assignment."""
        made = self.call(
            "CreateHITType",
            Title="t",
            Description="d",
            Reward=reward,
            AssignmentDurationInSeconds=60,
        )
        hit = self.call(
            "CreateHITWithHITType",
            HITTypeId=made["HITTypeId"],
            LifetimeInSeconds=60,
            Question=QUESTION.format(url="https://example.org"),
        )
        with self.store.writing() as session:
            assignments.register(session, worker_id, None)
            assignment_id = assignments.accept(session, worker_id, hit["HIT"]["HITId"])
            assignments.submit(session, assignment_id, [("a", "1")], approved_after=None)
        self.call("ApproveAssignment", AssignmentId=assignment_id)
        if bonus:
            about = {"WorkerId": worker_id, "AssignmentId": assignment_id}
            self.call("SendBonus", **about, BonusAmount=bonus, Reason="Thanks")
        return assignment_id
