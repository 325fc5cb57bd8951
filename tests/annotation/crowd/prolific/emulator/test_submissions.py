"""A submission's way, by people, by time and by the researcher."""

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import Action, CompletionCode
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.world import DAY, DONE, LONG, MINUTE, Prolific


def test_a_place_is_taken_opened_and_completed(prolific: Prolific) -> None:
    study_id, ada = prolific.study(), prolific.person()
    submission_id = ada.take(study_id)
    assert prolific.submission(submission_id) == "RESERVED"
    url = ada.open(submission_id)
    assert url == f"https://quorum.example/hit?pid={ada.id}&st={study_id}&se={submission_id}"
    assert prolific.submission(submission_id) == "ACTIVE"
    assert ada.complete(submission_id) == "AWAITING REVIEW"
    read = prolific.client.submissions.get(submission_id)
    assert (read.participant_id, read.study_id, read.code) == (ada.id, study_id, "DONE")
    (listed,) = prolific.client.submissions.of_study(study_id)
    assert (listed.submission_id, listed.participant_id, listed.code) == (
        submission_id, ada.id, "DONE",
    )  # fmt: skip
    assert listed.study_id is None


def test_a_reserved_place_is_lost_after_ten_minutes(prolific: Prolific) -> None:
    study_id, ada, bob = prolific.study(total_available_places=1), *people(prolific, 2)
    submission_id = ada.take(study_id)
    assert bob.post(f"studies/{study_id}/take").status_code == 409
    prolific.clock.forward(10 * MINUTE)
    assert prolific.submission(submission_id) == "TIMED-OUT"
    assert bob.offers() == [study_id]


def people(prolific: Prolific, number: int) -> list:
    return [prolific.person() for _ in range(number)]


@pytest.mark.parametrize("late", [False, True])
def test_work_times_out_and_can_come_late_by_one_reading(start: Start, late: bool) -> None:
    prolific = start(late_completion=late)
    study_id, ada = prolific.study(total_available_places=1), prolific.person()
    submission_id = ada.start(study_id)
    prolific.clock.forward(25 * MINUTE - 1)
    assert prolific.submission(submission_id) == "ACTIVE"
    prolific.clock.forward(1)
    assert prolific.submission(submission_id) == "TIMED-OUT"
    answer = ada.post(f"submissions/{submission_id}/complete", code="DONE")
    assert answer.status_code == (200 if late else 409)


def test_who_comes_late_finds_the_place_gone(start: Start) -> None:
    prolific = start(late_completion=True)
    study_id, ada, bob = prolific.study(total_available_places=1), *people(prolific, 2)
    submission_id = ada.start(study_id)
    prolific.clock.forward(25 * MINUTE)
    bob.take(study_id)
    assert ada.post(f"submissions/{submission_id}/complete", code="DONE").status_code == 409


def test_a_place_that_is_returned_is_free_again_even_after_completion(prolific: Prolific) -> None:
    study_id, ada, bob = prolific.study(total_available_places=1), *people(prolific, 2)
    submission_id = ada.do(study_id)
    assert ada.give_up(submission_id).status_code == 200
    assert prolific.submission(submission_id) == "RETURNED"
    assert ada.give_up(submission_id).status_code == 409
    assert bob.give_up(submission_id).status_code == 403


def test_prolific_approves_by_itself_after_21_days(prolific: Prolific) -> None:
    submission_id = prolific.person().do(prolific.study())
    prolific.clock.forward(21 * DAY - 1)
    assert prolific.submission(submission_id) == "AWAITING REVIEW"
    prolific.clock.forward(1)
    assert prolific.submission(submission_id) == "APPROVED"
    assert prolific.wallet()[2] == 13_334


def test_approving_twice_pays_once(prolific: Prolific) -> None:
    submission_id = prolific.person().do(prolific.study())
    for _ in range(2):
        assert prolific.client.submissions.approve(submission_id).status == "APPROVED"
    assert prolific.rows("SELECT kind, cents FROM payments") == [("reward", 100)]


def test_a_rejection_needs_its_words_and_frees_the_place(prolific: Prolific) -> None:
    study_id = prolific.study(total_available_places=2)
    submission_id = prolific.person().do(study_id)
    short = prolific.transition(
        "submissions", submission_id, action="REJECT", message="no", rejection_category="OTHER"
    )
    assert "at least 100" in str(short.json()["error"]["detail"]["message"])
    vague = prolific.transition("submissions", submission_id, action="REJECT", message=LONG)
    assert "required" in str(vague.json()["error"]["detail"]["rejection_category"])
    for _ in range(2):
        done = prolific.client.submissions.reject(submission_id, category="OTHER", message=LONG)
        assert done.status == "REJECTED"
    assert prolific.wallet()[2] == 0
    for _ in range(2):
        prolific.person().take(study_id)


