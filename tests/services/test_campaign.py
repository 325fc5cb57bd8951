"""A campaign whose publisher goes home: workers and beat alone bring it to its end."""

from functools import partial
from pathlib import Path

import pytest

from annotation.analytics.campaign.progress import progress
from annotation.crowd.simulated.browser import WorkerSite
from annotation.crowd.simulated.knowledge import Gold, read_gold
from annotation.crowd.simulated.profiles import WorkerProfiles
from annotation.crowd.simulated.workers import Simulation
from annotation.models import Assignment, Campaign, Judgment
from annotation.pipeline.publishing.publish import publish
from demo.services import Services
from tests.services.stack import ServiceStack, wait_until
from tests.worlds.mturk import crowd_at
from tests.worlds.small_campaign import fill_database, packed_campaign

pytestmark = pytest.mark.services
PROFILES = WorkerProfiles(workers=12, accuracy=0.95, spammers=0.2, seed=5)
MOST_TURNS = 30


def has_all_calls_made(campaign: Campaign) -> bool:
    now = progress(campaign)
    return not (now["messages_waiting"] or now["to_review"])


def is_finished(campaign: Campaign) -> bool:
    return has_all_calls_made(campaign) and not progress(campaign)["open"]


def has_reviewed(campaign: Campaign, submitted: int) -> bool:
    return Assignment.objects.count() == submitted and has_all_calls_made(campaign)


def judge(campaign: Campaign, stack: ServiceStack, gold: Gold) -> None:
    """The crowd takes what there is; whatever it submits is fetched before it looks again."""
    for _ in range(MOST_TURNS):
        with WorkerSite(stack.emulator_url) as site:
            Simulation(PROFILES, gold, site).run()
        submitted = count(stack, "assignments WHERE submit_number IS NOT NULL")
        wait_until(partial(has_reviewed, campaign, submitted), "what was submitted was reviewed")
        if is_finished(campaign):
            return
    raise AssertionError(f"after {MOST_TURNS} turns of the crowd: {progress(campaign)}")


def count(stack: ServiceStack, table: str) -> int:
    return int(stack.rows(f"SELECT COUNT(*) FROM {table}")[0][0])


def published_campaign(folder: Path, stack: ServiceStack) -> Campaign:
    fill_database(folder)
    campaign = packed_campaign(folder)
    publish(campaign, crowd_at(stack.emulator_url))
    wait_until(lambda: count(stack, "hits") == 5, "the HITs were created")
    return campaign


def test_workers_and_beat_alone_bring_a_campaign_to_its_end(
    stack: ServiceStack, tmp_path: Path
) -> None:
    campaign = published_campaign(tmp_path, stack)
    judge(campaign, stack, read_gold([tmp_path / "controls.jsonl"]))
    assert_same_as_the_crowds(stack)


def test_a_campaign_outlives_its_workers_and_its_broker(
    services: Services, stack: ServiceStack, tmp_path: Path
) -> None:
    """All are killed with calls to make; beat and the other processes are left as they are."""
    campaign = published_campaign(tmp_path, stack)
    for worker in stack.workers:
        stack.kill(worker)
    services.restart_redis()
    stack.run("worker-1")
    stack.wait_for("worker-1")
    services.restart_redis()
    stack.wait_for("worker-1")
    stack.run("worker-2")
    judge(campaign, stack, read_gold([tmp_path / "controls.jsonl"]))
    assert_same_as_the_crowds(stack)
    assert all(stack.is_running(name) for name in ("beat", "worker-1", "worker-2"))


def assert_same_as_the_crowds(stack: ServiceStack) -> None:
    ours = Assignment.objects.values_list("crowd_id", "worker__worker_id", "status")
    theirs = stack.rows("SELECT assignment_id, worker_id, lower(status) FROM assignments")
    assert set(ours) == set(theirs)
    assert {status for _, _, status in theirs} <= {"approved", "rejected"}
    assert Judgment.objects.count() == 7 * len(theirs)
    votes = Judgment.objects.exclude(item__triplet=None)
    assert votes.values("item__triplet", "assignment__worker").distinct().count() == votes.count()
