"""A visit at our desk is a submission at Prolific: confirmed, paid, or returned as a whole."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pytest_django import Settings

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.assignments import take
from annotation.crowd.inhouse.models import Assignment, PanelLink, PostedHit, Visit
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.adapter import ProlificCrowd, prolific_site
from annotation.crowd.prolific.api.studies import CompletionCode, Transition
from annotation.crowd.prolific.api.submissions import LEAST_MESSAGE
from annotation.crowd.prolific.models import BonusPayment, Study
from annotation.crowd.prolific.studies import Tender
from annotation.monitoring.doctor import examine
from annotation.protocol.screening.control import RejectionReason
from core.errors import UserError
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.desk import SPEC_THERE, Desk, shut
from tests.annotation.crowd.prolific.world import DAY, Prolific

pytestmark = pytest.mark.django_db
BONUS = {"cents": 25, "reason": "Thank you.", "token": "one bonus"}
REJECTION = "SELECT status, rejection_category, rejection_message FROM submissions"


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


def test_who_has_reserved_a_place_and_not_come_yet_is_counted_as_coming(desk: Desk) -> None:
    desk.publish(hits=5, max_assignments=1)
    for _ in range(3):
        desk.prolific.person().take(desk.study_id)
    desk.tend()
    assert desk.places() == 5


def test_a_second_link_gets_only_the_places_that_the_first_one_lacks(desk: Desk) -> None:
    desk.publish(hits=1, max_assignments=12)
    desk.open(PostedHit.objects.get().hit_type.type_id)
    desk.tend()
    assert list(Study.objects.order_by("pk").values_list("study_id", flat=True))[1:] == [""]
    shut(PanelLink.objects.earliest("pk"), now=desk.now())
    desk.tend()
    later = Study.objects.latest("pk").study_id
    assert desk.prolific.client.studies.get(later).total_available_places == 12


def test_while_a_study_is_being_published_no_other_link_gets_its_places(start: Start) -> None:
    desk = Desk(start(publishing_seconds=60))
    desk.publish(hits=1, max_assignments=12)
    desk.open(PostedHit.objects.get().hit_type.type_id)
    desk.tend()
    first, second = Study.objects.order_by("pk")
    assert desk.prolific.status(first.study_id) == "PUBLISHING"
    assert (first.coming, second.study_id) == (12, "")


def test_a_study_rests_while_there_are_no_tasks_and_goes_on_when_there_are(desk: Desk) -> None:
    (hit,) = desk.publish(max_assignments=2)
    desk.crowd.set_expiration(hit, desk.now())
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "PAUSED"
    assert Study.objects.get().at_rest
    desk.crowd.set_expiration(hit, desk.now() + timedelta(days=1))
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "ACTIVE"
    assert desk.places() == 2
    assert desk.do("ada")


@pytest.mark.parametrize(("action", "status"), [("PAUSE", "PAUSED"), ("STOP", "COMPLETED")])
def test_a_study_that_somebody_ended_at_prolific_stays_so(
    desk: Desk, action: Transition, status: str
) -> None:
    desk.publish(max_assignments=3)
    desk.prolific.client.studies.transition(desk.study_id, action)
    for _ in range(3):
        desk.tend()
    assert (desk.prolific.status(desk.study_id), desk.places()) == (status, 3)


def test_a_study_at_rest_costs_no_call(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.publish(max_assignments=1)
    (done,) = desk.do("ada")
    desk.tend()
    desk.crowd.approve(done)
    desk.tend()

    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(desk.prolific.client.studies._connection, "send", refuse)
    desk.crowd.tend(PostedHit.objects.get().hit_type.type_id)


def test_a_study_of_which_a_visit_was_paid_in_part_rests_once_its_bill_stays(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = CompletionCode("PART", "OTHER", [{"action": "DYNAMIC_PAYMENT"}], actor="researcher")
    codes = Tender._codes
    monkeypatch.setattr(Tender, "_codes", lambda tender, slots: [*codes(tender, slots), part])
    desk.publish(max_assignments=1)
    (done,) = desk.do("ada")
    submission_id = Visit.objects.get().session_id
    desk.prolific.client.submissions.complete(submission_id, "PART", percentage=50)
    hit_type = PostedHit.objects.get().hit_type.type_id
    desk.crowd.tend(hit_type)
    assert not Study.objects.get().at_rest
    desk.tend()
    assert (desk.status(done), desk.paid("ada")) == ("approved", 50)
    assert Study.objects.get().at_rest
    assert desk.crowd.billed_cents(hit_type) == 67  # with the emulator's fee, a third
    monkeypatch.setattr(desk.prolific.client.studies._connection, "send", None)
    desk.crowd.tend(hit_type)


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


def test_the_first_task_to_be_approved_pays_the_visit_for_prolific_pays_it_as_a_whole(
    desk: Desk,
) -> None:
    desk.tasks = 2
    desk.publish(hits=2)
    first, second = desk.do("ada")
    desk.tend()
    desk.crowd.approve(first)
    assert (desk.paid("ada"), desk.status(second)) == (200, "submitted")
    desk.crowd.approve(second)
    desk.tend()
    assert (desk.paid("ada"), desk.status(second)) == (200, "approved")
    assert Visit.objects.get().outcome == "approved"


@pytest.mark.parametrize(
    ("why", "category", "rule"),
    [
        (RejectionReason.MISSED, "FAILED_CHECK", "have a known answer"),
        (RejectionReason.UNANSWERED, "FAILED_INSTRUCTIONS", "answer to every question"),
    ],
)
def test_a_rejected_task_rejects_its_visit_with_a_message_that_is_long_enough(
    desk: Desk, why: RejectionReason, category: str, rule: str
) -> None:
    desk.publish()
    (done,) = desk.do("eve")
    desk.tend()
    sentence = why.sentence.format(count=1)
    desk.crowd.reject(done, reason=sentence, why=why)
    desk.tend()
    assert desk.paid("eve") == 0
    ((*said, message),) = desk.prolific.rows(REJECTION)
    assert said == ["REJECTED", category]
    assert message.startswith(f"{sentence} ")
    assert rule in message
    assert len(message) >= LEAST_MESSAGE


def test_a_person_s_reason_is_sent_as_it_was_written_and_must_be_long_enough(desk: Desk) -> None:
    desk.publish()
    (done,) = desk.do("eve")
    desk.tend()
    reason = "Forty answers came within nine seconds, all of them yes. " * 2
    with pytest.raises(CrowdError, match="at least 100 characters"):
        desk.crowd.reject(done, reason=reason[:99], why=RejectionReason.MANUAL)
    desk.crowd.reject(done, reason=reason, why=RejectionReason.MANUAL)
    assert desk.prolific.rows(REJECTION) == [("REJECTED", "OTHER", reason)]


def test_one_task_of_several_cannot_be_rejected(desk: Desk) -> None:
    desk.tasks = 2
    desk.publish(hits=2)
    first, _ = desk.do("eve")
    desk.tend()
    with pytest.raises(CrowdError, match="pays or rejects a visit of 2 tasks as a whole") as error:
        desk.crowd.reject(first, reason="A check question was missed.", why=RejectionReason.MISSED)
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
        desk.crowd.reject(done, reason="Too late.", why=RejectionReason.MISSED)


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


def test_a_visit_that_prolific_does_not_know_frees_its_task(desk: Desk) -> None:
    """Somebody changed the session in the address; whose it really is may come by it later."""
    (hit,) = desk.publish(max_assignments=1)
    bob = desk.people["bob"] = desk.prolific.person()
    address = bob.open(bob.take(desk.study_id))
    made_up = desk.arrive(address.replace(bob.id, "e" * 24))
    desk.work(made_up)
    desk.tend()
    seen = desk.crowd.hit(hit)
    assert seen is not None
    assert seen.available == 0
    desk.prolific.clock.forward(10 * 60)
    desk.tend()
    visit = desk.arrive(address)
    desk.work(visit)
    desk.leave("bob", visit)
    desk.tend()
    assert len(submitted(desk, hit)) == 1
    assert take(made_up.member, now=desk.now()) is None


def test_the_session_of_somebody_who_is_here_already_lets_nobody_in(desk: Desk) -> None:
    desk.publish()
    visit = desk.come("ada")
    with pytest.raises(UserError, match="Somebody else has come by this link"):
        visits.arrive(desk.link, visits.Person("e" * 24, visit.session_id), now=desk.now())


def test_a_session_longer_than_its_column_is_no_proper_one(desk: Desk) -> None:
    desk.publish()
    given = {"PROLIFIC_PID": "e" * 24, "SESSION_ID": "s" * 65}
    with pytest.raises(UserError, match="no proper SESSION_ID"):
        visits.person_in(desk.link, given)


def test_an_id_is_deleted_once_its_study_is_decided(desk: Desk) -> None:
    desk.publish()
    (done,) = desk.do("ada")
    member = desk.member("ada")
    with pytest.raises(UserError, match="not paid or ended yet"):
        visits.forget(member)
    desk.tend()
    desk.crowd.approve(done)
    visits.forget(member)
    desk.tend()
    visit = Visit.objects.get()
    assert (visit.outcome, visit.session_id) == ("approved", f"forgotten {visit.pk}")
    assert desk.paid("ada") == 100


def test_of_two_first_passes_one_makes_the_study(desk: Desk) -> None:
    desk.publish()
    Study.objects.update(study_id="", making_since=desk.now())
    with pytest.raises(CrowdError, match="Another process") as error:
        desk.tend()
    assert not error.value.permanent
    desk.prolific.clock.forward(6 * 60)
    desk.tend()
    assert desk.prolific.rows("SELECT COUNT(*) FROM studies") == [(1,)]


def test_work_that_was_returned_at_prolific_is_not_approved(desk: Desk) -> None:
    desk.publish()
    (done,) = desk.do("ada")
    desk.tend()
    desk.people["ada"].give_up(Visit.objects.get().session_id)
    with pytest.raises(CrowdError) as error:
        desk.crowd.approve(done)
    assert error.value.permanent
    desk.tend()
    assert desk.status(done) == "rejected"


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
    shut(desk.link, now=desk.now())
    desk.tend()
    assert desk.prolific.status(desk.study_id) == "COMPLETED"


def test_a_study_whose_answer_got_lost_is_found_and_not_made_twice(desk: Desk) -> None:
    desk.publish()
    Study.objects.update(study_id="", group_id="", making_since=None)
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
    desk.crowd.reject(done, reason="A check question was missed.", why=RejectionReason.MISSED)
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


def test_the_doctor_asks_prolific_for_its_balance_and_wants_no_team(desk: Desk) -> None:
    found = {one.name: one for one in examine(desk.crowd, public_url="https://quorum.example.org")}
    assert found["balance"].message == "$1,000.00 available"
    assert "people" not in found


def test_a_workspace_in_pounds_is_refused_where_the_site_counts_in_dollars(
    start: Start, settings: Settings
) -> None:
    """A reward of so many cents would be paid in pence."""
    prolific = start()
    pounds = {"title": "Labels", "currency_code": "GBP"}
    workspace = prolific.http.post("/workspaces/", json=pounds).json()["id"]
    project = prolific.client.workspaces.create_project(workspace, "Labels")
    site = prolific_site(prolific.url)
    crowd = ProlificCrowd(site, prolific.client, project_id=project.project_id)
    with pytest.raises(CrowdError, match=f"The workspace {workspace} at Prolific pays in GBP"):
        crowd.balance_cents()
    desk = Desk(prolific, project_id=project.project_id)
    with pytest.raises(CrowdError, match="to a project of a workspace in USD"):
        desk.publish()
    assert list(prolific.client.studies.list()) == []
    settings.CURRENCY = "GBP"
    assert Desk(prolific, project_id=project.project_id).crowd.balance_cents() == 0


def test_the_team_and_other_panels_never_meet_prolific_s_tasks(desk: Desk) -> None:
    desk.publish()
    assert not PanelLink.objects.exclude(panel="prolific").exists()
    desk.do("ada")
    assert desk.member("ada").crowd == "prolific"
    assert Assignment.objects.get().posted_hit.queue.crowd == "prolific"
