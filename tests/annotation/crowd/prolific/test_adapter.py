"""A visit at our desk is a submission at Prolific: confirmed, paid, or returned as a whole."""

from dataclasses import replace

import pytest

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import Assignment, PanelLink, Visit
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.submissions import LEAST_MESSAGE
from annotation.crowd.prolific.models import BonusPayment, Study
from core.errors import UserError
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.desk import SPEC_THERE, Desk
from tests.annotation.crowd.prolific.world import DAY, Prolific

pytestmark = pytest.mark.django_db
BONUS = {"cents": 25, "reason": "Thank you.", "token": "one bonus"}


@pytest.fixture
def desk(prolific: Prolific) -> Desk:
    return Desk(prolific)


def submitted(desk: Desk, hit_id: str) -> list[str]:
    return [one.assignment_id for one in desk.crowd.submissions(hit_id)]


def test_a_study_is_made_published_and_has_a_place_for_each_visit(desk: Desk) -> None:
    desk.tasks = 2
    desk.publish(hits=3, max_assignments=2)
    theirs = desk.prolific.client.studies.get(desk.study_id)
    assert (theirs.status, theirs.total_available_places) == ("ACTIVE", 3)
    assert (theirs.reward_cents, theirs.internal_name) == (200, f"quorum-{desk.link.key}")


def test_places_grow_with_what_is_open_and_never_for_visits_under_way(desk: Desk) -> None:
    desk.publish(hits=1, max_assignments=2)
    assert desk.places() == 2
    visit = desk.come("ada")
    desk.tend()
    assert desk.places() == 2
    desk.work(visit)
    desk.leave("ada", visit)
    desk.tend()
    assert desk.places() == 2
    desk.crowd.extend_hit(next(desk.crowd.hits()).hit_id, extra=3, token="more")
    desk.tend()
    assert desk.places() == 5


def test_a_full_study_is_opened_again_for_votes_that_are_still_missing(desk: Desk) -> None:
    (hit,) = desk.publish(max_assignments=1)
    (done,) = desk.do("ada")
    desk.tend()
    desk.crowd.approve(done)
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "COMPLETED"
    desk.crowd.extend_hit(hit, extra=1, token="a third vote")
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "ACTIVE"
    assert desk.do("bob") != [done]


def test_work_is_submitted_once_prolific_says_that_the_participant_has_completed(
    desk: Desk,
) -> None:
    (hit,) = desk.publish()
    visit = desk.come("ada")
    taken = desk.work(visit)
    assert taken is not None
    visits.finish(visit, now=desk.now())
    desk.tend()
    assert submitted(desk, hit) == []  # no code came
    desk.people["ada"].complete(visit.session_id, visit.code)
    desk.tend()
    assert submitted(desk, hit) == [taken]


def test_a_visit_is_paid_when_its_tasks_are_all_decided(desk: Desk) -> None:
    desk.tasks = 2
    desk.publish(hits=2)
    first, second = desk.do("ada")
    desk.tend()
    desk.crowd.approve(first)
    desk.tend()
    assert desk.paid("ada") == 0
    desk.crowd.approve(second)
    desk.tend()
    assert desk.paid("ada") == 200
    assert Visit.objects.get().outcome == "approved"


def test_a_rejected_task_rejects_its_visit_with_a_message_that_is_long_enough(desk: Desk) -> None:
    desk.publish()
    (done,) = desk.do("eve")
    desk.tend()
    desk.crowd.reject(done, reason="A check question was missed.")
    desk.tend()
    assert desk.paid("eve") == 0
    ((status, message),) = desk.prolific.rows("SELECT status, rejection_message FROM submissions")
    assert status == "REJECTED"
    assert message.startswith("A check question was missed.")
    assert len(message) >= LEAST_MESSAGE


def test_one_task_of_several_cannot_be_rejected(desk: Desk) -> None:
    desk.tasks = 2
    desk.publish(hits=2)
    first, _ = desk.do("eve")
    desk.tend()
    with pytest.raises(CrowdError, match="pays or rejects a visit of 2 tasks as a whole") as error:
        desk.crowd.reject(first, reason="A check question was missed.")
    assert error.value.permanent
    assert desk.status(first) == "submitted"


