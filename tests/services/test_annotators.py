"""200 members of the team at once, on PostgreSQL, while the workers' passes run."""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.inhouse import models as inhouse
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.members import invite, join
from annotation.crowd.inhouse.models import PostedHit
from annotation.models import Assignment, Campaign, HitItem, ItemReport
from annotation.pipeline.publishing.publish import publish
from annotation.protocol.policy.crowds import INHOUSE
from demo.services import Services
from tests.chaos.audit import audit_record
from tests.chaos.inhouse_record import SUBMITTED_OR_DECIDED, read_inhouse_record
from tests.services.annotators import HABITS, Annotator, Log
from tests.services.conftest import start_stack
from tests.services.stack import wait_until
from tests.worlds.wide_campaign import wide_campaign

pytestmark = pytest.mark.services

MEMBERS = 200
GIVEN_UP = ("returned", "lapsed")
MOST_SECONDS = 600
POLICY = {**INHOUSE.defaults(), "reward_cents": 10, "min_assignments": 1, "max_votes": 5}


def make_sessions() -> dict[str, str]:
    """Name -> session of each member; the password is hashed once, not 200 times."""
    now = timezone.now()
    password = make_password("judges questions all day")
    names = [f"member{number}" for number in range(MEMBERS)]
    User.objects.bulk_create([User(username=name, password=password) for name in names])
    code = invite(None, note="", days=1, uses=MEMBERS, now=now)
    sessions = {}
    for user in User.objects.filter(username__in=names):
        join(code, user, now=now)
        client = Client()
        client.force_login(user)
        sessions[user.username] = client.cookies["sessionid"].value
    return sessions


def truths(campaign: Campaign) -> tuple[dict[str, int], frozenset[str]]:
    """What a careful reader says of each item, and which ones are controls."""
    rng = random.Random(1)
    items = HitItem.objects.filter(hit__campaign=campaign).select_related("control")
    truth = {
        item.key: item.control.expected if item.control else rng.getrandbits(1)
        for item in items.order_by("pk")
    }
    return truth, frozenset(item.key for item in items if item.control)


def is_finished(campaign: Campaign) -> bool:
    time.sleep(0.5)  # the processes need the machine
    return not campaign.triplets.filter(status="open").exists() and not is_waiting(campaign)


def is_waiting(campaign: Campaign) -> bool:
    submitted = inhouse.Assignment.objects.filter(status="submitted").exists()
    return submitted or campaign.outbox.exclude(state="done").exists()


def let_run_out(assignment_id: str) -> None:
    """What half an hour would do."""
    inhouse.Assignment.objects.filter(assignment_id=assignment_id).update(deadline=timezone.now())
    connection.close()


def work_together(campaign: Campaign, site: str) -> Log:
    """All at once, until every triplet has its label."""
    truth, controls = truths(campaign)
    log, over = Log(), threading.Event()
    people = [
        Annotator(
            site=site,
            name=name,
            session=session,
            habit=HABITS[number % len(HABITS)],
            truth=truth,
            controls=controls,
            log=log,
            over=over,
            forget=let_run_out,
        )
        for number, (name, session) in enumerate(make_sessions().items())
    ]
    with ThreadPoolExecutor(MEMBERS) as threads:
        for person in people:
            threads.submit(person.run)
        try:
            wait_until(lambda: is_finished(campaign), "all was labelled", seconds=MOST_SECONDS)
        finally:
            over.set()
            print(f"{len(log.seconds)} requests, {len(log.taken_in)} HITs submitted")
    return log


def test_200_members_at_once_give_each_triplet_its_votes_and_none_too_many(
    services: Services, on_postgresql: None, tmp_path: Path, settings: Settings
) -> None:
    settings.INDEX_DIR = tmp_path / "index"
    campaign, hits = wide_campaign(tmp_path, queries=12, candidates=25, **POLICY)
    publish(campaign, InhouseCrowd())
    with start_stack(services, tmp_path, settings, {"QUORUM_WEB_WORKERS": "2"}) as stack:
        wait_until(lambda: PostedHit.objects.count() == hits, "the HITs were posted")
        began = time.monotonic()
        log = work_together(campaign, stack.site_url)
        print(f"{time.monotonic() - began:.0f} s, {len(log.seconds)} requests")
        wait_until(lambda: not is_waiting(campaign), "all that was submitted was decided")
    assert log.faults == []
    assert_one_in_hand(log)
    assert {status for status, _ in log.refused} <= {403, 404, 409}
    assert log.habits == set(HABITS) - {"plain"}
    assert_no_surplus()
    assert_recorded_once(log)
    assert audit_record(read_inhouse_record(campaign), campaign) == []
    assert campaign.exclusions.exists()
    assert campaign.hits.filter(max_assignments__gt=2).exists()
    assert ItemReport.objects.exists()


def assert_one_in_hand(log: Log) -> None:
    """Nobody was given a second HIT before the first one was over.

    Two tabs may be given two where the first had been submitted, returned or had lapsed by then:
    with one page open at a time, members who use two tabs end none between the two requests.
    """
    assert "two tabs" in log.habits
    assert log.at_once == [], "two tabs of one member were given two different HITs at once"
    for member in inhouse.Assignment.objects.values_list("member", flat=True).distinct():
        works = inhouse.Assignment.objects.filter(member=member).order_by("accepted_at")
        for first, second in pairwise(works):
            over = first.submitted_at
            if over is not None:
                assert over <= second.accepted_at, (first, second)
            else:
                assert first.status in GIVEN_UP, f"{second} was given out beside {first}"


def assert_no_surplus() -> None:
    """Every place is open, in somebody's hands or submitted: none was given out twice."""
    for hit in PostedHit.objects.prefetch_related("assignments"):
        taken = Counter(work.status for work in hit.assignments.all())
        used = taken["accepted"] + sum(taken[status] for status in SUBMITTED_OR_DECIDED)
        assert hit.open_assignments + used == hit.max_assignments, hit
        assert used <= hit.max_assignments


def assert_recorded_once(log: Log) -> None:
    """Whatever the site has said yes to is in the crowd's record and in ours, as it was sent."""
    sheets = dict(log.taken_in)
    recorded = {
        work.assignment_id: work.answers
        for work in inhouse.Assignment.objects.filter(status__in=SUBMITTED_OR_DECIDED)
    }
    assert recorded == sheets
    ours = Counter(Assignment.objects.values_list("crowd_id", flat=True))
    assert ours == Counter(recorded.keys())
