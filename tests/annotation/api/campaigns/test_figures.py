"""Figures are counted by a job and shown as charts."""

from annotation.jobs.handlers import HANDLERS
from annotation.models import Campaign
from retrieval.jobs.queue import run, waiting_jobs
from tests.annotation.api.people import Program, is_problem


def work_off() -> None:
    for job in waiting_jobs():
        run(job.pk, "here", HANDLERS)


def test_counted_figures_become_charts_with_their_rows(campaign: Campaign, owner: Program) -> None:
    assert owner.get("campaigns/faq/charts").json() == []
    assert owner.get("campaigns/faq/workforce").json() == {"at": None, "figures": None}
    job = owner.post("campaigns/faq/jobs/snapshot", key="one")
    assert job.status_code == 202
    work_off()
    keys = [chart["key"] for chart in owner.get("campaigns/faq/charts").json()]
    assert keys[:2] == ["labels", "agreement"]
    votes = owner.get("campaigns/faq/charts/votes").json()
    assert dict(zip(votes["labels"], votes["series"][0]["values"], strict=True))["2"] == 1
    assert owner.get("campaigns/faq/snapshots").json()["results"][0]["figures"]["labelled"] == 1
    (row,) = owner.get("campaigns/faq/worker-figures").json()["results"]
    assert (row["worker"], row["submitted"]) == ("faq-worker-0", 1)
    assert is_problem(owner.get("campaigns/faq/charts/none"), 404)
