"""A campaign of one's own people: what the pipeline does with it, without any page."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from django.contrib.auth.models import User

from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.assignments import submit, take
from annotation.crowd.inhouse.members import invite, join
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.models import Campaign, Hit
from annotation.pipeline.advance import Pass, advance
from annotation.pipeline.outbox.deliver import Delivery, deliver
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.crowds import INHOUSE
from tests.worlds.account import Clock
from tests.worlds.small_campaign import Judge, retrieved_campaign, sheet_of


@dataclass
class Team:
    """Members are hired as they are named. One clock for the crowd and for the pipeline."""

    campaign: Campaign
    clock: Clock = field(default_factory=Clock)

    @property
    def crowd(self) -> InhouseCrowd:
        return InhouseCrowd(clock=self.clock.now)

    def publish(self) -> Delivery:
        publish(self.campaign, self.crowd)
        return self.deliver()

    def deliver(self) -> Delivery:
        return deliver(self.campaign, self.crowd, clock=self.clock.now)

    def advance(self) -> Pass:
        return advance(self.campaign, self.crowd, clock=self.clock.now)

    def member(self, name: str) -> Member:
        found = Member.objects.filter(user__username=name).first()
        if found is not None:
            return found
        code = invite(None, note=name, days=1, uses=1, now=self.clock.now())
        return join(code, User.objects.create_user(name), now=self.clock.now())

    def take(self, name: str) -> Assignment | None:
        return take(self.member(name), now=self.clock.now())

    def submit(self, work: Assignment, real: int | Judge = 0, *, slips: int = 0) -> str:
        hit = Hit.objects.get(key=work.posted_hit.annotation)
        sheet = sheet_of(hit, real, slips=slips)
        submit(work.member, work.assignment_id, sheet, now=self.clock.now())
        return work.assignment_id

    def work(self, name: str, real: int | Judge = 0, *, slips: int = 0) -> list[str]:
        """Everything there is for this member; the assignments."""
        works: Iterable[Assignment] = iter(lambda: self.take(name), None)
        return [self.submit(work, real, slips=slips) for work in works]


def own_team(folder: Path, name: str = "team", **policy: object) -> Team:
    """Packed, without a budget: what differs from the small campaign's policy is given."""
    campaign = retrieved_campaign(folder, name, **{**INHOUSE.defaults(), **policy})
    pack_hits(campaign)
    return Team(campaign)
