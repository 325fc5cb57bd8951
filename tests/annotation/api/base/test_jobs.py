"""Long work is a job with an address."""

from annotation.models import AuditEntry, Campaign
from retrieval.models import Job
from tests.annotation.api.people import Program, is_problem


def test_work_that_takes_long_is_a_job_at_the_address_told(
    campaign: Campaign, owner: Program
) -> None:
    answer = owner.post("campaigns/faq/jobs/pack", key="one")
    assert answer.status_code == 202
    job = owner.get(answer.headers["Location"]).json()
    assert job == answer.json()
    assert (job["kind"], job["subject"], job["state"]) == ("pack", "faq", "queued")
    again = owner.post("campaigns/faq/jobs/pack", key="one")
    assert again.headers["Location"] == answer.headers["Location"]
    assert is_problem(owner.post("campaigns/faq/jobs/pack", key="two"), 422)  # under way
    assert AuditEntry.objects.get(verb="pack").via == "api"


def test_jobs_are_listed_by_what_they_are_for(campaign: Campaign, owner: Program) -> None:
    Job.objects.create(kind="count", subject="the database")
    owner.post("campaigns/faq/jobs/collect", key="one")
    rows = owner.get("jobs?subject=faq").json()["results"]
    assert [row["kind"] for row in rows] == ["collect"]
    assert [row["kind"] for row in owner.get("jobs").json()["results"]] == ["collect"]
