"""What a member reads of rejected work, and what that does to the controls they read of."""

from pathlib import Path

import pytest
from django.test import Client

from annotation.analytics.quality.review_figures import exposure_of
from annotation.crowd.inhouse.models import Assignment
from annotation.models import Control, HitItem, Worker
from annotation.pipeline.controls.own_controls import hits_put_off
from annotation.pipeline.labelling.exposures import exposures
from annotation.pipeline.labelling.reveals import reveal_values
from annotation.pipeline.publishing.pack import positive_names
from annotation.pipeline.publishing.repack import unrevealed
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.annotation.web.stage import signed_in
from tests.support.pages import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


def work_page(team: Team, name: str) -> str:
    return text_of(signed_in(team.member(name).user).get("/work"))


def slip(team: Team) -> Control:
    """Ada answers one control wrong; which it was."""
    work = team.take("ada")
    assert work is not None
    team.submit(work, slips=1)
    items = HitItem.objects.filter(hit__key=work.posted_hit.annotation).exclude(control=None)
    answers = work.__class__.objects.get(pk=work.pk).answers_json
    for item in items.select_related("control"):
        assert item.control is not None
        if f'"item-{item.key}": "{1 - item.control.expected}"' in answers:
            return item.control
    raise AssertionError("none was missed")


def decide(team: Team) -> None:
    """And have the record know of it."""
    team.advance()
    team.advance()


@pytest.fixture
def team(tmp_path: Path) -> Team:
    team = own_team(tmp_path)
    team.publish()
    return team


def test_the_control_missed_is_revealed_with_its_answer_once_the_work_is_rejected(
    team: Team,
) -> None:
    control = slip(team)
    team.member("bob")
    assert control.question not in work_page(team, "ada")  # submitted, and not decided
    decide(team)
    page = work_page(team, "ada")
    right, wrong = ("Yes", "No") if control.expected else ("No", "Yes")
    assert f"Query {control.query} Question {control.question}" in page
    assert f"You answered {wrong} . The correct answer is {right} :" in page.replace("  ", " ")
    assert page.count("The correct answer is") == 1


def test_nobody_else_reads_it(team: Team) -> None:
    control = slip(team)
    decide(team)
    page = work_page(team, "bob")
    assert control.question not in page
    assert "The correct answer is" not in page


def test_work_that_is_paid_and_discarded_tells_nothing(tmp_path: Path) -> None:
    team = own_team(tmp_path, on_failed_control="pay_and_discard")
    team.publish()
    control = slip(team)
    decide(team)
    assert control.question not in work_page(team, "ada")
    assert not reveal_values("pk")


def test_workers_of_a_crowd_without_accounts_are_told_none(team: Team) -> None:
    slip(team)
    decide(team)
    assert len(reveal_values("pk")) == 1
    Worker.objects.update(crowd="mturk")
    assert not reveal_values("pk")


def test_a_control_whose_answer_was_told_goes_into_new_tasks_last(team: Team) -> None:
    control = slip(team)
    decide(team)
    kind = Control.Kind(control.kind)
    names = positive_names() if control.expected else [control.key, "another"]
    assert control.key in names
    assert control.key not in unrevealed(team.campaign, names, kind, fewest=1)
    assert unrevealed(team.campaign, names, kind, fewest=len(names))[-1] == control.key


def test_who_was_told_a_control_s_answer_gets_tasks_that_hold_it_last(team: Team) -> None:
    """In whatever campaign; for others they are like any."""
    control = slip(team)
    decide(team)
    without = HitItem.objects.exclude(hit__assignments__isnull=False).exclude(control=None)
    without = without.filter(control__kind=control.kind)
    free = without.last()
    assert free is not None
    without.exclude(pk=free.pk).update(control=control)
    without.filter(pk=free.pk).update(control=_another(control))
    ada = signed_in(team.member("ada").user)
    ada.post("/work/next")
    taken = Assignment.objects.filter(member=team.member("ada"), status="accepted").get()
    assert taken.posted_hit.annotation == free.hit.key
    team.submit(taken)
    ada.post("/work/next")
    assert Assignment.objects.filter(member=team.member("ada"), status="accepted").exists()
    assert len(hits_put_off(team.member("ada"))) == 2  # the others are hers
    assert not hits_put_off(team.member("bob"))


def _another(control: Control) -> Control:
    """Of the same kind and campaign."""
    return Control.objects.create(
        kind=control.kind, campaign=control.campaign, key="x", query="q", question="r", answer="a"
    )


def test_a_control_of_the_campaign_s_own_is_worn_once_its_answer_was_told(team: Team) -> None:
    control = slip(team)
    Control.objects.filter(pk=control.pk).update(campaign=team.campaign, drafted=True)
    assert exposure_of(team.campaign)["revealed"] == 0
    decide(team)
    exposure = exposures(team.campaign)[control.pk]
    assert (exposure.revealed, exposure.is_worn) == (1, True)
    assert exposure_of(team.campaign)["revealed"] == 1


def test_the_control_s_page_says_how_many_know_its_answer(team: Team, admin_client: Client) -> None:
    control = slip(team)
    of = f"campaigns/{team.campaign}/" if control.campaign_id else ""
    address = f"/admin/{of}controls/{control.pk}"
    assert "told the right answer" not in text_of(admin_client.get(address))
    decide(team)
    assert "1 person was told the right answer" in text_of(admin_client.get(address))
