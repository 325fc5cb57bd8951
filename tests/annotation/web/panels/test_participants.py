"""Who may come to a study, who is asked to return it, and whether it pays them enough."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from annotation.access.audit_log import Actor, by_page
from annotation.analytics.campaign.progress import progress
from annotation.analytics.campaign.publication_preview import publication_of
from annotation.crowd.inhouse.models import PanelLink, PostedHit, Visit
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.adapter import ProlificCrowd
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.submissions import screen_out
from annotation.models import Campaign, Event, Role
from annotation.operations.operation import NOBODY, perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.advance import advance
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.crowds import PANEL, PROLIFIC
from annotation.protocol.screening.control import RejectionReason
from core.errors import UserError
from tests.annotation.crowd.prolific.conftest import OpenDesk
from tests.annotation.crowd.prolific.desk import SPEC_THERE, Desk, shut
from tests.annotation.crowd.prolific.world import MINUTE, Prolific, running
from tests.annotation.support.hits import make_campaign
from tests.annotation.web.stage import signed_in, staff, text
from tests.worlds.small_campaign import packed_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(prolific: Prolific) -> Desk:
    return Desk(prolific)


def approved(desk: Desk, *names: str) -> None:
    for name in names:
        (done,) = desk.do(name)
        desk.tend()
        desk.crowd.approve(done)


# Known participants only


def open_to_known(desk: Desk, hit_id: str) -> None:
    """A second study, after the first one has ended."""
    hit_type = PostedHit.objects.get(hit_id=hit_id).hit_type
    shut(desk.link, now=desk.now())
    desk.tend()
    desk._link = desk.open(hit_type.type_id)
    Study.objects.filter(link=desk._link).update(known_from=hit_type.queue)
    desk.crowd.extend_hit(hit_id, extra=3, token="more")
    desk.tend()


def test_a_study_for_known_participants_is_shown_to_nobody_else(desk: Desk) -> None:
    (hit,) = desk.publish(max_assignments=3)
    approved(desk, "ada", "bob")
    (bad,) = desk.do("eve")
    desk.tend()
    desk.crowd.reject(bad, reason="A check question was missed.", why=RejectionReason.MISSED)
    desk.people["new"] = desk.prolific.person()
    open_to_known(desk, hit)
    offered = {name: desk.offered(name) for name in desk.people}
    assert offered == {"ada": True, "bob": True, "eve": False, "new": False}


def test_who_becomes_known_or_is_excluded_counts_with_the_next_pass(desk: Desk) -> None:
    exclusion = desk.crowd.create_qualification("No further work", "They take no further part.")
    (hit,) = desk.publish(max_assignments=3, spec=replace(SPEC_THERE, exclusion_id=exclusion))
    approved(desk, "ada")
    (late,) = desk.do("bob")
    desk.tend()
    open_to_known(desk, hit)
    assert (desk.offered("ada"), desk.offered("bob")) == (True, False)
    desk.crowd.approve(late)
    desk.crowd.exclude(desk.member("ada").worker_id, exclusion_id=exclusion)
    desk.tend()
    assert (desk.offered("ada"), desk.offered("bob")) == (False, True)


def open_panel(campaign: Campaign, *, by: Actor = NOBODY, **options: object) -> dict[str, object]:
    operation = OPERATIONS["open-panel"]
    given = {"panel": "prolific", "tasks": 1, "minutes": 1, "note": "again", **options}
    return perform(operation, campaign, operation.complete(given), by=by)


def test_a_link_names_the_campaign_whose_participants_are_known(open_desk: OpenDesk) -> None:
    desk = open_desk()
    campaign = Campaign.objects.get()
    nobody = (
        "no campaign 'study' whose workers you manage and in which work of participants of Prolific"
    )
    with pytest.raises(UserError, match=nobody):
        open_panel(campaign, known="study")
    approved(desk, "ada")
    with pytest.raises(UserError, match=nobody):
        open_panel(campaign, known="study", by=by_page(User.objects.create_user("eve")))
    open_panel(campaign, known="study")
    desk._link = PanelLink.objects.earliest("pk")
    page = signed_in(staff("ada", "manage_workers")).get("/admin/campaigns/study/panels/")
    assert "Known participants only." in text(page)
    assert Study.objects.latest("pk").known_from == desk.link.queue


def test_no_preview_says_whose_campaign_has_known_participants(open_desk: OpenDesk) -> None:
    desk = open_desk()
    approved(desk, "ada")
    other = make_campaign("other", **Campaign.objects.get(name="study").policy.to_dict())
    other.hit_type_id = "a type"
    other.save()
    eve = User.objects.create_user("eve")
    Role.objects.create(user=eve, campaign=other, name=Role.Name.OWNER)
    sent = {"panel": "prolific", "tasks": "1", "minutes": "1", "known": "study"}
    page = signed_in(eve).post("/admin/campaigns/other/operations/open-panel", sent)
    assert page.status_code == 422
    assert "no campaign 'study' whose workers you manage" in text(page)


def test_only_prolific_knows_participants(db: None) -> None:
    other = make_campaign("other", **PANEL.defaults())
    other.hit_type_id = "a type"
    other.save()
    with pytest.raises(UserError, match="known participants are for a study at Prolific"):
        open_panel(other, panel="connect", minutes=None, known="other")


# Return requests


def leave_unfinished(desk: Desk, name: str) -> Visit:
    """Says at Prolific that it is done, with nothing finished here."""
    visit = desk.come(name)
    desk.people[name].complete(visit.session_id, visit.code)
    desk.tend()
    return visit


def request_returns(campaign: Campaign, link: PanelLink) -> dict[str, object]:
    operation = OPERATIONS["request-returns"]
    return perform(operation, campaign, operation.complete({"link": link.key}), by=NOBODY)


def test_who_has_finished_nothing_is_asked_once_to_return_the_study(open_desk: OpenDesk) -> None:
    desk = open_desk()
    campaign, manager = Campaign.objects.get(), signed_in(staff("ada", "manage_workers"))
    visit, place = leave_unfinished(desk, "bob"), "/admin/campaigns/study/panels/"
    assert "Ask for returns (1)" in text(manager.get(place))
    assert request_returns(campaign, desk.link)["asked"] == 1
    for _ in range(2):
        desk.tend()
    (message,) = desk.people["bob"].get("messages")
    assert "Please return the study" in message["body"]
    assert "Ask for returns" not in text(manager.get(place))
    with pytest.raises(UserError, match="was not asked yet"):
        request_returns(campaign, desk.link)
    desk.people["bob"].give_up(visit.session_id)
    desk.tend()
    study = Study.objects.get()
    assert (study.strays, study.asked_back) == (0, 0)
    assert desk.do("eve")


def test_the_page_says_who_waits_for_approval_and_is_not_asked(open_desk: OpenDesk) -> None:
    desk = open_desk(screen_out_cents=14)
    last = desk.come("ada")
    for name in ("bob", "eve"):
        desk.leave_without_a_task(name)
    assert screen_out(last, now=desk.now())
    desk.people["ada"].complete(last.session_id, desk.link.study.screen_out_code)
    desk.tend()
    manager = signed_in(staff("ada", "manage_workers"))
    page = text(manager.get("/admin/campaigns/study/panels/"))
    assert "1 of them left by the code that pays for coming" in page
    assert "it waits for your approval" in page
    assert "Ask for returns" not in page


def test_who_was_asked_while_the_answer_got_lost_is_not_asked_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.publish()
    leave_unfinished(desk, "bob")
    Study.objects.update(return_reason="Please return it.")
    ask = desk.prolific.client.submissions.request_return

    def lost(submission_id: str, reason: str) -> None:
        ask(submission_id, reason)
        raise CrowdError("No answer.", permanent=False)

    monkeypatch.setattr(desk.prolific.client.submissions, "request_return", lost)
    with pytest.raises(CrowdError, match="No answer"):
        desk.tend()
    desk.tend()
    assert len(desk.people["bob"].get("messages")) == 1
    assert Study.objects.get().return_reason == ""


def test_a_prolific_that_takes_no_such_requests_says_so_once_and_the_study_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.publish()
    leave_unfinished(desk, "bob")
    Study.objects.update(return_reason="Please return it.")

    def refused(submission_id: str, reason: str) -> None:
        raise CrowdError("404: not found.", permanent=True)

    monkeypatch.setattr(desk.prolific.client.submissions, "request_return", refused)
    with pytest.raises(CrowdError, match="404") as error:
        desk.tend()
    assert not error.value.permanent
    desk.tend()
    assert desk.do("eve")


# Pay per hour, as measured


def slowly(desk: Desk, *names: str, minutes: int) -> None:
    for name in names:
        visit = desk.come(name)
        desk.work(visit)
        desk.prolific.clock.forward(minutes * MINUTE)
        desk.leave(name, visit)
    desk.tend()


def test_the_time_that_visits_take_is_the_median_at_prolific_of_at_least_five(desk: Desk) -> None:
    desk.publish(max_assignments=7)
    slowly(desk, "a", "b", "c", "d", minutes=4)
    assert PanelLink.objects.get().median_seconds is None
    slowly(desk, "e", "f", "g", minutes=10)
    assert PanelLink.objects.get().median_seconds == 4 * MINUTE


@pytest.fixture
def slow(tmp_path: Path, small_database: None) -> Iterator[tuple[Campaign, Desk]]:
    """Visits of a dollar: said to take 5 minutes, $12 an hour; of 10 minutes, $6."""
    rules = {"reward_cents": 100, "on_failed_control": "pay_and_discard"}
    campaign = packed_campaign(tmp_path, **{**PROLIFIC.defaults(), **rules})
    with running(tmp_path / "prolific.sqlite3", balance_cents=10_000_000) as prolific:
        desk = Desk(prolific)
        publish(campaign, desk.crowd, most=1)
        campaign.refresh_from_db()
        desk.open(campaign.hit_type_id)
        PanelLink.objects.update(median_seconds=600)
        yield campaign, desk


SENTENCE = "take 10 minutes (the median at Prolific) and so pay $6.00 an hour"


def test_work_that_takes_longer_than_planned_is_said_where_its_owner_looks(
    slow: tuple[Campaign, Desk], settings: Settings
) -> None:
    campaign, desk = slow
    settings.PROLIFIC_ENDPOINT = desk.prolific.url
    assert SENTENCE in str(progress(campaign)["underpaid"])
    manager = signed_in(staff("ada", "manage_workers"))
    assert SENTENCE in text(manager.get("/admin/campaigns/faq/panels/"))
    assert SENTENCE in " ".join(publication_of(campaign, None).sentences())
    operation = OPERATIONS["open-panel"]
    given = operation.complete({"panel": "prolific", "tasks": 2, "minutes": 15, "note": "again"})
    previewed = " ".join(operation.preview(campaign, given))
    assert "visits of 2 tasks would take 20 minutes, not 15" in previewed
    assert SENTENCE in previewed
    PanelLink.objects.update(median_seconds=450)  # for which it is as much as Prolific asks for
    assert "underpaid" not in progress(campaign)


def test_its_owner_hears_of_it_once(
    slow: tuple[Campaign, Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, desk = slow
    monkeypatch.setattr(ProlificCrowd, "tend", lambda crowd, hit_type_id, *, may_grow: None)
    for _ in range(2):
        advance(campaign, desk.crowd, clock=desk.now)
    (event,) = Event.objects.all()
    assert event.type == "campaign.pay"
    assert SENTENCE in event.data["reasons"][0]
