"""A campaign made by a job: all of it in one transaction, however often the job is run."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from annotation.access.audit_log import by_api, by_page
from annotation.jobs.handlers import HANDLERS
from annotation.models import Account, AuditEntry, Campaign, Role
from annotation.operations.campaigns import Wanted, own_queries_folder, request_creation
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from retrieval.jobs import queue
from retrieval.models import Job, Query, QuerySet
from retrieval.query_sets.held_out import CHANGED, draw_queries
from tests.support.threads import together
from tests.worlds.small_campaign import POLICY

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]

RULES = Policy.from_dict(POLICY)
SAMPLED = Wanted("faq", RULES.to_dict(), seed=7, sample=3, budget_cents=500)


@pytest.fixture
def carla(small_database: None, tmp_path: Path, settings: Settings) -> User:
    settings.DATA_DIR = tmp_path / "data"
    return User.objects.create_user("carla")


def run(job: Job) -> Job:
    queue.run(job.pk, "x", HANDLERS)
    job.refresh_from_db()
    return job


def nothing_is_made() -> bool:
    made = (Campaign, QuerySet, Account, Role, AuditEntry)
    return not any(model._default_manager.exists() for model in made)


def test_the_job_makes_the_campaign_with_all_that_belongs_to_it(carla: User) -> None:
    job = request_creation(SAMPLED, by=by_api(carla))
    assert nothing_is_made()
    assert run(job).result == {"campaign": "faq", "queries": 3, "duplicate_queries": 0}
    campaign = Campaign.objects.get()
    assert campaign.policy == RULES
    assert campaign.account.budget_cents == 500
    assert Role.objects.get(campaign=campaign, user=carla).name == "owner"
    logged = AuditEntry.objects.get()
    assert (logged.verb, logged.via, logged.actor, logged.campaign) == (
        "create",
        "api",
        "carla",
        campaign,
    )


def test_a_job_cut_off_after_its_work_says_the_same_when_it_runs_again(carla: User) -> None:
    job = run(request_creation(SAMPLED, by=by_page(carla)))
    report = job.result
    Job.objects.update(state="running", beat_at=None, ended_at=None)
    again = run(job)
    assert (again.state, again.result) == ("done", report)
    assert Campaign.objects.count() == AuditEntry.objects.count() == 1


def test_a_refused_sample_leaves_nothing(carla: User) -> None:
    wanted = Wanted("faq", RULES.to_dict(), seed=7, sample=37)
    job = run(request_creation(wanted, by=by_page(carla)))
    assert job.state == "failed"
    assert "holds only 36 distinct questions" in job.error
    assert nothing_is_made()


def test_a_name_taken_meanwhile_fails_the_job(carla: User) -> None:
    job = request_creation(SAMPLED, by=by_page(carla))
    create_campaign("faq", policy=RULES, seed=1, sample=1)
    assert "There is a campaign 'faq' already" in run(job).error


def test_a_name_is_of_one_campaign_to_come(carla: User) -> None:
    request_creation(SAMPLED, by=by_page(carla))
    with pytest.raises(UserError, match="already running for faq"):
        request_creation(SAMPLED, by=by_page(carla))


@pytest.mark.parametrize("name", ["new", "no name", "-"])
def test_a_name_that_cannot_be_is_told_before_any_work(carla: User, name: str) -> None:
    with pytest.raises(UserError):
        request_creation(Wanted(name, RULES.to_dict(), seed=1, sample=1), by=by_page(carla))
    assert not Job.objects.exists()


def test_whoever_asked_must_still_be_there_to_own_it(carla: User) -> None:
    job = request_creation(SAMPLED, by=by_page(carla))
    carla.delete()
    assert "was deleted or closed" in run(job).error
    assert nothing_is_made()


def test_a_closed_account_owns_no_new_campaign(carla: User) -> None:
    job = request_creation(SAMPLED, by=by_page(carla))
    User.objects.update(is_active=False)
    assert "deleted or closed" in run(job).error
    assert nothing_is_made()


@pytest.mark.django_db(transaction=True)
def test_no_question_is_held_out_by_two_who_create_at_once(carla: User) -> None:
    """A person who has drawn what another has just held out is told, and makes nothing."""
    names = [f"faq-{number}" for number in range(6)]
    same = [replace(SAMPLED, name=name) for name in names]
    jobs_of = [request_creation(wanted, by=by_page(carla)) for wanted in same]
    together(*(partial(run, job) for job in jobs_of))
    done = Job.objects.filter(state="done").count()
    assert done >= 1
    assert set(Job.objects.exclude(state="done").values_list("error", flat=True)) <= {CHANGED}
    held_out = list(Query.objects.values_list("question_key", flat=True))
    assert len(set(held_out)) == len(held_out) == 3 * done


@pytest.mark.django_db(transaction=True)
def test_of_those_who_have_drawn_the_same_questions_one_holds_them_out(carla: User) -> None:
    drawn = draw_queries(3, seed=7)

    def refusal(number: int) -> str:
        try:
            drawn.save(f"faq-{number}")
        except UserError as error:
            return str(error)
        return ""

    report = together(*(partial(refusal, number) for number in range(6)))
    assert sorted(report) == ["", *[CHANGED] * 5]
    assert QuerySet.objects.get().queries.count() == 3


def test_a_file_that_is_away_is_told_by_its_owners_name_for_it(carla: User, tmp_path: Path) -> None:
    wanted = Wanted("faq", RULES.to_dict(), seed=7, stored="abc.txt", file="mine.txt")
    job = run(request_creation(wanted, by=by_page(carla)))
    assert "mine.txt" in job.error
    assert str(tmp_path) not in job.error


def test_a_file_is_gone_when_its_campaign_is_there(carla: User) -> None:
    own_queries_folder().mkdir(parents=True)
    path = own_queries_folder() / "abc.txt"
    path.write_text("one?\ntwo?\n")
    wanted = Wanted("faq", RULES.to_dict(), seed=7, stored="abc.txt", file="mine.txt")
    assert run(request_creation(wanted, by=by_page(carla))).state == "done"
    assert Campaign.objects.get().query_set.queries.count() == 2
    assert not path.exists()
