"""People who come at the wrong moment, studies that are gone, calls that are refused."""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import NoReturn

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse import assignments, visits
from annotation.crowd.inhouse.models import Assignment, PanelLink, PostedHit, Visit
from annotation.crowd.inhouse.visits import forget
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import Study as Theirs
from annotation.crowd.prolific.api.studies import Transition
from annotation.crowd.prolific.api.submissions import StudySubmission
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.submissions import screen_out, void
from annotation.models import Campaign
from annotation.operations.operation import NOBODY, perform
from annotation.operations.registry import OPERATIONS
from annotation.protocol.screening.control import RejectionReason
from core.errors import UserError
from tests.annotation.crowd.prolific.conftest import SITE, OpenDesk, Start
from tests.annotation.crowd.prolific.desk import SPEC_THERE, Desk, shut
from tests.annotation.crowd.prolific.world import DAY, Prolific
from tests.annotation.web.stage import text

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
    desk.crowd.reject(bad, reason="A check question was missed.", why=RejectionReason.MISSED)
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


def rest(desk: Desk, hit: str, *, days: int) -> None:
    """No tasks are open for so many days less than none: the study is paused, or goes on."""
    desk.crowd.set_expiration(hit, desk.now() + timedelta(days=days))
    desk.tend()


def test_a_pause_by_hand_stays_after_the_study_was_paused_and_started_by_us(desk: Desk) -> None:
    """Also before the next pass has seen it active."""
    (hit,) = desk.publish(max_assignments=3)
    rest(desk, hit, days=0)
    desk.crowd.set_expiration(hit, desk.now() + timedelta(days=1))
    desk.crowd.tend(PostedHit.objects.get().hit_type.type_id)
    desk.prolific.client.studies.transition(desk.study_id, "PAUSE")
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "PAUSED"
    desk.prolific.client.studies.transition(desk.study_id, "START")
    rest(desk, hit, days=0)
    rest(desk, hit, days=1)
    assert desk.prolific.status(desk.study_id) == "ACTIVE"


def test_a_pause_by_hand_of_a_full_study_stays_when_a_place_is_given_back(desk: Desk) -> None:
    desk.publish(max_assignments=1)
    visit = desk.come("ada")
    desk.tend()
    desk.prolific.client.studies.transition(desk.study_id, "PAUSE")
    desk.tend()
    assert Study.objects.get().held
    desk.people["ada"].give_up(visit.session_id)
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "PAUSED"
    desk.prolific.client.studies.transition(desk.study_id, "START")
    desk.tend()
    assert not Study.objects.get().held
    assert desk.do("bob")


def test_a_pause_by_hand_stays_when_the_slots_for_those_without_a_task_run_out(lobby: Desk) -> None:
    lobby.publish(max_assignments=1)
    visit = lobby.come("bob")
    lobby.prolific.client.studies.transition(lobby.study_id, "PAUSE")
    lobby.tend()
    assert screen_out(visit, now=lobby.now())
    lobby.people["bob"].complete(visit.session_id, visit.link.study.screen_out_code)
    lobby.tend()
    assert lobby.prolific.status(lobby.study_id) == "PAUSED"


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


@pytest.fixture
def lobby(prolific: Prolific) -> Desk:
    """Where who finds no task is paid for coming."""
    return Desk(prolific, screen_out_cents=14)


def surplus(desk: Desk) -> Mapping[str, int]:
    return desk.crowd.surplus(PostedHit.objects.latest("pk").hit_type.type_id)


def test_who_finds_no_task_is_paid_for_coming_and_the_place_is_another_s(lobby: Desk) -> None:
    (hit,) = lobby.publish(max_assignments=1)
    visit = lobby.leave_without_a_task("bob")
    lobby.tend()
    visit.refresh_from_db()
    assert (visit.outcome, lobby.paid("bob")) == ("screened", 14)
    assert lobby.crowd.surplus(PostedHit.objects.get().hit_type.type_id) == {
        f"visit {visit.pk}": 14
    }
    assert lobby.do("ada")
    lobby.tend()
    assert len(list(lobby.crowd.submissions(hit))) == 1
    assert lobby.places() == 1


def test_a_study_that_prolific_paused_for_its_slots_goes_on_with_more(lobby: Desk) -> None:
    lobby.publish(max_assignments=1)
    lobby.leave_without_a_task("bob")
    assert lobby.prolific.status(lobby.study_id) == "PAUSED"
    lobby.tend()
    assert lobby.prolific.status(lobby.study_id) == "ACTIVE"
    assert lobby.prolific.client.studies.get(lobby.study_id).slots == 2
    lobby.leave_without_a_task("eve")
    lobby.tend()
    assert lobby.do("ada")


