import json
from pathlib import Path

import pytest

from annotation.crowd.port import Crowd, CrowdError
from annotation.pipeline.publishing.crowd_setup import bind, prepare
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import get_campaign
from core.errors import UserError
from tests.conftest import SetStage, StartMTurk
from tests.support.threads import together
from tests.worlds.account import Account
from tests.worlds.small_campaign import Stage, retrieved_campaign

pytestmark = pytest.mark.django_db

FIRST_ROUND = 5 * 2 * 19  # cents: HITs, annotators, price


def refused(stage: Stage, crowd: Crowd, sentence: str) -> None:
    """Publishing is refused, and the campaign may still be published anywhere."""
    with pytest.raises(UserError, match=sentence):
        publish(stage.campaign, crowd)
    stage.campaign.refresh_from_db()
    assert stage.campaign.endpoint == ""
    assert not stage.campaign.outbox.exists()


def test_every_hit_is_published_with_its_places_and_price(stage: Stage) -> None:
    assert stage.publish().sent == 5
    rows = stage.mturk.rows(
        "SELECT hit_id, requester_annotation, max_assignments, reward_cents, fee_cents FROM hits"
    )
    assert sorted(rows) == sorted(
        (hit.crowd_id, hit.key, 2, 15, 4) for hit in stage.campaign.hits.all()
    )
    assert stage.mturk.on_hold_cents == FIRST_ROUND


def test_the_policy_says_who_may_work_and_for_how_long(set_stage: SetStage) -> None:
    stage = set_stage(min_approved=500, assignment_minutes=7, lifetime_days=2, reward_cents=11)
    stage.publish()
    (row,) = stage.mturk.rows(
        "SELECT requirements, assignment_seconds, auto_approval_seconds, reward_cents"
        " FROM hit_types"
    )
    wanted = {
        requirement["QualificationTypeId"]: (
            requirement["Comparator"],
            requirement.get("IntegerValues"),
        )
        for requirement in json.loads(row[0])
    }
    assert wanted == {
        "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH": ("Exists", None),
        "000000000000000000L0": ("GreaterThanOrEqualTo", [95]),
        "00000000000000000040": ("GreaterThanOrEqualTo", [500]),
        stage.campaign.exclusion_id: ("DoesNotExist", None),
    }
    assert row[1:] == (420, 3 * 86_400, 11)
    lifetimes = stage.mturk.rows("SELECT DISTINCT ROUND(expires_at - created_at) FROM hits")
    assert lifetimes == [(2 * 86_400,)]


def test_publishing_twice_makes_no_second_hit(stage: Stage) -> None:
    stage.publish()
    assert publish(stage.campaign, stage.mturk.crowd).new == 0
    assert stage.deliver().sent == 0
    assert stage.mturk.count("hits") == 5
    assert stage.mturk.count("hit_types") == 1


def test_two_campaigns_share_nothing_at_the_crowd(set_stage: SetStage) -> None:
    first = set_stage("first", candidates_per_query=1)
    first.publish()
    second = set_stage("second", candidates_per_query=1)
    second.publish()
    assert first.campaign.exclusion_id != second.campaign.exclusion_id
    assert first.campaign.hit_type_id != second.campaign.hit_type_id
    assert first.mturk.count("hits") == 2


@pytest.mark.usefixtures("small_database")
def test_a_campaign_without_hits_is_not_published(mturk: Account, tmp_path: Path) -> None:
    stage = Stage(retrieved_campaign(tmp_path), mturk)
    refused(stage, mturk.crowd, "has no HITs: run `quorum campaign pack faq` first")


def test_what_the_account_cannot_pay_is_not_begun(stage: Stage, start_mturk: StartMTurk) -> None:
    poor = start_mturk(balance_cents=FIRST_ROUND - 1)
    sentence = r"Publishing 5 HITs costs \$1\.90 in the first round, .* holds \$1\.89"
    refused(stage, poor.crowd, sentence)
    assert poor.count("hit_types") == 0
    assert publish(stage.campaign, start_mturk(balance_cents=FIRST_ROUND).crowd).new == 5


def test_an_unreachable_crowd_binds_nothing(stage: Stage) -> None:
    crowd = stage.mturk.crowd
    stage.mturk.stop()
    with pytest.raises(CrowdError, match="cannot be reached"):
        publish(stage.campaign, crowd)
    stage.campaign.refresh_from_db()
    assert stage.campaign.endpoint == ""
    stage.mturk.start()


def test_another_endpoint_is_refused_from_then_on(stage: Stage, start_mturk: StartMTurk) -> None:
    stage.publish()
    other = start_mturk()
    with pytest.raises(UserError) as refusal:
        publish(stage.campaign, other.crowd)
    assert f"published at {stage.mturk.url}, but the crowd set now is {other.url}" in str(
        refusal.value
    )
    assert other.count("hits") == 0


@pytest.mark.django_db(transaction=True)
def test_two_who_publish_at_once_make_each_hit_once(stage: Stage) -> None:
    bind(stage.campaign, stage.mturk.crowd)
    prepare(stage.campaign, stage.mturk.crowd)

    def publish_too() -> int:
        campaign = get_campaign(stage.campaign.name)
        return Stage(campaign, stage.mturk).publish().sent

    assert sum(together(publish_too, publish_too)) == 5
    assert stage.mturk.count("hits") == 5
    assert stage.mturk.count("hit_types") == 1
    keys = stage.mturk.rows("SELECT requester_annotation, hit_id FROM hits")
    assert sorted(keys) == sorted(stage.campaign.hits.values_list("key", "crowd_id"))


def test_of_two_first_publications_at_two_places_one_is_refused(
    stage: Stage, start_mturk: StartMTurk
) -> None:
    """The second looked at the campaign before the first had bound it."""
    looked_at_before = get_campaign(stage.campaign.name)
    publish(stage.campaign, stage.mturk.crowd)
    other = start_mturk()
    with pytest.raises(UserError, match=f"is published at {stage.mturk.url}"):
        publish(looked_at_before, other.crowd)
    assert other.count("hit_types") == 0
    assert get_campaign(stage.campaign.name).endpoint == stage.mturk.url
