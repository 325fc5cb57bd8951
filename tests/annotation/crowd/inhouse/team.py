"""An in-house crowd whose time a test moves on, and the people at work."""

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User

from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Assignment, Member, PostedHit
from annotation.crowd.port import HitTypeSpec

LEASE = timedelta(minutes=30)
LIFE = timedelta(days=7)
SPEC = HitTypeSpec(
    title="Do two questions ask for the same?",
    description="Seven pairs of questions.",
    keywords="questions",
    reward_cents=15,
    assignment_seconds=int(LEASE.total_seconds()),
    auto_approval_seconds=259_200,
    masters=False,
    min_approval_percent=0,
    min_approved=0,
    exclusion_id=None,
)
YES = {"item-1": "1"}


@dataclass
class Team:
    now: datetime = datetime(2026, 3, 2, 9, tzinfo=UTC)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def crowd(self) -> InhouseCrowd:
        return InhouseCrowd(clock=lambda: self.now)

    def move_on(self, by: timedelta) -> None:
        self.now += by

    def join(self, name: str) -> Member:
        return Member.objects.create(user=User.objects.create_user(name), joined_at=self.now)

    def qualification(self, name: str) -> str:
        return self.crowd.create_qualification(name, "Of this team.")

    def publish(
        self, *, max_assignments: int = 2, lifetime: timedelta = LIFE, spec: HitTypeSpec = SPEC
    ) -> str:
        number = next(self._numbers)
        return self.crowd.create_hit(
            hit_type_id=self.crowd.create_hit_type(spec),
            url=f"https://quorum.example.org/hit/{number}",
            max_assignments=max_assignments,
            lifetime_seconds=int(lifetime.total_seconds()),
            token=f"token {number}",
            annotation=f"key {number}",
        )

    def publish_for(self, *, max_assignments: int = 2, **wishes: object) -> str:
        """A HIT for some of the members."""
        return self.publish(max_assignments=max_assignments, spec=replace(SPEC, **wishes))  # type: ignore[arg-type]

    def take(
        self, member: Member, *, hit_type: str = "", avoided: Collection[int] = ()
    ) -> Assignment | None:
        return assignments.take(member, hit_type=hit_type, avoided=avoided, now=self.now)

    def get(self, member: Member) -> Assignment:
        work = self.take(member)
        assert work is not None, f"there is nothing for {member.user}"
        return work

    def taken(self, member: Member) -> str | None:
        """The HIT that the member gets."""
        work = self.take(member)
        return None if work is None else work.posted_hit.hit_id

    def give_back(self, member: Member, work: Assignment) -> None:
        assignments.give_back(member, work.assignment_id, now=self.now)

    def submit(self, member: Member, work: Assignment) -> Assignment:
        assignments.submit(member, work.assignment_id, YES, now=self.now)
        return Assignment.objects.get(pk=work.pk)

    def do(self, member: Member) -> Assignment:
        return self.submit(member, self.get(member))

    def posted_hit(self, hit_id: str) -> PostedHit:
        return PostedHit.objects.get(hit_id=hit_id)