def test_what_is_decided_stays_decided(prolific: Prolific) -> None:
    study_id = prolific.study()
    good, bad = (prolific.person().do(study_id) for _ in range(2))
    prolific.client.submissions.approve(good)
    prolific.client.submissions.reject(bad, category="OTHER", message=LONG)
    with pytest.raises(CrowdError, match="REJECT is not possible") as refused:
        prolific.client.submissions.reject(good, category="OTHER", message=LONG)
    assert refused.value.permanent
    with pytest.raises(CrowdError, match="APPROVE is not possible"):
        prolific.client.submissions.approve(bad)


def test_unfinished_work_cannot_be_approved(prolific: Prolific) -> None:
    study_id = prolific.study()
    reserved, active = prolific.person().take(study_id), prolific.person().start(study_id)
    for submission_id in (reserved, active):
        with pytest.raises(CrowdError, match="not possible"):
            prolific.client.submissions.approve(submission_id)


@pytest.mark.parametrize("allowed", [False, True])
def test_what_ended_is_approved_by_one_reading(start: Start, allowed: bool) -> None:
    prolific = start(approve_ended=allowed)
    study_id, ada, bob = prolific.study(total_available_places=1), *people(prolific, 2)
    submission_id = ada.start(study_id)
    ada.give_up(submission_id)
    answer = prolific.transition("submissions", submission_id, action="APPROVE")
    assert answer.status_code == (200 if allowed else 400)
    assert bool(bob.offers()) != allowed


@pytest.mark.parametrize("allowed", [False, True])
def test_a_rejection_is_undone_by_one_reading(start: Start, allowed: bool) -> None:
    prolific = start(undo=allowed)
    submission_id = prolific.person().do(prolific.study())
    prolific.client.submissions.reject(submission_id, category="OTHER", message=LONG)
    if not allowed:
        with pytest.raises(CrowdError, match="UNREJECT is not possible"):
            prolific.client.submissions.unreject(submission_id)
        return
    assert prolific.client.submissions.unreject(submission_id).status == "AWAITING REVIEW"
    assert prolific.client.submissions.approve(submission_id).status == "APPROVED"
    assert prolific.wallet()[2] == 13_334


@pytest.mark.parametrize("allowed", [False, True])
def test_a_return_is_undone_by_the_same_reading(start: Start, allowed: bool) -> None:
    prolific = start(undo=allowed)
    person, study_id = prolific.person(), prolific.study()
    submission_id = person.do(study_id)
    person.give_up(submission_id)
    undone = prolific.transition("submissions", submission_id, action="UNRETURN")
    if not allowed:
        assert undone.status_code == 400
        return
    assert undone.json()["status"] == "AWAITING REVIEW"
    assert study_id not in person.offers()  # the place is taken again
    assert prolific.client.submissions.approve(submission_id).status == "APPROVED"
    assert prolific.wallet()[2] == 13_334


def test_nothing_is_undone_for_which_there_is_no_place(start: Start) -> None:
    prolific = start(undo=True)
    study_id, ada, bob, eve = prolific.study(), *people(prolific, 3)
    submission_id = ada.do(study_id)
    prolific.client.submissions.reject(submission_id, category="OTHER", message=LONG)
    bob.take(study_id)
    eve.take(study_id)
    with pytest.raises(CrowdError, match="taken again"):
        prolific.client.submissions.unreject(submission_id)


def test_actions_that_nobody_explains_are_refused(prolific: Prolific) -> None:
    submission_id = prolific.person().do(prolific.study())
    for action in ("RETURN", "START", "SCREEN_OUT", "UNRETURN"):
        answer = prolific.transition("submissions", submission_id, action=action)
        assert (answer.status_code, action == "UNRETURN") in ((400, False), (200, True))


def test_rejections_have_a_limit_by_one_reading(start: Start) -> None:
    prolific = start(rejection_limit=1)
    study_id = prolific.study()
    first, second = (prolific.person().do(study_id) for _ in range(2))
    prolific.client.submissions.reject(first, category="OTHER", message=LONG)
    with pytest.raises(CrowdError, match="limit of 1"):
        prolific.client.submissions.reject(second, category="OTHER", message=LONG)


