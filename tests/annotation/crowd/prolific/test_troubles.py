"""People who come at the wrong moment, studies that are gone, calls that are refused."""

from datetime import timedelta
from typing import NoReturn

import pytest

from annotation.crowd.inhouse import assignments, visits
from annotation.crowd.inhouse.models import Assignment, PanelLink, PostedHit, Visit
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import Study as Theirs
from annotation.crowd.prolific.api.studies import Transition
from annotation.crowd.prolific.api.submissions import StudySubmission
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.studies import shut
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.desk import SPEC_THERE, Desk
from tests.annotation.crowd.prolific.world import DAY, Prolific

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(prolific: Prolific) -> Desk:
    return Desk(prolific)


def tend_anyway(desk: Desk) -> None:
    try:
        desk.tend()
    except CrowdError:
        desk.prolific.clock.forward(3)


def test_who_takes_a_place_just_before_the_study_is_paused_is_not_overlooked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hit,) = desk.publish(max_assignments=1)
    ada = desk.people["ada"] = desk.prolific.person()
    desk.crowd.set_expiration(hit, desk.now())
    transition, addresses = desk.prolific.client.studies.transition, []

    def after_ada(study_id: str, action: Transition) -> Theirs:
        if action == "PAUSE":
            addresses.append(ada.open(ada.take(study_id)))
        return transition(study_id, action)

    monkeypatch.setattr(desk.prolific.client.studies, "transition", after_ada)
    desk.crowd.tend(PostedHit.objects.get().hit_type.type_id)
    monkeypatch.undo()
    desk.crowd.set_expiration(hit, desk.now() + timedelta(days=1))
    visit = desk.arrive(addresses[0])
    taken = desk.work(visit)
    assert taken is not None
    desk.leave("ada", visit)
    desk.tend()
    assert desk.status(taken) == "submitted"


def test_a_study_that_has_just_been_opened_is_not_at_rest(desk: Desk) -> None:
    hit_type = desk.crowd.create_hit_type(SPEC_THERE)
    hit = desk._post(hit_type, 2)
    desk.open(hit_type)
    desk.crowd.tend(hit_type)
    assert not Study.objects.get().at_rest
    desk.prolific.clock.forward(3)
    desk.crowd.set_expiration(hit, desk.now())
    desk.tend()
    assert (desk.prolific.status(desk.study_id), Study.objects.get().at_rest) == ("PAUSED", True)


def test_a_visit_that_is_made_up_while_the_study_rests_frees_its_task(desk: Desk) -> None:
    (hit,) = desk.publish(max_assignments=1)
    desk.prolific.client.studies.transition(desk.study_id, "STOP")
    desk.tend()
    made_up = visits.arrive(desk.link, visits.Person("e" * 24, "f" * 24), now=desk.now())
    desk.work(made_up)
    desk.prolific.clock.forward(11 * 60)
    desk.tend()
    seen = desk.crowd.hit(hit)
    assert seen is not None
    assert seen.available == 1


def test_a_study_that_is_gone_keeps_no_places_from_another_link(desk: Desk) -> None:
    desk.publish(max_assignments=3)
    Study.objects.update(study_id="b" * 24)
    with pytest.raises(CrowdError):
        desk.tend()
    shut(PanelLink.objects.get(), now=desk.now())
    link = desk.open(PostedHit.objects.get().hit_type.type_id)
    tend_anyway(desk)
    assert Study.objects.get(link=link).study_id


def test_a_submission_that_cannot_be_read_keeps_no_other_waiting(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hit,) = desk.publish(max_assignments=1)
    visits.arrive(desk.link, visits.Person("e" * 24, "f" * 24), now=desk.now())
    desk.prolific.clock.forward(11 * 60)

    def forbidden(submission_id: str) -> StudySubmission:
        raise CrowdError("403: check what the API token may do.", permanent=False)

    monkeypatch.setattr(desk.prolific.client.submissions, "get", forbidden)
    desk.crowd.extend_hit(hit, extra=3, token="more")
    with pytest.raises(CrowdError, match="403"):
        desk.crowd.tend(PostedHit.objects.get().hit_type.type_id)
    assert desk.places() == 4


