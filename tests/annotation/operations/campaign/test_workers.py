"""Acts on workers and on their assignments: what is said first, what is done, what is logged."""

from pathlib import Path

import pytest

from annotation.access.audit_log import by_command
from annotation.models import Assignment, AuditEntry
from annotation.operations.operation import perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from core.errors import UserError
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.conftest import SetStage
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


def reviewed(stage: Stage) -> None:
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    review(stage.campaign)


def log() -> tuple[str, str, dict[str, object]]:
    action = AuditEntry.objects.get()
    return action.verb, action.subject, action.details


def test_before_excluding_the_labels_the_votes_and_the_price_are_told(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.work("bob", 1)
    one_hit.advance()
    report = OPERATIONS["exclude"].preview(
        one_hit.campaign, {"worker": "ABOB", "reason": "Enough."}
    )
    assert list(report) == [
        "ABOB takes no further part in faq: 5 votes no longer count, and $0.19 that was paid for "
        "them is lost.",
        "5 labels change, 5 of them are open again: the next pass buys the missing votes as far "
        "as the budget reaches.",
        "5 votes are missing then: at most 1 more assignments, for $0.19.",
    ]
    assert not one_hit.campaign.exclusions.exists()


def test_work_that_failed_is_paid_and_it_is_said_what_that_means(one_hit: Stage) -> None:
    assignment = one_hit.work("eve", 1, slips=1)
    reviewed(one_hit)
    options = {"assignment": assignment}
    report = OPERATIONS["approve"].preview(one_hit.campaign, options)
    assert list(report) == [
        f"Assignment {assignment} of AEVE is approved in place of its rejection, which has not "
        "reached the crowd; it costs $0.19. An approval is final.",
        "It still counts as failed: its votes do not count, and the rule that excludes workers "
        "includes it.",
    ]
    perform(OPERATIONS["approve"], one_hit.campaign, options, by=by_command())
    verb, subject, details = log()
    assert (verb, subject, details["decision"]) == ("approve", assignment, "approve")
    one_hit.deliver()
    assert Assignment.objects.get().status == "approved"


def test_overturning_says_until_when_the_crowd_allows_it(one_hit: Stage) -> None:
    assignment = one_hit.work("eve", 1, slips=1)
    one_hit.advance()
    first = OPERATIONS["approve"].preview(one_hit.campaign, {"assignment": assignment})[0]
    assert "its rejection is overturned, which a Mechanical Turk server allows until 20" in first
    assert "it costs $0.19" in first
    perform(OPERATIONS["approve"], one_hit.campaign, {"assignment": assignment}, by=by_command())
    assert log()[2]["decision"] == "overturn"
    one_hit.deliver()
    assert Assignment.objects.get().status == "approved"


def test_a_refusal_says_what_it_does_and_what_it_does_not(one_hit: Stage) -> None:
    assignment = one_hit.work("bob", 1)
    reviewed(one_hit)
    options = {"assignment": assignment, "reason": "By a script."}
    report = " ".join(OPERATIONS["reject"].preview(one_hit.campaign, options))
    assert "is rejected and not paid; $0.19 is free again" in report
    assert "5 votes no longer count" in report
    assert "does not count towards the rule" in report
    perform(OPERATIONS["reject"], one_hit.campaign, options, by=by_command())
    verb, subject, details = log()
    assert (verb, subject, details["reason"]) == ("reject", assignment, "By a script.")
    one_hit.deliver()
    feedback = one_hit.mturk.rows("SELECT status, feedback FROM assignments")
    assert feedback == [("Rejected", "By a script.")]


def test_a_message_is_logged_with_its_words(one_hit: Stage) -> None:
    one_hit.work("bob", 1)
    one_hit.advance()
    options = {"worker": "ABOB", "text": "Thank you."}
    assert "cannot be recalled" in OPERATIONS["message"].preview(one_hit.campaign, options)[0]
    perform(OPERATIONS["message"], one_hit.campaign, options, by=by_command())
    verb, subject, details = log()
    assert (verb, subject, details["text"]) == ("message", "ABOB", "Thank you.")
    again = OPERATIONS["message"].preview(one_hit.campaign, options)[0]
    assert again.endswith("they are not sent twice.")


def test_who_has_not_qualified_is_let_in(set_stage: SetStage) -> None:
    stage = set_stage(qualification_items=4)
    stage.publish()
    stage.mturk.person("bob")
    report = OPERATIONS["grant-qualification"].preview(stage.campaign, {"worker": "ABOB"})
    assert list(report) == ["ABOB may work in faq without having passed the qualification test."]
    assert not stage.campaign.qualification_results.exists()
    perform(OPERATIONS["grant-qualification"], stage.campaign, {"worker": "ABOB"}, by=by_command())
    assert log()[:2] == ("grant-qualification", "ABOB")
    stage.deliver()
    assert stage.accept("bob", 1)


def test_nobody_needs_to_be_let_in_where_nobody_practises(one_hit: Stage) -> None:
    with pytest.raises(UserError, match="has no qualification test"):
        OPERATIONS["grant-qualification"].preview(one_hit.campaign, {"worker": "ABOB"})


@pytest.mark.usefixtures("small_database")
def test_one_s_own_people_go_by_their_user_names(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    team.publish()
    team.work("ada")
    team.advance()
    options = {"worker": "ada", "text": "Thank you."}
    assert "on their work page" in OPERATIONS["message"].preview(team.campaign, options)[0]
    with pytest.raises(UserError, match="no member 'NOBODY'"):
        OPERATIONS["grant-qualification"].preview(team.campaign, {"worker": "NOBODY"})


@pytest.mark.usefixtures("small_database")
def test_a_user_name_that_is_another_member_s_id_shields_nobody(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    team.publish()
    team.work("eve")
    spammer = team.member("eve").worker_id
    team.work(spammer)
    team.advance()
    options = {"worker": spammer, "reason": "Enough."}
    assert OPERATIONS["exclude"].preview(team.campaign, options)[0].startswith("eve takes no")
    perform(OPERATIONS["exclude"], team.campaign, options, by=by_command())
    assert team.campaign.exclusions.get().worker.worker_id == spammer


@pytest.mark.usefixtures("small_database")
def test_in_house_a_rejection_is_overturned_too_and_money_is_not_named(tmp_path: Path) -> None:
    team = own_team(tmp_path, on_failed_control="reject")
    team.publish()
    work = team.take("eve")
    assert work
    assignment = team.submit(work, slips=1)
    team.advance()
    assert Assignment.objects.get(crowd_id=assignment).status == "rejected"
    report = " ".join(OPERATIONS["approve"].preview(team.campaign, {"assignment": assignment}))
    assert f"Assignment {assignment} of eve is approved" in report
    assert "overturned. An approval is final." in report
    assert "$" not in report
    approve = OPERATIONS["approve"]
    done = perform(approve, team.campaign, {"assignment": assignment}, by=by_command())
    assert done["user_name"] == "eve"
    team.deliver()
    work.refresh_from_db()
    assert work.status == "approved"
    assert Assignment.objects.get(crowd_id=assignment).account == "discarded"