def pass_on_the_code(desk: Desk, name: str) -> str:
    """Takes a place, and leaves by the code of those without a task, without coming here."""
    person = desk.people.setdefault(name, desk.prolific.person())
    submission = person.start(desk.study_id)
    assert person.complete(submission, desk.link.study.screen_out_code) == "SCREENED OUT"
    return submission


def test_who_is_paid_by_a_code_passed_on_is_booked_and_listed(lobby: Desk) -> None:
    lobby.publish(max_assignments=3)
    visit = lobby.leave_without_a_task("bob")
    eve = pass_on_the_code(lobby, "eve")
    for _ in range(2):
        lobby.tend()
        assert surplus(lobby) == {f"visit {visit.pk}": 14, f"submission {eve}": 14}
        assert Study.objects.get().strays == 1
    forget(visit.member)  # its submission, which nothing here names now, is no stray for that
    visits.arrive(lobby.link, visits.Person(lobby.people["eve"].id, eve), now=lobby.now())
    lobby.tend()
    assert surplus(lobby) == {f"visit {visit.pk}": 14, f"submission {eve}": 14}


def complete_without_a_visit(desk: Desk, name: str) -> str:
    person = desk.people.setdefault(name, desk.prolific.person())
    return person.do(desk.study_id, desk.link.code)


@pytest.mark.parametrize("by_hand", [True, False])
def test_who_is_approved_at_prolific_without_a_visit_is_booked(desk: Desk, by_hand: bool) -> None:
    desk.tasks = 2
    desk.publish(hits=2, max_assignments=3)
    desk.do("ada")
    eve = complete_without_a_visit(desk, "eve")
    desk.tend()
    assert (Study.objects.get().strays, surplus(desk)) == (1, {})
    desk.crowd.approve(Assignment.objects.filter(status="submitted")[0].assignment_id)
    if by_hand:
        desk.prolific.client.submissions.approve(eve)
    else:
        desk.prolific.clock.forward(22 * DAY)
    for _ in range(2):
        desk.tend()
        assert (Study.objects.get().strays, surplus(desk)) == (0, {f"submission {eve}": 200})
    forget(desk.member("ada"))  # whose submission nothing here names now
    visit = visits.arrive(desk.link, visits.Person(desk.people["eve"].id, eve), now=desk.now())
    desk.work(visit)
    mallory = complete_without_a_visit(desk, "mallory")
    desk.prolific.client.submissions.approve(mallory)
    desk.tend()
    assert list(surplus(desk).values()) == [200, 200]
    assert not Assignment.objects.filter(member=visit.member, status="approved").exists()


def test_who_was_rejected_here_and_approved_there_is_left_to_be_overturned(start: Start) -> None:
    """Which books the task: it is not booked twice."""
    desk = Desk(start(undo=True))
    desk.publish()
    (done,) = desk.do("eve")
    desk.tend()
    desk.crowd.reject(done, reason="A check question was missed.", why=RejectionReason.MISSED)
    desk.prolific.client.submissions.unreject(Visit.objects.get().session_id)
    desk.prolific.client.submissions.approve(Visit.objects.get().session_id)
    complete_without_a_visit(desk, "mallory")
    desk.tend()
    assert surplus(desk) == {}


@pytest.mark.parametrize("paid", [True, False])
def test_what_is_completed_after_its_time_is_listed_and_booked_if_it_is_paid(
    start: Start, paid: bool
) -> None:
    desk = Desk(start(late_completion=True))
    desk.publish(max_assignments=2)
    visit = desk.come("ada")
    desk.prolific.clock.forward(31 * 60)
    desk.tend()
    visit.refresh_from_db()
    assert visit.outcome == "returned"
    assert desk.people["ada"].complete(visit.session_id, visit.code) == "AWAITING REVIEW"
    desk.tend()
    study = Study.objects.get()
    assert (study.strays, study.to_ask_back) == (1, 1)
    if paid:
        desk.prolific.clock.forward(22 * DAY)
    else:
        desk.people["ada"].give_up(visit.session_id)
    desk.tend()
    assert Study.objects.get().strays == 0
    assert surplus(desk) == ({f"submission {visit.session_id}": 100} if paid else {})
    assert desk.paid("ada") == 100 * paid


def test_a_code_passed_on_buys_no_slot_and_the_study_stays_paused(lobby: Desk) -> None:
    """Else whoever has it draws the money out, a slot a pass."""
    (hit,) = lobby.publish(max_assignments=1)
    lobby.leave_without_a_task("bob")
    lobby.tend()
    pass_on_the_code(lobby, "eve")
    lobby.tend()
    theirs = lobby.prolific.client.studies.get(lobby.study_id)
    assert (theirs.slots, theirs.status) == (2, "PAUSED")
    assert Study.objects.get().coming == 0
    lobby.crowd.set_expiration(hit, lobby.now())  # nor by a pause of ours
    lobby.tend()
    lobby.crowd.set_expiration(hit, lobby.now() + timedelta(days=1))
    lobby.tend()
    assert lobby.prolific.status(lobby.study_id) == "PAUSED"