def test_what_was_returned_cannot_be_overturned_for_nobody_would_be_paid(desk: Desk) -> None:
    desk.publish()
    (done,) = desk.do("ada")
    desk.tend()
    desk.people["ada"].give_up(Visit.objects.get().session_id)
    desk.tend()
    with pytest.raises(CrowdError, match="was returned at Prolific"):
        desk.crowd.overturn(done)
    assert desk.status(done) == "rejected"


def test_a_full_study_that_prolific_calls_final_says_to_open_another_link(start: Start) -> None:
    desk = Desk(start(stop_is_final=True))
    (hit,) = desk.publish(max_assignments=1)
    (done,) = desk.do("ada")
    desk.tend()
    desk.crowd.approve(done)
    desk.tend()
    desk.crowd.extend_hit(hit, extra=1, token="a third vote")
    with pytest.raises(CrowdError, match="close its link and open another one"):
        desk.tend()
    shut(desk.link, now=desk.now())
    desk.open_to(hit, "ada")
    assert desk.do("bob")


@pytest.mark.parametrize("reading", ["AWAITING REVIEW", "PAUSED", "ACTIVE"])
def test_a_rejected_place_is_filled_again_however_prolific_shows_the_study(
    start: Start, reading: str
) -> None:
    desk = Desk(start(rejection_when_full=reading))
    (hit,) = desk.publish(max_assignments=2)
    (bad,), _ = desk.do("eve"), desk.do("bob")
    desk.tend()
    desk.crowd.reject(bad, reason="A check question was missed.")
    desk.crowd.extend_hit(hit, extra=1, token="again")
    desk.tend()
    assert desk.do("ada")


@pytest.mark.parametrize("seen", [True, False])
def test_a_study_that_is_stopped_by_hand_stays_so_whether_we_paused_it_or_never_saw_it_open(
    desk: Desk, seen: bool
) -> None:
    (hit,) = desk.publish(max_assignments=2)
    if seen:
        desk.crowd.set_expiration(hit, desk.now())
        desk.tend()
        assert Study.objects.get().paused
    else:
        Study.objects.update(full_at=2)  # as publishing leaves it
    desk.prolific.client.studies.transition(desk.study_id, "STOP")
    desk.crowd.set_expiration(hit, desk.now() + timedelta(days=1))
    desk.tend()
    assert (desk.prolific.status(desk.study_id), desk.places()) == ("COMPLETED", 2)


def test_that_events_are_refused_hides_no_other_fault(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.publish()
    desk.hook_url = "https://quorum.example.org/panels/prolific/events"

    def fail(*_: object) -> NoReturn:
        raise CrowdError("The study is broken.", permanent=False)

    monkeypatch.setattr(desk.prolific.client.hooks, "secrets", fail)
    desk.tend()  # not even where nothing else is wrong
    monkeypatch.setattr(desk.prolific.client.studies, "get", fail)
    with pytest.raises(CrowdError, match="broken"):
        desk.tend()


def test_in_a_visit_that_was_finished_in_another_tab_nothing_more_is_taken(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.tasks = 2
    desk.publish(hits=2, max_assignments=1)
    visit = desk.come("ada")
    first = desk.work(visit)
    take_one = assignments._take_one

    def finished_meanwhile(*given: object) -> bool:
        visits.finish(visit, now=desk.now())
        return take_one(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(assignments, "_take_one", finished_meanwhile)
    assert assignments.take(visit.member, now=desk.now()) is None
    assert [one.assignment_id for one in Assignment.objects.all()] == [first]


def test_late_work_does_not_make_a_visit_larger_than_it_is(desk: Desk) -> None:
    desk.publish(hits=2, max_assignments=1)
    visit = desk.come("ada")
    late = desk.take(visit)
    assert late is not None
    desk.prolific.clock.forward(DAY / 2)
    Assignment.objects.update(status="lapsed")
    PostedHit.objects.update(open_assignments=1)
    desk.work(visit)
    with pytest.raises(assignments.Refused):
        assignments.submit(visit.member, late, {"a": "1"}, now=desk.now())
    assert visits.done_in(visit).handed_in == 1
