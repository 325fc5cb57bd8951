"""What becomes of a HIT in a member's hands."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.assignments import MOST_ANSWER_BYTES, MOST_LEASES, Refused
from annotation.crowd.inhouse.members import deactivate
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.protocol.screening.control import RejectionReason
from tests.annotation.crowd.inhouse.team import LEASE, YES, Team

pytestmark = pytest.mark.concurrent

MOMENT = timedelta(seconds=1)


def test_work_in_hand_is_shown_until_it_is_submitted(team: Team, ada: Member) -> None:
    team.publish()
    work = team.get(ada)
    assert assignments.revive(ada, work.assignment_id, now=team.now) == work
    assert assignments.in_hand(ada, now=team.now) == [work]
    team.submit(ada, work)
    assert assignments.in_hand(ada, now=team.now) == []
    with pytest.raises(Refused, match="submitted this task already") as refusal:
        assignments.revive(ada, work.assignment_id, now=team.now)
    assert refusal.value.status == 409


def test_a_second_submit_is_success_and_changes_nothing(team: Team, ada: Member) -> None:
    team.publish()
    work = team.do(ada)
    submitted_at = team.now
    team.move_on(LEASE)
    assignments.submit(ada, work.assignment_id, {"item-1": "0"}, now=team.now)
    again = Assignment.objects.get(pk=work.pk)
    assert (again.answers, again.submitted_at) == (YES, submitted_at)


def test_a_second_submit_is_success_after_the_review_too(team: Team, ada: Member) -> None:
    team.publish()
    work = team.do(ada)
    team.crowd.approve(work.assignment_id)
    assert team.submit(ada, work).status == Assignment.Status.APPROVED


def test_work_given_back_cannot_be_submitted(team: Team, ada: Member) -> None:
    team.publish()
    work = team.get(ada)
    for _ in range(2):  # a second click changes nothing
        team.give_back(ada, work)
    for attempt in (lambda: team.submit(ada, work), lambda: renewed(team, ada, work)):
        with pytest.raises(Refused, match="returned this task") as refusal:
            attempt()
        assert refusal.value.status == 409
    assert team.posted_hit(work.posted_hit.hit_id).open_assignments == 2


def test_work_submitted_cannot_be_given_back(team: Team, ada: Member) -> None:
    hit_id = team.publish()
    work = team.do(ada)
    with pytest.raises(Refused, match="submitted this task already") as refusal:
        team.give_back(ada, work)
    assert refusal.value.status == 409
    assert team.posted_hit(hit_id).open_assignments == 1


def test_nobody_reaches_the_work_of_another(team: Team, ada: Member, eve: Member) -> None:
    team.publish()
    work = team.get(ada)
    attempts = (
        lambda: assignments.revive(eve, work.assignment_id, now=team.now),
        lambda: team.submit(eve, work),
        lambda: team.give_back(eve, work),
        lambda: renewed(team, eve, work),
    )
    for attempt in attempts:
        with pytest.raises(Refused, match="no such task") as refusal:
            attempt()
        assert refusal.value.status == 404
    assert team.get(ada) == work


def test_a_place_whose_time_ran_out_goes_to_another(team: Team, ada: Member, bob: Member) -> None:
    hit_id = team.publish(max_assignments=1)
    work = team.get(ada)
    team.move_on(LEASE - MOMENT)
    assert team.take(bob) is None
    team.move_on(MOMENT)
    assert team.taken(bob) == hit_id
    for attempt in (lambda: team.submit(ada, work), lambda: renewed(team, ada, work)):
        with pytest.raises(Refused, match="has run out") as refusal:
            attempt()
        assert refusal.value.status == 409


@pytest.mark.parametrize("operation", [assignments.revive, assignments.renew])
@pytest.mark.parametrize("noticed", [False, True])
def test_work_whose_time_ran_out_comes_back_while_its_place_is_free(
    team: Team, ada: Member, bob: Member, noticed: bool, operation: Callable[..., object]
) -> None:
    hit_id = team.publish(max_assignments=1)
    work = team.get(ada)
    team.move_on(2 * LEASE)
    if noticed:
        assert [hit.available for hit in team.crowd.hits()] == [1]
    for _ in range(2):  # a reload changes nothing
        operation(ada, work.assignment_id, now=team.now)
        again = Assignment.objects.get()
        assert (again.status, again.deadline) == (
            Assignment.Status.ACCEPTED,
            team.now + LEASE,
        )
        assert team.posted_hit(hit_id).open_assignments == 0
    assert assignments.in_hand(ada, now=team.now) == [work]
    assert team.take(bob) is None


def test_work_comes_back_for_no_longer_than_anybody_keeps_a_hit(team: Team, ada: Member) -> None:
    team.publish()
    work = team.get(ada)
    team.move_on(MOST_LEASES * LEASE - MOMENT)
    assert renewed(team, ada, work) == MOMENT
    team.move_on(MOMENT)
    with pytest.raises(Refused, match="has run out: take another") as refusal:
        assignments.revive(ada, work.assignment_id, now=team.now)
    assert refusal.value.status == 409
    assert Assignment.objects.get().status == Assignment.Status.LAPSED


def test_late_work_does_not_come_back_beside_another_in_hand(team: Team, ada: Member) -> None:
    hits = [team.publish(max_assignments=1) for _ in range(2)]
    late = team.get(ada)
    team.move_on(LEASE)
    team.crowd.hits()
    other = team.get(ada)
    assert other.posted_hit != late.posted_hit
    with pytest.raises(Refused, match="have taken another one since") as refusal:
        assignments.revive(ada, late.assignment_id, now=team.now)
    assert refusal.value.status == 409
    assert sorted(team.posted_hit(hit_id).open_assignments for hit_id in hits) == [0, 1]
    team.move_on(LEASE)  # the other one is not in her hands any more
    assert assignments.revive(ada, late.assignment_id, now=team.now) == late
    assert assignments.in_hand(ada, now=team.now) == [late]


def test_late_work_does_not_come_back_when_the_hit_has_ended(team: Team, ada: Member) -> None:
    team.publish(lifetime=LEASE)
    work = team.get(ada)
    team.move_on(LEASE)
    with pytest.raises(Refused, match="no longer available"):
        assignments.revive(ada, work.assignment_id, now=team.now)
    assert assignments.in_hand(ada, now=team.now) == []


def test_late_work_of_somebody_excluded_since_does_not_come_back(team: Team, eve: Member) -> None:
    exclusion = team.qualification("excluded")
    hit_id = team.publish_for(exclusion_id=exclusion)
    work = team.get(eve)
    team.move_on(LEASE)
    team.crowd.exclude(eve.worker_id, exclusion_id=exclusion)
    with pytest.raises(Refused, match="no longer available"):
        assignments.revive(eve, work.assignment_id, now=team.now)
    assert team.posted_hit(hit_id).open_assignments == 2


@pytest.mark.parametrize("noticed", [False, True])
def test_late_work_is_taken_while_its_place_is_free(
    team: Team, ada: Member, bob: Member, noticed: bool
) -> None:
    hit_id = team.publish(max_assignments=1)
    work = team.get(ada)
    team.move_on(2 * LEASE)
    if noticed:
        assert [hit.available for hit in team.crowd.hits()] == [1]
    assert team.submit(ada, work).status == Assignment.Status.SUBMITTED
    assert team.posted_hit(hit_id).open_assignments == 0
    assert team.take(bob) is None


def test_late_work_is_refused_when_the_hit_has_ended(team: Team, ada: Member) -> None:
    """Its money may be free again already: nobody counts on this work any more."""
    hit_id = team.publish(lifetime=LEASE)
    work = team.get(ada)
    team.move_on(LEASE)
    hit = team.crowd.hit(hit_id)
    assert hit is not None
    assert (hit.available, hit.pending) == (0, 0)
    with pytest.raises(Refused, match="no longer available"):
        team.submit(ada, work)


def test_late_work_of_somebody_excluded_since_is_refused(team: Team, eve: Member) -> None:
    exclusion = team.qualification("excluded")
    hit_id = team.publish_for(exclusion_id=exclusion)
    work = team.get(eve)
    team.move_on(LEASE)
    assert team.crowd.hit(hit_id) is not None  # the lease has lapsed
    team.crowd.exclude(eve.worker_id, exclusion_id=exclusion)
    with pytest.raises(Refused, match="no longer available"):
        team.submit(eve, work)
    assert team.posted_hit(hit_id).open_assignments == 2


def test_late_work_on_a_hit_taken_once_more_is_to_be_submitted_there(
    team: Team, ada: Member
) -> None:
    hit_id = team.publish(max_assignments=2)
    late = team.get(ada)
    team.move_on(LEASE)
    assert team.taken(ada) == hit_id
    with pytest.raises(Refused, match="taken this task again") as refusal:
        team.submit(ada, late)
    assert refusal.value.status == 409
    assert team.posted_hit(hit_id).open_assignments == 1


def test_an_ended_hit_takes_the_work_begun_before(team: Team, ada: Member) -> None:
    hit_id = team.publish()
    work = team.get(ada)
    team.crowd.set_expiration(hit_id, team.now)
    assert team.submit(ada, work).status == Assignment.Status.SUBMITTED


def renewed(team: Team, member: Member, work: Assignment) -> timedelta:
    return assignments.renew(member, work.assignment_id, now=team.now) - team.now


def test_who_asks_for_time_gets_a_whole_lease_from_now(team: Team, ada: Member) -> None:
    team.publish()
    work = team.get(ada)
    team.move_on(LEASE / 2)
    assert renewed(team, ada, work) == LEASE
    team.move_on(LEASE - MOMENT)
    assert team.get(ada) == work


def test_nobody_keeps_a_hit_for_ever(team: Team, ada: Member, bob: Member) -> None:
    hit_id = team.publish(max_assignments=1)
    work = team.get(ada)
    begun = team.now
    for _ in range(MOST_LEASES * 2 - 1):
        team.move_on(LEASE / 2)
        left = renewed(team, ada, work)
    assert team.now + left == begun + MOST_LEASES * LEASE
    team.move_on(left)
    assert team.taken(bob) == hit_id


def test_what_the_leaver_had_in_hand_goes_to_others(team: Team, eve: Member, ada: Member) -> None:
    hit_id = team.publish(max_assignments=1)
    work = team.get(eve)
    deactivate(eve)
    assert team.taken(ada) == hit_id
    with pytest.raises(Refused, match="returned this task"):
        team.submit(eve, work)


def test_answers_are_kept_exactly_as_they_were_sent(team: Team, eve: Member) -> None:
    hit_id = team.publish()
    sent = {"item-\x00": "\x00\x08\ufffe\ud800 🐘 e\u0301", "item-2": ""}
    work = team.get(eve)
    assignments.submit(eve, work.assignment_id, sent, now=team.now)
    assert Assignment.objects.get(pk=work.pk).answers == sent
    (submission,) = team.crowd.submissions(hit_id)
    assert submission.answers == {"item-\ufffd": "\ufffd\x08\ufffe\ufffd 🐘 e\u0301", "item-2": ""}


def test_answers_beyond_all_measure_are_refused(team: Team, eve: Member) -> None:
    team.publish()
    work = team.get(eve)
    with pytest.raises(Refused, match="larger than 262,144 bytes") as refusal:
        assignments.submit(
            eve, work.assignment_id, {"item-1": "1" * MOST_ANSWER_BYTES}, now=team.now
        )
    assert refusal.value.status == 422
    assert team.get(eve) == work


def test_a_tally_holds_counts_and_cents(team: Team, ada: Member) -> None:
    for _ in range(6):
        team.publish()
    works = [team.do(ada).assignment_id for _ in range(5)]
    for assignment_id in works[:2]:
        team.crowd.approve(assignment_id)
    team.crowd.reject(works[2], reason="Two of seven were wrong.", why=RejectionReason.MISSED)
    for token in ("first", "first", "second"):
        team.crowd.bonus(ada.worker_id, works[0], cents=10, reason="Thank you.", token=token)
    team.take(ada)
    assert assignments.tally(ada) == assignments.Tally(
        submitted=2,
        approved=2,
        rejected=1,
        earned_cents=30,
        bonus_cents=20,
        pending_cents=30,
    )


def test_who_has_done_nothing_has_a_tally_of_zeros(ada: Member) -> None:
    assert assignments.tally(ada) == assignments.Tally(0, 0, 0, 0, 0, 0)
