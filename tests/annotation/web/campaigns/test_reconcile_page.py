"""What differs from the crowd's record is mended by a click, and told in sentences."""

from typing import Any

import pytest
from django.test import Client

from annotation.analytics.campaign.snapshots import take
from annotation.jobs.handlers import HANDLERS
from annotation.jobs.tasks import run_job
from annotation.models import AuditEntry, Snapshot
from retrieval.jobs import queue
from retrieval.models import Job
from tests.annotation.pipeline.reconcile.drift import delete_there
from tests.annotation.web.base.readers import plays
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

OVERVIEW = "/admin/campaigns/faq/"
PAGE = f"{OVERVIEW}reconcile"


@pytest.fixture
def published(stage: Stage) -> Stage:
    stage.publish()
    return stage


@pytest.fixture
def manager(published: Stage) -> Client:
    return plays("manager", published.campaign)


def text_of(response: Any) -> str:
    return " ".join(response.content.decode().split())


def done(job: Job) -> Job:
    """By a worker."""
    ran = queue.run(job.pk, "here", HANDLERS)
    assert ran
    return ran


def asked(client: Client, **options: str) -> Job:
    """By the page."""
    answer = client.post(PAGE, options)
    job = Job.objects.get(kind="reconcile", state="queued")
    assert (answer.status_code, answer["Location"]) == (302, f"/admin/jobs/{job.pk}")
    return job


def test_what_differs_is_mended_and_each_repair_is_told(published: Stage, manager: Client) -> None:
    gone = delete_there(published, 2)
    job = done(asked(manager))
    assert (job.state, job.error) == ("done", "")
    lost, asked_again = job.result["mended"]
    assert gone in lost
    assert (job.result["repairs"], job.result["left_to_you"]) == (2, [])
    for shown in (manager.get(f"/admin/jobs/{job.pk}"), manager.get(PAGE)):
        assert lost in text_of(shown)
        assert asked_again in text_of(shown)
    published.deliver()
    assert published.hit(2).crowd_id not in (None, gone)
    assert done(asked(manager)).result["mended"] == []


def test_what_is_left_to_a_person_is_told(published: Stage, manager: Client) -> None:
    """All HITs are away: only somebody who says so has them published again."""
    for number in range(1, 6):
        delete_there(published, number)
    job = done(asked(manager))
    (left,) = job.result["left_to_you"]
    assert "The crowd lists none of the 5 HITs of faq" in left
    assert left in text_of(manager.get(f"/admin/jobs/{job.pk}"))
    assert done(asked(manager, all_gone="yes")).result["repairs"] == 5 + 5


def test_every_hit_is_read_where_that_is_asked_for(published: Stage, manager: Client) -> None:
    done(asked(manager))
    assert Job.objects.latest("pk").done == 0
    done(asked(manager, full="yes"))
    assert Job.objects.latest("pk").arguments == {"full": True, "all_gone": False}
    logged = AuditEntry.objects.filter(verb="reconcile").order_by("pk")
    assert [entry.details["full"] for entry in logged] == [False, True]


def test_a_crowd_that_is_away_is_told_in_a_sentence(published: Stage, manager: Client) -> None:
    published.mturk.stop()
    job = done(asked(manager))
    assert job.state == "failed"
    assert job.error.startswith("The comparison of faq ended early, run it again: ")
    assert job.result["repairs"] == 0


def test_figures_are_taken_though_the_comparison_ended_early(
    published: Stage, manager: Client
) -> None:
    published.mturk.stop()
    manager.post(PAGE)
    job = Job.objects.get(kind="reconcile")
    before = Snapshot.objects.count()
    run_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert Snapshot.objects.count() == before + 1


def test_hits_that_cannot_be_read_come_with_the_repair(published: Stage, manager: Client) -> None:
    published.campaign.hits.filter(number__lte=2).update(fault="<no> such HIT.")
    blockers = take(published.campaign).figures["blockers"]
    assert blockers == [
        {
            "sentence": "2 HITs cannot be read: <no> such HIT; `quorum campaign reconcile faq` "
            "compares them with the crowd's record",
            "reason": "2 HITs cannot be read: <no> such HIT",
            "operation": "reconcile",
            "options": {},
            "alternative": None,
        }
    ]
    (trouble,) = manager.get(OVERVIEW).context["overview"].troubles
    assert [(one.title, one.link) for one in trouble.repairs] == [("Reconcile", PAGE)]
    viewer = plays("viewer", published.campaign)
    (trouble,) = viewer.get(OVERVIEW).context["overview"].troubles
    assert trouble.repairs == []


def test_a_hit_that_the_crowd_has_lost_is_readable_again(published: Stage, manager: Client) -> None:
    """The very trouble that the button is offered for."""
    delete_there(published, 2)
    published.mturk.clock.move_on(days=1)
    published.campaign.hits.filter(number=2).update(fault="no such HIT")
    done(asked(manager))
    published.deliver()
    published.advance()
    assert take(published.campaign).figures["blockers"] == []


def test_two_at_once_are_one(published: Stage, manager: Client) -> None:
    asked(manager)
    again = manager.post(PAGE)
    assert again.status_code == 409
    assert "is already running for faq" in text_of(again)
    assert AuditEntry.objects.filter(verb="reconcile").count() == 1