@pytest.mark.parametrize("before", ["begun", "done", "finished"])
def test_what_a_participant_returns_is_open_to_others(desk: Desk, before: str) -> None:
    (hit,) = desk.publish(max_assignments=1)
    visit = desk.come("ada")
    if before != "begun":
        desk.work(visit)
    if before == "finished":
        visits.finish(visit, now=desk.now())
    desk.people["ada"].give_up(visit.session_id)
    desk.tend()
    seen = desk.crowd.hit(hit)
    assert seen is not None
    assert (seen.available, seen.submitted) == (1, 0)
    assert desk.do("bob")


def test_what_is_returned_after_its_completion_is_rejected_work(desk: Desk) -> None:
    """The vote was seen already, and is bought again: it is not paid."""
    desk.publish()
    (done,) = desk.do("ada")
    desk.tend()
    desk.people["ada"].give_up(Visit.objects.get().session_id)
    desk.tend()
    assert desk.status(done) == "rejected"
    assert desk.paid("ada") == 0


def test_who_runs_out_of_time_there_frees_the_task_here(desk: Desk) -> None:
    (hit,) = desk.publish(max_assignments=1)
    visit = desk.come("ada")
    desk.work(visit)
    desk.prolific.clock.forward(DAY)
    desk.tend()
    assert Visit.objects.get().outcome == "returned"
    assert submitted(desk, hit) == []


def test_what_was_approved_at_prolific_is_approved_here(desk: Desk) -> None:
    """By hand, or after 21 days."""
    (hit,) = desk.publish()
    (done,) = desk.do("ada")
    desk.prolific.clock.forward(22 * DAY)
    desk.tend()
    assert [one.status for one in desk.crowd.submissions(hit)] == ["approved"]
    assert desk.paid("ada") == 100
    with pytest.raises(CrowdError, match="approved"):
        desk.crowd.reject(done, reason="Too late.")


def test_a_submission_without_a_finished_visit_is_counted_for_the_manager(desk: Desk) -> None:
    desk.publish()
    visit = desk.come("ada")
    desk.people["ada"].complete(visit.session_id, "GUESSED")
    desk.tend()
    assert Study.objects.get().strays == 1
    assert Visit.objects.get().outcome == ""


def test_a_session_that_belongs_to_somebody_else_is_never_confirmed(desk: Desk) -> None:
    (hit,) = desk.publish()
    bob = desk.people["bob"] = desk.prolific.person()
    address = bob.open(bob.take(desk.study_id)).replace(bob.id, "e" * 24)
    visit = desk.arrive(address)
    desk.work(visit)
    desk.leave("bob", visit)
    desk.tend()
    assert submitted(desk, hit) == []
    assert Study.objects.get().strays == 1


def test_a_second_study_waits_until_the_first_is_finished(desk: Desk) -> None:
    desk.publish(hits=2)
    desk.come("ada")
    again = visits.Person(desk.people["ada"].id, "a" * 24)
    with pytest.raises(UserError, match="still open"):
        visits.arrive(desk.link, again, now=desk.now())


def test_the_excluded_are_kept_away_at_prolific_too(desk: Desk) -> None:
    exclusion = desk.crowd.create_qualification("out", "Excluded.")
    desk.publish(hits=3, spec=replace(SPEC_THERE, exclusion_id=exclusion))
    desk.do("eve")
    worker = desk.member("eve").worker_id
    desk.crowd.exclude(worker, exclusion_id=exclusion)
    desk.tend()
    group = Study.objects.get().group_id
    assert desk.prolific.client.groups.members(group) == [desk.people["eve"].id]
    desk.crowd.restore(worker, exclusion_id=exclusion)
    desk.tend()
    assert desk.prolific.client.groups.members(group) == []


def test_a_closed_link_ends_its_study(desk: Desk) -> None:
    desk.publish()
    visits.close_link(desk.link, now=desk.now())
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "COMPLETED"


def test_a_study_whose_answer_got_lost_is_found_and_not_made_twice(desk: Desk) -> None:
    desk.publish()
    Study.objects.update(study_id="", group_id="")
    desk.tend()
    assert desk.prolific.rows("SELECT COUNT(*) FROM studies") == [(1,)]
    assert desk.prolific.rows("SELECT COUNT(*) FROM participant_groups") == [(1,)]


