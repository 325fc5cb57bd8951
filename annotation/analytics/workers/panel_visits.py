"""What the people did whom a panel sent, and what that is worth at the panel."""

from collections.abc import Iterator
from dataclasses import dataclass

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import PanelLink, Visit
from annotation.crowd.inhouse.visits import Done
from annotation.models import Campaign
from core.text.money import money

APPROVE, REJECT, WAIT = "approve", "reject", "wait"


@dataclass(frozen=True)
class PanelVisit:
    """A visit, and what is to be done with it at the panel."""

    person: str  # empty: forgotten
    worker: str
    visit: Visit
    done: Done
    cents: int

    @property
    def decision(self) -> str:
        if self.visit.finished_at is None or self.done.undecided or not self.done.handed_in:
            return WAIT
        return APPROVE if self.done.approved else REJECT

    @property
    def earned(self) -> str:
        """What was approved, by the piece."""
        return money(self.cents * self.done.approved)

    @property
    def why(self) -> str:
        if self.visit.finished_at is None:
            return "not finished"
        if not self.done.handed_in:
            return "no task was done"
        if self.done.undecided:
            return f"{self.done.undecided} of {self.done.handed_in} tasks not decided yet"
        return f"{self.done.approved} of {self.done.handed_in} tasks approved"


def visits_by(link: PanelLink, campaign: Campaign) -> Iterator[PanelVisit]:
    """In the order of arrival."""
    counted = visits.with_done(link.visits.order_by("pk").select_related("member__participant"))
    for visit in counted:
        participant = getattr(visit.member, "participant", None)
        yield PanelVisit(
            person=participant.external_id if participant else "",
            worker=visit.member.worker_id,
            visit=visit,
            done=visits.done_of(visit),
            cents=campaign.policy.reward_cents,
        )