def test_a_study_that_grows_has_a_slot_for_each_place(lobby: Desk) -> None:
    (hit,) = lobby.publish(max_assignments=1)
    lobby.crowd.extend_hit(hit, extra=3, token="more")
    lobby.tend()
    theirs = lobby.prolific.client.studies.get(lobby.study_id)
    assert (theirs.total_available_places, theirs.slots) == (4, 4)


def test_who_has_a_task_or_has_done_one_is_not_screened_out(lobby: Desk) -> None:
    lobby.publish(hits=2)
    for name, work in (("ada", lobby.take), ("bob", lobby.work)):
        visit = lobby.come(name)
        assert work(visit)
        assert not screen_out(visit, now=lobby.now())
        assert Visit.objects.get(pk=visit.pk).finished_at is None


def test_without_screen_outs_nobody_is_screened_out(desk: Desk) -> None:
    desk.publish()
    assert not screen_out(desk.come("ada"), now=desk.now())


@pytest.mark.parametrize("finished", [True, False])
def test_the_code_of_those_without_a_task_pays_no_task_that_was_done(
    lobby: Desk, finished: bool
) -> None:
    """It is the same for all, so it may be passed on."""
    (hit,) = lobby.publish(max_assignments=1)
    visit = lobby.come("eve")
    lobby.work(visit)
    if finished:
        visits.finish(visit, now=lobby.now())
    lobby.people["eve"].complete(visit.session_id, visit.link.study.screen_out_code)
    lobby.tend()
    seen = lobby.crowd.hit(hit)
    assert seen is not None
    assert (seen.available, seen.submitted, lobby.paid("eve")) == (1, 0, 14)
    assert sum(surplus(lobby).values()) == 14


def test_who_is_screened_out_when_no_slot_is_left_is_left_to_the_manager(lobby: Desk) -> None:
    lobby.publish(max_assignments=2)
    last = lobby.come("ada")
    for name in ("bob", "eve"):
        lobby.leave_without_a_task(name)
    assert screen_out(last, now=lobby.now())
    lobby.people["ada"].complete(last.session_id, last.link.study.screen_out_code)
    lobby.tend()
    last.refresh_from_db()
    assert (Study.objects.get().strays, last.outcome) == (1, "")
    lobby.prolific.client.submissions.approve(last.session_id)
    lobby.tend()
    last.refresh_from_db()
    assert (last.outcome, last.surplus_cents, lobby.paid("ada")) == ("approved", 100, 100)


def test_who_was_promised_pay_for_coming_is_not_asked_to_return_the_study(lobby: Desk) -> None:
    lobby.publish(max_assignments=3)
    complete_without_a_visit(lobby, "mallory")
    last = lobby.come("ada")
    for name in ("bob", "eve", "joe"):
        lobby.leave_without_a_task(name)
    assert screen_out(last, now=lobby.now())
    lobby.people["ada"].complete(last.session_id, last.link.study.screen_out_code)
    lobby.tend()
    study = Study.objects.get()
    assert (study.strays, study.promised, study.to_ask_back) == (2, 1, 1)
    Study.objects.update(return_reason="Please return the study.")
    lobby.tend()
    asked = [len(lobby.people[name].get("messages")) for name in ("ada", "mallory")]
    assert (asked, Study.objects.get().to_ask_back) == ([0, 1], 0)


def test_a_visit_that_tasks_ran_out_for_is_paid_in_full_and_that_is_told(desk: Desk) -> None:
    desk.tasks = 3
    desk.publish(max_assignments=1)
    (done,) = [one for one in desk.do("ada") if one]
    desk.tend()
    assert surplus(desk) == {}
    desk.crowd.approve(done)
    desk.tend()
    assert (desk.paid("ada"), sum(surplus(desk).values())) == (300, 200)


def test_what_is_booked_is_not_read_again(desk: Desk) -> None:
    desk.tasks = 2
    desk.publish(max_assignments=3)
    done = [desk.do("ada"), desk.do("bob")]
    desk.tend()
    for (one,) in done:
        desk.crowd.approve(one)
    first, second = sorted(surplus(desk))
    desk.crowd.surplus_booked([first])
    assert surplus(desk) == {second: 100}


def test_a_screened_out_visit_s_work_is_never_overturned(lobby: Desk) -> None:
    lobby.publish()
    (done,) = lobby.do("ada")
    lobby.tend()
    visit = Visit.objects.get()
    void(visit, lobby.now(), Visit.Outcome.SCREENED)  # by hand, at Prolific
    assert lobby.status(done) == "rejected"
    with pytest.raises(CrowdError, match="was screened at Prolific"):
        lobby.crowd.overturn(done)


