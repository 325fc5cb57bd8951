"""A message to a worker is a message: the same words are sent once."""

from pathlib import Path

import pytest
from django.test import Client

from annotation.analytics.campaign.status import blockers
from annotation.crowd.inhouse.models import Notice
from annotation.pipeline.manual.message import Message, preview_message, write_to
from core.errors import UserError
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

TEXT = "Please read the second example of the instructions again."


def notified(stage: Stage) -> list[tuple[str, str, str]]:
    return stage.mturk.rows("SELECT worker_id, subject, text FROM notifications")


def decided(stage: Stage) -> Stage:
    stage.work("bob", 1)
    stage.advance()
    return stage


def test_the_crowd_carries_it_with_the_campaign_s_title(one_hit: Stage) -> None:
    decided(one_hit)
    message = write_to(one_hit.campaign, "ABOB", text=f"  {TEXT}\n")
    assert message == Message("ABOB", TEXT, new=True)
    one_hit.deliver()
    title = one_hit.campaign.policy.title
    assert notified(one_hit) == [("ABOB", f"Your work: {title}", TEXT)]


def test_the_same_words_are_sent_once(one_hit: Stage) -> None:
    decided(one_hit)
    for new in (True, False):
        assert write_to(one_hit.campaign, "ABOB", text=TEXT).new is new
        one_hit.deliver()
    write_to(one_hit.campaign, "ABOB", text="Thank you.")
    one_hit.deliver()
    assert [text for _, _, text in notified(one_hit)] == [TEXT, "Thank you."]


def test_mturk_carries_none_to_whose_work_is_undecided(one_hit: Stage) -> None:
    from_nobody = "Nobody called 'ABOB' has submitted work"
    with pytest.raises(UserError, match=from_nobody):
        preview_message(one_hit.campaign, "ABOB", text=TEXT)
    one_hit.work("bob", 1)
    one_hit.advance()
    one_hit.campaign.outbox.filter(kind="approve").update(state="failed")
    works = one_hit.campaign.hits.get().assignments
    works.update(status="submitted")
    with pytest.raises(UserError, match="only workers whose work was approved or rejected"):
        preview_message(one_hit.campaign, "ABOB", text=TEXT)


@pytest.mark.parametrize("text", ["", "  \n", "x" * 4097])
def test_a_message_has_words_and_an_end(one_hit: Stage, text: str) -> None:
    decided(one_hit)
    with pytest.raises(UserError, match="1 to 4,096 characters"):
        write_to(one_hit.campaign, "ABOB", text=text)


def test_before_publication_there_is_nobody_to_write_to(stage: Stage) -> None:
    with pytest.raises(UserError, match="not published"):
        preview_message(stage.campaign, "ABOB", text=TEXT)


def test_what_the_crowd_does_not_carry_is_over_and_can_be_sent_again(one_hit: Stage) -> None:
    decided(one_hit)
    write_to(one_hit.campaign, "ABOB", text=TEXT)
    worker = one_hit.campaign.outbox.get(kind="notify").worker
    assert worker
    type(worker).objects.filter(pk=worker.pk).update(worker_id="ANOBODY")
    one_hit.deliver()
    (message,) = one_hit.outbox("notify")
    assert message.state == "cancelled"
    assert "ANOBODY was not reached" in message.error
    assert blockers(one_hit.campaign) == []
    type(worker).objects.filter(pk=worker.pk).update(worker_id="ABOB")
    assert write_to(one_hit.campaign, "ABOB", text=TEXT).new
    one_hit.deliver()
    assert len(notified(one_hit)) == 1


@pytest.mark.usefixtures("small_database")
def test_a_member_reads_it_on_their_work_page(tmp_path: Path, client: Client) -> None:
    team = own_team(tmp_path)
    team.publish()
    team.work("ada")
    team.advance()
    ada = team.member("ada")
    hostile = f"{TEXT} <b>7</b>"
    for _ in range(2):
        write_to(team.campaign, ada.worker_id, text=hostile)
        team.deliver()
    assert Notice.objects.get().text == hostile
    client.force_login(ada.user)
    page = client.get("/work").content.decode()
    assert "Messages to you" in page
    assert f"{TEXT} &lt;b&gt;7&lt;/b&gt;" in page
    client.force_login(team.member("bob").user)
    assert "Messages to you" not in client.get("/work").content.decode()
