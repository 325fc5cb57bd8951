"""What became of a member's work that was rejected: the controls missed, and their answers."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from annotation.crowd.accounts import workers_of
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.models import Judgment
from annotation.pipeline.controls.reveals import reveals


@dataclass(frozen=True)
class MissedControl:
    query: str
    question: str
    answer: str  # empty where the campaign shows none
    given: int
    expected: int


@dataclass(frozen=True)
class Rejection:
    submitted_at: datetime | None
    feedback: str
    missed: Sequence[MissedControl]


def rejected(member: Member) -> QuerySet[Assignment]:
    return Assignment.objects.filter(member=member, status=Assignment.Status.REJECTED)


def last_rejections(member: Member, most: int) -> list[Rejection]:
    submissions = list(rejected(member).order_by("-submitted_at")[:most])
    missed = _missed(member, [work.assignment_id for work in submissions])
    return [
        Rejection(work.submitted_at, work.feedback, missed.get(work.assignment_id, []))
        for work in submissions
    ]


def _missed(member: Member, ids: Collection[str]) -> Mapping[str, list[MissedControl]]:
    """By assignment; told to who did the work, once it is decided, and to nobody else."""
    mine = reveals().filter(worker__in=workers_of(member.worker_id), assignment__crowd_id__in=ids)
    missed: defaultdict[str, list[MissedControl]] = defaultdict(list)
    rows = mine.select_related("assignment__hit__campaign", "item__control")
    for judgment in rows.order_by("item__position"):
        missed[judgment.assignment.crowd_id].append(_control(judgment))
    return missed


def _control(judgment: Judgment) -> MissedControl:
    control = judgment.item.control
    assert control is not None
    shows_answer = judgment.assignment.hit.campaign.policy.show_answer
    return MissedControl(
        query=control.query,
        question=control.question,
        answer=control.answer if shows_answer else "",
        given=judgment.value,
        expected=control.expected,
    )