def test_a_code_carries_out_its_actions(prolific: Prolific) -> None:
    group = prolific.client.groups.create(prolific.workspace, "Seen").group_id
    joins: Action = {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group}
    quick = CompletionCode("QUICK", "COMPLETED", [{"action": "AUTOMATICALLY_APPROVE"}, joins])
    returns: Action = {"action": "REQUEST_RETURN", "return_reason": "Please return it."}
    back = CompletionCode("BACK", "NO_CONSENT", [returns])
    study_id = prolific.study(completion_codes=[DONE, quick, back], total_available_places=3)
    ada, bob, eve = people(prolific, 3)
    assert prolific.submission(ada.do(study_id, "QUICK")) == "APPROVED"
    assert prolific.client.groups.members(group) == [ada.id]
    submission_id = bob.do(study_id, "BACK")
    assert prolific.client.submissions.get(submission_id).return_requested
    assert [it["body"] for it in bob.get("messages")] == ["Please return it."]
    odd = eve.do(study_id, "'; DROP TABLE studies; --")
    assert prolific.client.submissions.get(odd).code == "'; DROP TABLE studies; --"
    assert prolific.submission(odd) == "AWAITING REVIEW"


def test_a_researcher_pays_a_share_of_the_reward(prolific: Prolific) -> None:
    part = CompletionCode("PART", "OTHER", [{"action": "DYNAMIC_PAYMENT"}], actor="researcher")
    study_id = prolific.study(completion_codes=[DONE, part])
    submission_id = prolific.person().do(study_id)
    for wrong in (None, 7, 100):
        with pytest.raises(CrowdError, match="percentage_of_reward"):
            prolific.client.submissions.complete(submission_id, "PART", percentage=wrong)
    with pytest.raises(CrowdError, match="actor researcher"):
        prolific.client.submissions.complete(submission_id, "DONE", percentage=50)
    for _ in range(2):
        done = prolific.client.submissions.complete(submission_id, "PART", percentage=50)
        assert done.status == "PARTIALLY APPROVED"
    assert prolific.rows("SELECT kind, cents FROM payments") == [("partial", 50)]


def test_a_bulk_approval_comes_later_and_passes_over_what_was_decided(prolific: Prolific) -> None:
    study_id = prolific.study()
    first, second = (prolific.person().do(study_id) for _ in range(2))
    prolific.client.submissions.approve_in_bulk([first, second, first])
    assert prolific.submission(first) == "AWAITING REVIEW"
    prolific.client.submissions.reject(second, category="OTHER", message=LONG)
    prolific.clock.forward(60)
    assert (prolific.submission(first), prolific.submission(second)) == ("APPROVED", "REJECTED")
    assert prolific.wallet()[2] == 13_334


def test_a_bulk_approval_can_name_participants(prolific: Prolific) -> None:
    study_id, ada = prolific.study(), prolific.person()
    submission_id = ada.do(study_id)
    body = {"study_id": study_id, "participant_ids": [ada.id]}
    answer = prolific.http.post("/submissions/bulk-approve/", json=body)
    assert answer.json() == "The request to bulk approve has been made successfully."
    prolific.clock.forward(60)
    assert prolific.submission(submission_id) == "APPROVED"


def test_a_requested_return_is_a_message_and_no_status(prolific: Prolific) -> None:
    ada = prolific.person()
    submission_id = ada.do(prolific.study())
    prolific.client.submissions.request_return(submission_id, "No consent was given.")
    read = prolific.client.submissions.get(submission_id)
    assert (read.status, read.return_requested) == ("AWAITING REVIEW", True)
    assert [it["body"] for it in ada.get("messages")] == ["No consent was given."]


def test_counts_and_filters_of_submissions(prolific: Prolific) -> None:
    study_id = prolific.study(total_available_places=3)
    submission_id = prolific.person().do(study_id)
    prolific.person().take(study_id)
    counts = prolific.http.get(f"/studies/{study_id}/submissions/counts/").json()
    assert (counts["AWAITING REVIEW"], counts["RESERVED"], counts["TOTAL"]) == (1, 1, 2)
    for status in ("AWAITING REVIEW", "awaiting_review"):
        query = {"study": study_id, "status": status}
        answer = prolific.http.get("/submissions/", params=query).json()
        assert [it["id"] for it in answer["results"]] == [submission_id]
    assert prolific.http.get("/submissions/").status_code == 400
