"""Nothing that the pages of a team's campaign show to people speaks of HITs."""

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.test import Client
from lxml import html

from annotation.analytics.campaign.snapshots import take
from annotation.analytics.workers import worker_figures
from annotation.models import Workforce
from annotation.operations.registry import OPERATIONS
from annotation.protocol.policy.crowds import INHOUSE
from annotation.web.workers.workers import times_chart
from tests.annotation.pipeline.whole.own_crowd import Team, own_team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]

HITS = re.compile(r".{0,60}\bHITs?\b.{0,40}", re.DOTALL)
ATTRIBUTES = ("title", "aria-label", "placeholder", "alt", "content")


def said_to_people(page: str) -> str:
    """The texts of a page, those of charts and of what is read out included."""
    document = html.document_fromstring(page)
    attributes = " | ".join(f"//@{name}" for name in ATTRIBUTES)
    texts = document.xpath(f"//text()[not(ancestor::style)] | {attributes}")
    return " ".join(" ".join(texts).split())


def pages_of(client: Client, first: str, within: tuple[str, ...]) -> dict[str, str]:
    """All that links lead to from there, within the campaign."""
    waiting, pages = [first], {}
    while waiting:
        address = waiting.pop()
        if address in pages:
            continue
        answer = client.get(address)
        pages[address] = ""
        if answer.status_code != 200 or "text/html" not in answer["Content-Type"]:
            continue
        pages[address] = answer.content.decode()
        links = html.document_fromstring(pages[address]).xpath("//a/@href | //iframe/@src")
        found = (urljoin(address, link).partition("#")[0] for link in links)
        waiting += [link for link in found if link.startswith(within) and "sort=" not in link]
    return pages


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
def test_no_page_of_a_team_s_campaign_speaks_of_hits(
    tmp_path: Path, admin_client: Client, is_published: bool
) -> None:
    team = own_team(tmp_path)
    if is_published:
        work_on(team)
    take(team.campaign, clock=team.clock.now)
    name = team.campaign.name
    own = f"/admin/campaigns/{name}/"
    pages = pages_of(admin_client, own, (own, f"/campaigns/{name}/"))
    for operation in OPERATIONS:
        address = f"{own}operations/{operation}"
        pages[address] = admin_client.get(address).content.decode()
    assert len(pages) > 90
    found = {
        words: address
        for address, page in pages.items()
        if page
        for words in HITS.findall(said_to_people(page))
    }
    assert found == {}


def test_neither_does_the_chart_of_its_people_s_times() -> None:
    figures = {"timed": 2, "step_s": 60, "counts": [1, 1]}
    chart = times_chart(Workforce(figures=figures)).said(INHOUSE)
    assert chart.title == "Active time of a task"
    assert (chart.unit, chart.header) == ("Tasks", ["Active time", "Tasks"])
