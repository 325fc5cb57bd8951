"""A list costs as many queries with many rows as with few, and counts no whole table."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.access.audit_log import by_api, record
from annotation.models import Campaign, ControlCandidate, Role, Worker
from retrieval.models import Job
from tests.annotation.api.campaign import campaign_at_work, submit
from tests.annotation.api.people import Program, person
from tests.annotation.support.hits import make_hit

PATHS = (
    "campaigns", "jobs", "log", "me", "releases", "campaigns/faq", "campaigns/faq/hits",
    "campaigns/faq/hits/1", "campaigns/faq/assignments", "campaigns/faq/workers",
    "campaigns/faq/triplets", "campaigns/faq/labels", "campaigns/faq/expert-labels",
    "campaigns/faq/builds", "campaigns/faq/roles", "campaigns/faq/controls", "controls", "pilots",
    "campaigns/faq/control-candidates", "campaigns/faq/control-drafts",
    "campaigns/faq/instructions", "campaigns/faq/snapshots",
    "campaigns/faq/charts", "campaigns/faq/worker-figures", "campaigns/faq/reports",
    "campaigns/faq/disagreements", "campaigns/faq/label-error",
    "campaigns/faq/workers/faq-worker-0/letters",
    "campaigns/faq/workers/faq-worker-0/exclusion-impact",
)  # fmt: skip


def asked_for(program: Program, path: str) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        assert program.get(path).status_code == 200
    return [query["sql"] for query in asked]


def grow(user: User, campaign: Campaign) -> None:
    """Some more of everything."""
    for number in range(4):
        other = campaign_at_work(f"other-{number}")
        Role.objects.create(user=user, campaign=other, name="owner")
        record(by_api(user), "pause", campaign=other)
        Job.objects.create(kind="pack", subject=other.name)
        hit = make_hit(campaign, real=[(f"more {number}", "question", "answer")])
        worker = Worker.objects.create(crowd="mturk", worker_id=f"more-{number}")
        submit(hit, worker)
    campaign.triplets.update(status="labelled", label=1, votes=2, positive_votes=2)
    for triplet in campaign.triplets.all():
        ControlCandidate.objects.get_or_create(triplet=triplet)
    for triplet in campaign.triplets.exclude(expert_labels__expert="cleo"):
        triplet.expert_labels.create(expert="cleo", label=1, source="sample")


@pytest.fixture
def ada(campaign: Campaign) -> User:
    return person("ada", campaign, "owner")


def test_many_rows_take_as_many_queries_as_few(campaign: Campaign, ada: User) -> None:
    record(by_api(ada), "pause", campaign=campaign)
    Job.objects.create(kind="pack", subject=campaign.name)
    program = Program(ada)
    program.get("me")
    few = {path: asked_for(program, path) for path in PATHS}
    grow(ada, campaign)
    for path in PATHS:
        many = asked_for(program, path)
        assert len(many) == len(few[path]) <= 20, path
        assert [sql for sql in many if "COUNT(" in sql and "GROUP BY" not in sql] == [], path
