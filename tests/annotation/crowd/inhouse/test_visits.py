"""Participants at the same moment: in two browsers, and with two buttons."""

from functools import partial

import pytest

from annotation.crowd.inhouse import assignments, visits
from annotation.crowd.inhouse.adapter import PANEL_SITE, InhouseCrowd
from annotation.crowd.inhouse.assignments import Refused
from annotation.crowd.inhouse.models import Assignment, Member, PanelLink, Participant, Visit
from tests.annotation.crowd.inhouse.team import SPEC, YES, Team
from tests.support.threads import together

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrent]


class Panel(Team):
    @property
    def crowd(self) -> InhouseCrowd:
        return InhouseCrowd(PANEL_SITE, clock=lambda: self.now)

    def link(self, *, tasks: int) -> PanelLink:
        hit_type = self.crowd.create_hit_type(SPEC)
        return visits.open_link(hit_type, "connect", tasks=tasks, now=self.now)

    def arrive(self, link: PanelLink, person: str = "P7") -> Visit:
        return visits.arrive(link, visits.Person(person), now=self.now)


def test_one_person_in_many_browsers_is_one_member_with_one_visit() -> None:
    panel = Panel()
    panel.publish()
    link = panel.link(tasks=2)
    came = together(*[partial(panel.arrive, link) for _ in range(8)])
    assert len({visit.pk for visit in came}) == 1
    assert (Member.objects.count(), Participant.objects.count(), Visit.objects.count()) == (1, 1, 1)


def test_what_is_handed_in_while_the_visit_is_finished_is_submitted_or_refused() -> None:
    for _ in range(6):
        panel = Panel()
        for _ in range(2):
            panel.publish(max_assignments=20)
        visit = panel.arrive(panel.link(tasks=2), f"P{Visit.objects.count()}")
        panel.do(visit.member)
        taken = panel.get(visit.member)

        def hand_in(panel: Panel = panel, visit: Visit = visit, taken: Assignment = taken) -> bool:
            try:
                assignments.submit(visit.member, taken.assignment_id, YES, now=panel.now)
            except Refused:
                return False
            return True

        was_taken, finished = together(hand_in, partial(visits.finish, visit, now=panel.now))
        assert finished
        status = Assignment.objects.get(pk=taken.pk).status
        assert status == ("submitted" if was_taken else "returned")