def test_a_participant_without_a_task_reads_what_they_get_and_leaves(open_desk: OpenDesk) -> None:
    desk = open_desk(screen_out_cents=14)
    ada = desk.people["ada"] = desk.prolific.person()
    place = ada.open(ada.take(desk.study_id)).removeprefix(SITE)
    browser = Client()
    assert "you get $0.14 for coming" in text(browser.get(place))
    PostedHit.objects.update(expires_at=timezone.now())
    came = browser.post(place, follow=True)
    assert "Leave, and get $0.14 for coming" in text(came)
    over = browser.post(came.request["PATH_INFO"], follow=True)
    code = Study.objects.get().screen_out_code
    assert f"cc={code}" in over.content.decode()
    assert "pays you $0.14 for coming" in text(over)
    assert "pays you $0.14 for coming" in text(Client().get(place))
    ada.complete(Visit.objects.get().session_id, code)
    desk.tend()
    assert desk.paid("ada") == 14


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("ending", ["RETURNED", "TIMED-OUT", "UNKNOWN", "SCREENED OUT"])
def test_a_visit_that_prolific_ended_has_no_code_and_promises_no_pay(
    open_desk: OpenDesk, ending: str, leaves: bool
) -> None:
    """Nor the pay for coming, whether somebody had left with that code or had not."""
    desk = open_desk(screen_out_cents=14)
    ada, browser = desk.people.setdefault("ada", desk.prolific.person()), Client()
    place = ada.open(ada.take(desk.study_id)).removeprefix(SITE)
    browser.post(place)
    visit = Visit.objects.get()
    desk.prolific.clock.now = time.time()
    Assignment.objects.update(status="returned")
    if leaves:
        assert screen_out(visit, now=desk.now())
    if ending == "SCREENED OUT":
        ada.complete(visit.session_id, visit.link.study.screen_out_code)
    elif ending == "RETURNED":
        ada.give_up(visit.session_id)
    elif ending == "TIMED-OUT":
        desk.prolific.clock.forward(DAY / 2)
    else:
        void(visit, desk.now())
    desk.tend()
    visit.refresh_from_db()
    over = text(browser.get(f"/work/visits/{visit.pk}"))
    pays = leaves and ending == "SCREENED OUT"
    assert ("pays you $0.14 for coming" in over) == (visit.code in over) == pays
    assert ("there is no code for it" in over) != pays
    assert visit.link.code not in over


def test_a_workspace_without_screen_outs_reads_what_to_do(start: Start) -> None:
    lobby = Desk(start(screen_outs="refused"), screen_out_cents=14)
    with pytest.raises(CrowdError, match="or close the link and open one without") as error:
        lobby.publish()
    assert not error.value.permanent
    shut(lobby.link, now=lobby.now())
    lobby.screen_out_cents = 0
    lobby._link = lobby.open(PostedHit.objects.get().hit_type.type_id)
    lobby.tend()
    assert lobby.do("ada")


@pytest.mark.parametrize(
    ("given", "cents"), [(None, 0), ("0.14", 14), ("0.13", None), ("0.15", None), ("a lot", None)]
)
def test_a_screen_out_pays_something_and_less_than_a_visit(
    open_desk: OpenDesk, given: str | None, cents: int | None
) -> None:
    open_desk()
    campaign, operation = Campaign.objects.get(), OPERATIONS["open-panel"]
    options = operation.complete(
        {"panel": "prolific", "tasks": 1, "minutes": 1, "note": "autumn", "screen_out": given}
    )
    if cents is None:
        with pytest.raises(UserError):
            perform(operation, campaign, options, by=NOBODY)
        return
    perform(operation, campaign, options, by=NOBODY)
    made = Study.objects.latest("pk")
    assert (made.screen_out_cents, bool(made.screen_out_code)) == (cents, bool(cents))


def test_a_return_that_is_undone_there_and_approved_is_booked_without_its_work(
    start: Start,
) -> None:
    desk = Desk(start(undo=True))
    desk.publish(max_assignments=1)
    (done,) = desk.do("ada")
    visit = Visit.objects.get()
    desk.people["ada"].give_up(visit.session_id)
    desk.tend()
    assert desk.status(done) == "returned"
    undone = desk.prolific.transition("submissions", visit.session_id, action="UNRETURN")
    assert undone.status_code == 200
    desk.tend()
    assert (Study.objects.get().strays, surplus(desk)) == (1, {})
    desk.prolific.client.submissions.approve(visit.session_id)
    desk.tend()
    assert surplus(desk) == {f"submission {visit.session_id}": 100}
    assert desk.status(done) == "returned"
