"""What became of a member's work that was rejected: the controls missed, and their answers."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from annotation.crowd.accounts import workers_of
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.models import ItemReport, Judgment
from annotation.pipeline.labelling.reveals import reveals
from annotation.protocol.policy.tasks import TaskType


@dataclass(frozen=True)
class MissedControl:
    task: TaskType
    query: str
    question: str
    answer: str  # empty where the campaign shows none
    given: int | None  # None: they could not judge it
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
    mine = Q(assignment__worker__in=workers_of(member.worker_id), assignment__crowd_id__in=ids)
    missed: defaultdict[str, list[MissedControl]] = defaultdict(list)
    texts = "assignment__hit__campaign", "item__control"
    both: list[Judgment | ItemReport] = [
        one for part in reveals(mine) for one in part.select_related(*texts)
    ]
    for one in sorted(both, key=lambda one: one.item.position):
        missed[one.assignment.crowd_id].append(_control(one))
    return missed


def _control(one: Judgment | ItemReport) -> MissedControl:
    control = one.item.control
    assert control is not None
    policy = one.assignment.hit.campaign.policy
    return MissedControl(
        task=policy.task_type,
        query=control.query,
        question=control.question,
        answer=control.answer if policy.show_answer else "",
        given=one.value if isinstance(one, Judgment) else None,
        expected=control.expected,
    )
