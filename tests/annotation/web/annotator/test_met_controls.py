"""A member meets one control of a campaign's own as seldom as the tasks that are left allow."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.crowd.inhouse.assignments import take
from annotation.crowd.inhouse.models import Assignment, PostedHit
from annotation.models import Control, HitItem
from annotation.pipeline.controls.own_controls import hits_put_off
from annotation.protocol.packing.own_controls import MOST_MEETINGS
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.annotation.web.stage import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Five tasks; one positive control of the campaign's own is in all of them but the last."""
    team = own_team(tmp_path)
    team.publish()
    own, other = (
        Control.objects.create(
            kind="positive",
            campaign=team.campaign,
            key=key,
            query="q",
            question=key,
            answer="a",
            drafted=True,
        )
        for key in ("often", "once")
    )
    positives = HitItem.objects.filter(hit__campaign=team.campaign, control__kind="positive")
    positives.update(control=own)
    positives.filter(hit__number=5).update(control=other)
    return team


def next_task(team: Team, name: str) -> int | None:
    """Taken on the page, and done; its number."""
    member = team.member(name)
    signed_in(member.user).post("/work/next")
    work = Assignment.objects.filter(member=member, status="accepted").first()
    if work is None:
        return None
    team.submit(work)
    return team.campaign.hits.get(key=work.posted_hit.annotation).number


def meet(team: Team, name: str, times: int) -> None:
    """Tasks with the control that comes often."""
    last = PostedHit.objects.get(hit_id=team.campaign.hits.get(number=5).crowd_id)
    for _ in range(times):
        work = take(team.member(name), avoided={last.pk}, now=team.clock.now())
        assert work is not None
        team.submit(work)


def test_who_has_met_a_control_twice_gets_tasks_that_hold_it_last(team: Team) -> None:
    """What is left can be done all the same, and others take it as before."""
    meet(team, "ada", MOST_MEETINGS)
    assert len(hits_put_off(team.member("ada"))) == 2
    assert not hits_put_off(team.member("bob"))
    assert next_task(team, "ada") == 5
    assert {next_task(team, "ada"), next_task(team, "ada")} < {1, 2, 3, 4}
    assert next_task(team, "ada") is None


def test_after_one_meeting_nothing_is_put_off(team: Team) -> None:
    meet(team, "ada", 1)
    assert not hits_put_off(team.member("ada"))


def test_a_task_that_was_returned_and_taken_again_is_one_meeting(team: Team) -> None:
    meet(team, "ada", 1)
    done = Assignment.objects.get()
    done.pk, done.assignment_id, done.status, done.submitted_at = None, "again", "returned", None
    done.save()
    assert not hits_put_off(team.member("ada"))


def test_a_control_of_the_pool_puts_nothing_off(team: Team) -> None:
    meet(team, "ada", MOST_MEETINGS)
    Control.objects.filter(key="often").update(campaign=None, drafted=False)
    assert not hits_put_off(team.member("ada"))


def test_it_is_one_question_more_however_much_was_done(team: Team) -> None:
    member = team.member("ada")
    for _ in range(3):
        with CaptureQueriesContext(connection) as asked:
            hits_put_off(member)
        assert len(asked) == 2
        meet(team, "ada", 1)
