"""Nothing that the pages of an unpaid team's campaign show speaks of HITs, or of money."""

import re
from pathlib import Path

import pytest
from django.test import Client

from annotation.analytics.campaign.snapshots import take
from annotation.analytics.workers import worker_figures
from annotation.models import Workforce
from annotation.operations.registry import OPERATIONS
from annotation.protocol.policy.crowds import INHOUSE
from annotation.web.workers.workers import times_chart
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.annotation.web.walk.crawl import crawl, texts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]

OF_MONEY = {"budget", "bonus", "cancel-bonus", "pilot"}  # no page of a team leads to them
PAID_BESIDE_IT = "second-crowd"  # which may be one that is paid
UNSAID = re.compile(
    r".{0,60}\b(?:HITs?|Mechanical Turk|Masters|requester|fees?|paid|pay|prices?|costs?|budget|"
    r"money|dollars?|bonus)\b.{0,40}",
    re.DOTALL | re.IGNORECASE,
)


def work_on(team: Team) -> None:
    """Two agree in all but one task, which failed."""
    team.publish()
    work = team.take("ada")
    assert work is not None
    team.submit(work, slips=1)
    for name in ("ada", "bob"):
        team.work(name)
    team.advance()
    worker_figures.take(team.campaign)


@pytest.mark.parametrize("is_published", [False, True])
def test_no_page_of_a_team_s_campaign_speaks_of_hits_or_money(
    tmp_path: Path, admin_client: Client, is_published: bool
) -> None:
    team = own_team(tmp_path)
    if is_published:
        work_on(team)
    take(team.campaign, clock=team.clock.now)
    name = team.campaign.name
    own = f"/admin/campaigns/{name}/"
    pages = crawl(admin_client, [own], (own, f"/campaigns/{name}/"))
    pages.pop(f"{own}operations/{PAID_BESIDE_IT}", None)
    for operation in OPERATIONS.keys() - OF_MONEY - {PAID_BESIDE_IT}:
        address = f"{own}operations/{operation}"
        pages[address] = admin_client.get(address).content.decode()
    assert len(pages) > 70
    found = {
        words: address
        for address, page in pages.items()
        if page
        for words in UNSAID.findall(" ".join(texts(page)))
    }
    assert found == {}


def test_neither_does_the_chart_of_its_people_s_times() -> None:
    figures = {"timed": 2, "step_s": 60, "counts": [1, 1]}
    chart = times_chart(Workforce(figures=figures)).said(INHOUSE)
    assert chart.title == "Active time of a task"
    assert (chart.unit, chart.header) == ("Tasks", ["Active time", "Tasks"])
