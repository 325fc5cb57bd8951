"""Workers who have submitted HITs, stored as collection and review store them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from annotation.analytics.workers.effort import Person, people_of
from annotation.models import (
    Account,
    Assignment,
    Behaviour,
    Campaign,
    Hit,
    ItemReport,
    OutboxMessage,
    Worker,
)
from tests.annotation.support.hits import make_campaign, make_hit

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@dataclass
class Annotators:
    """A campaign of some HITs, and what its workers have submitted."""

    campaign: Campaign
    hits: Sequence[Hit]

    def work(
        self,
        name: str,
        number: int,
        seconds: float | None = None,
        *,
        status: str = "approved",
        passed: bool = True,
        changes: int = 0,
        straight: bool = False,
    ) -> Assignment:
        assignment = Assignment.objects.create(
            hit=self.hits[number - 1],
            worker=Worker.objects.get_or_create(crowd="mturk", worker_id=name)[0],
            crowd_id=f"{name}-{number}",
            status=status,
            accepted_at=NOON,
            submitted_at=NOON + timedelta(hours=1),
            answers={},
            passed=passed,
            failure="" if passed else "missed",
        )
        Behaviour.objects.create(
            assignment=assignment,
            active_ms=None if seconds is None else round(seconds * 1000),
            changes=changes,
            straight=straight,
        )
        return assignment

    def bonus(self, assignment: Assignment, cents: int, *, state: str = "done") -> None:
        OutboxMessage.objects.create(
            campaign=self.campaign,
            kind="bonus",
            token=f"{assignment.crowd_id}-{cents}",
            assignment=assignment,
            worker=assignment.worker,
            cents=cents,
            state=state,
        )

    def report(
        self, assignment: Assignment, position: int, reason: str = "unclear", text: str = ""
    ) -> None:
        item = assignment.hit.items.get(position=position)
        ItemReport.objects.create(assignment=assignment, item=item, reason=reason, text=text)

    def people(self) -> dict[str, Person]:
        return {person.worker: person for person in people_of(self.campaign)}


def make_annotators(hits: int = 6, **policy: object) -> Annotators:
    campaign = make_campaign("faq", **policy)
    Account.objects.create(campaign=campaign)
    real = [[(f"query {number}", f"question {number}", "answer")] for number in range(hits)]
    return Annotators(campaign, [make_hit(campaign, real=rows) for rows in real])