def test_a_bonus_is_paid_once_however_often_it_is_asked_for(desk: Desk) -> None:
    desk.publish()
    (done,) = desk.do("ada")
    desk.tend()
    desk.crowd.approve(done)
    desk.tend()
    worker = desk.member("ada").worker_id
    for _ in range(3):
        desk.crowd.bonus(worker, done, **BONUS)
        desk.prolific.clock.forward(120)
    desk.tend()
    assert desk.paid("ada") == 125
    assert desk.crowd.bonus_paid(done, cents=25, reason="Thank you.")


@pytest.mark.parametrize("made", [True, False])
def test_a_bonus_whose_answer_got_lost_is_looked_for_before_it_is_paid_again(
    desk: Desk, made: bool
) -> None:
    desk.publish()
    (done,) = desk.do("ada")
    desk.tend()
    desk.crowd.approve(done)
    desk.tend()
    worker, visit = desk.member("ada").worker_id, Visit.objects.get()
    bulk = desk.prolific.client.bonuses.set_up(desk.study_id, [(visit.session_id, 25)])
    if made:
        desk.prolific.client.bonuses.pay(bulk.bulk_id)
    BonusPayment.objects.create(
        token="one bonus", visit=visit, cents=25, bulk_id=bulk.bulk_id, sent_at=desk.now()
    )
    with pytest.raises(CrowdError, match="got lost") as error:
        desk.crowd.bonus(worker, done, **BONUS)
    assert not error.value.permanent
    desk.prolific.clock.forward(DAY + 1)
    desk.crowd.bonus(worker, done, **BONUS)
    desk.prolific.clock.forward(120)
    desk.tend()
    assert desk.paid("ada") == 125


def test_of_two_processes_that_pay_a_bonus_one_does(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.publish()
    (done,) = desk.do("ada")
    desk.tend()
    desk.crowd.approve(done)
    desk.tend()
    worker, other = desk.member("ada").worker_id, desk.crowd
    set_up = desk.prolific.client.bonuses.set_up

    def while_the_other_pays(*arguments: object) -> object:
        monkeypatch.undo()
        made = set_up(*arguments)  # type: ignore[arg-type]
        other.bonus(worker, done, **BONUS)
        return made

    monkeypatch.setattr(desk.prolific.client.bonuses, "set_up", while_the_other_pays)
    with pytest.raises(CrowdError, match="Another process"):
        desk.crowd.bonus(worker, done, **BONUS)
    desk.prolific.clock.forward(120)
    desk.tend()
    assert desk.paid("ada") == 125


def test_two_equal_bonuses_of_one_visit_are_two(desk: Desk) -> None:
    desk.publish()
    (done,) = desk.do("ada")
    desk.tend()
    desk.crowd.approve(done)
    desk.tend()
    worker = desk.member("ada").worker_id
    for token in ("one", "two"):
        desk.crowd.bonus(worker, done, **{**BONUS, "token": token})
        desk.prolific.clock.forward(120)
    desk.tend()
    assert desk.paid("ada") == 150


def test_a_message_reaches_the_participant_once(desk: Desk) -> None:
    desk.publish()
    desk.do("ada")
    for _ in range(2):
        desk.crowd.notify(
            desk.member("ada").worker_id, subject="Thanks", text="Well done.", token="one"
        )
    texts = [one["body"] for one in desk.people["ada"].get("messages")]
    assert texts == ["Thanks\n\nWell done."]


@pytest.mark.parametrize("undo", [True, False])
def test_a_rejection_is_overturned_where_prolific_lets_us(start: Start, undo: bool) -> None:
    desk = Desk(start(undo=undo))
    desk.publish()
    (done,) = desk.do("eve")
    desk.tend()
    desk.crowd.reject(done, reason="A check question was missed.")
    desk.tend()
    if not undo:
        with pytest.raises(CrowdError):
            desk.crowd.overturn(done)
        assert desk.status(done) == "rejected"
        return
    desk.crowd.overturn(done)
    assert (desk.status(done), desk.paid("eve")) == ("approved", 100)


def test_the_balance_is_the_workspace_s(desk: Desk) -> None:
    assert desk.crowd.balance_cents() == 100_000


def test_the_team_and_other_panels_never_meet_prolific_s_tasks(desk: Desk) -> None:
    desk.publish()
    assert not PanelLink.objects.exclude(panel="prolific").exists()
    desk.do("ada")
    assert desk.member("ada").crowd == "prolific"
    assert Assignment.objects.get().posted_hit.queue.crowd == "prolific"
