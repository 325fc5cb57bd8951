"""A first batch of HITs, a look, and the rest: no pass publishes more than was asked for."""

import json

import pytest

from annotation.access.audit_log import by_command
from annotation.analytics.campaign.status import blockers, campaign_status
from annotation.operations.operation import perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.publishing.lifecycle import pause, resume
from annotation.pipeline.publishing.outlook import outlook
from annotation.pipeline.publishing.publish import Published, publish
from core.errors import UserError
from tests.conftest import SetStage, StartMTurk
from tests.support.command_line import quorum
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

HITS = 5
RESERVED = 3 * 19  # a HIT's two assignments and one for its tie


def publish_first(stage: Stage, most: int | None) -> Published:
    written = publish(stage.campaign, stage.mturk.crowd, most=most)
    stage.deliver()
    stage.campaign.refresh_from_db()
    return written


def at_the_crowd(stage: Stage) -> list[int]:
    hits = stage.campaign.hits.exclude(crowd_id=None).order_by("number")
    return list(hits.values_list("number", flat=True))


def test_the_first_hits_alone_are_published_and_paid_for(stage: Stage) -> None:
    assert publish_first(stage, 2) == Published(new=2, left_out=0, held_back=3)
    assert at_the_crowd(stage) == [1, 2]
    assert stage.mturk.count("hits") == 2
    assert account_of(stage.campaign).reserved_cents == 2 * RESERVED
    assert stage.campaign.state == "active"
    assert stage.campaign.first_batch == 2


def test_no_later_pass_publishes_the_rest(stage: Stage) -> None:
    publish_first(stage, 2)
    for number in (1, 2):
        stage.work("ada", number)
    stage.advance()
    stage.work("bob", 1, 1)  # all of it is tied: the pass buys a third vote, and nothing else
    stage.work("bob", 2)
    for _ in range(3):
        stage.advance()
    assert at_the_crowd(stage) == [1, 2]
    assert len(stage.outbox("create")) == 2
    assert [message.hit.number for message in stage.outbox("extend") if message.hit] == [1]
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"


def test_neither_a_resumed_campaign_nor_a_higher_budget_publishes_the_rest(stage: Stage) -> None:
    publish_first(stage, 2)
    pause(stage.campaign)
    stage.advance()
    resume(stage.campaign)
    stage.advance()
    perform(OPERATIONS["budget"], stage.campaign, {"amount": "20000"}, by=by_command())
    stage.advance()
    assert at_the_crowd(stage) == [1, 2]
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"


def test_a_budget_that_does_not_reach_the_batch_fills_it_when_raised_and_stops_there(
    stage: Stage,
) -> None:
    set_budget(stage.campaign, 2 * RESERVED)
    assert publish_first(stage, 3) == Published(new=2, left_out=1, held_back=2)
    assert stage.campaign.state == "capped"
    assert "1 HITs and 0 further votes wait" in campaign_status(stage.campaign)
    set_budget(stage.campaign, 10 * RESERVED)
    for _ in range(2):
        stage.advance()
    assert at_the_crowd(stage) == [1, 2, 3]
    stage.campaign.refresh_from_db()
    assert stage.campaign.state == "active"


def test_the_rest_follows_when_it_is_published(stage: Stage) -> None:
    publish_first(stage, 2)
    assert publish_first(stage, None) == Published(new=3, left_out=0, held_back=0)
    assert at_the_crowd(stage) == [1, 2, 3, 4, 5]
    assert stage.campaign.first_batch is None


def test_the_rest_is_bought_by_later_passes_where_the_budget_was_short(stage: Stage) -> None:
    """The limit is lifted although not all could be asked for at once."""
    publish_first(stage, 1)
    set_budget(stage.campaign, 3 * RESERVED)
    assert publish_first(stage, None) == Published(new=2, left_out=2, held_back=0)
    set_budget(stage.campaign, 100 * RESERVED)
    stage.advance()
    assert at_the_crowd(stage) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("batches", "published", "limit"),
    [
        ((1, 3), [1, 2, 3], 3),  # so many in all, not so many more
        ((3, 3), [1, 2, 3], 3),
        ((3, 1), [1, 2, 3], 3),  # what is out is out
        ((2, HITS), [1, 2, 3, 4, 5], None),
        ((HITS + 7,), [1, 2, 3, 4, 5], None),
        ((HITS, 1), [1, 2, 3, 4, 5], None),  # all are out: nothing waits for anybody
    ],
)
def test_batches_count_the_hits_in_all(
    stage: Stage, batches: tuple[int, ...], published: list[int], limit: int | None
) -> None:
    for most in batches:
        publish_first(stage, most)
    stage.advance()
    assert at_the_crowd(stage) == published
    assert stage.campaign.first_batch == limit


@pytest.mark.parametrize("most", [0, -1])
def test_a_batch_of_nothing_is_refused(stage: Stage, most: int) -> None:
    with pytest.raises(UserError, match="A first batch has at least one HIT"):
        publish_first(stage, most)
    stage.campaign.refresh_from_db()
    assert stage.campaign.endpoint == ""


def test_the_accounts_balance_need_only_pay_for_the_batch(
    stage: Stage, start_mturk: StartMTurk
) -> None:
    poor = Stage(stage.campaign, start_mturk(balance_cents=100))  # of 190 for the first round
    with pytest.raises(UserError, match="top it up first"):
        publish_first(poor, None)
    assert publish_first(poor, 2).new == 2


def test_ties_of_the_batch_are_repacked_without_the_rest(set_stage: SetStage) -> None:
    stage = set_stage(tie_mode="repack")
    publish_first(stage, 2)
    for number in (1, 2):
        stage.work("ada", number)
        stage.work("bob", number, lambda _, rank: int(rank == 1))
    for _ in range(3):
        stage.advance()
    hits = stage.campaign.hits.exclude(crowd_id=None)
    assert hits.filter(repack=False).count() == 2
    assert hits.filter(repack=True).exists()
    stage.campaign.refresh_from_db()
    assert stage.campaign.first_batch == 2
    # A repacked HIT is none of the batch's.
    assert publish_first(stage, 3) == Published(new=1, left_out=0, held_back=2)
    assert publish_first(stage, None).new == 2


def test_the_outlook_and_the_status_tell_the_batch_from_the_budget(stage: Stage) -> None:
    publish_first(stage, 2)
    assert outlook(stage.campaign).left_out_hits == 0
    assert campaign_status(stage.campaign) == (
        "active: its first 2 HITs alone are asked for; the rest follows by "
        "`quorum campaign publish faq`"
    )


@pytest.mark.parametrize(
    ("first", "asked", "behind"),
    [
        (1, "its first HIT alone is asked for", "4 HITs wait behind the first batch of 1"),
        (4, "its first 4 HITs alone are asked for", "1 HIT waits behind the first batch of 4"),
    ],
)
def test_one_hit_is_told_as_one(stage: Stage, first: int, asked: str, behind: str) -> None:
    publish_first(stage, first)
    assert campaign_status(stage.campaign).reason == f"active: {asked}"
    assert behind in [one.reason for one in blockers(stage.campaign)]


def test_the_command_takes_a_first_batch(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    quorum("campaign", "publish", "faq", "--first", "2", "--json")
    said = json.loads(capsys.readouterr().out)
    assert (said["new_hits"], said["left_out"], said["held_back"]) == (2, 0, 3)
    assert at_the_crowd(stage) == [1, 2]
    quorum("campaign", "publish", "faq", "--json")
    assert json.loads(capsys.readouterr().out)["new_hits"] == 3
