"""Long work as the pages show it: how far it is, what came of it, and to whom it is told."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone
from lxml import html
from lxml.html import HtmlElement

from annotation.jobs.handlers import HANDLERS
from annotation.models import Campaign, Role
from retrieval.jobs import queue
from retrieval.models import Job
from tests.annotation.support.hits import make_campaign
from tests.support.pages import Response
from tests.worlds.small_campaign import retrieved_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_user("owner")


@pytest.fixture
def campaign(small_database: None, tmp_path: Path, owner: User) -> Campaign:
    made = retrieved_campaign(tmp_path)
    Role.objects.create(user=owner, campaign=made, name="owner")
    return made


@pytest.fixture
def job(campaign: Campaign, owner: User) -> Job:
    return queue.request("pack", campaign.name, {}, by=owner)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(job: Job) -> str:
    return f"/admin/jobs/{job.pk}"


def look(client: Client, job: Job) -> Response:
    """As htmx asks."""
    return client.get(address(job), headers={"HX-Request": "true"})


def part(job: Job) -> HtmlElement:
    """What another page includes."""
    job.refresh_from_db()
    return html.fromstring(render_to_string("annotation/base/_job.html", {"job": job}))


def test_work_that_waits_asks_for_itself_until_it_has_ended(job: Job, owner: User) -> None:
    shown = part(job)
    assert shown.get("hx-get") == address(job)
    assert shown.get("hx-trigger") == "every 2s"
    assert "as soon as a worker process is free" in shown.text_content()
    response = look(signed_in(owner), job)
    assert "HX-Refresh" not in response
    assert b"<html" not in response.content
    assert html.fromstring(response.content).get("id") == shown.get("id")


def test_the_stage_and_its_count_move_the_bar(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(
        state="running", stage="packing HITs", done=1200, total=4800
    )
    shown = part(job)
    assert "Packing HITs: 1,200 of 4,800" in shown.text_content()
    [bar] = shown.xpath(".//progress")
    assert (bar.get("value"), bar.get("max")) == ("1200", "4800")


def test_a_stage_of_unknown_length_has_a_bar_without_a_value(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(state="running", stage="collecting HITs", done=7)
    shown = part(job)
    assert "Collecting HITs: 7" in shown.text_content()
    [bar] = shown.xpath(".//progress")
    assert bar.get("value") is None


def test_the_page_around_it_loads_again_when_the_work_has_ended(job: Job, owner: User) -> None:
    queue.run(job.pk, "x", HANDLERS)
    assert look(signed_in(owner), job)["HX-Refresh"] == "true"
    shown = part(job)
    assert shown.get("hx-get") is None
    figures = dict(zip(*(shown.xpath(f".//{tag}/text()") for tag in ("dt", "dd")), strict=True))
    assert (figures["Triplets"], figures["HITs"]) == ("25", "5")
    assert figures["Note"].startswith("Too few HITs to measure")
    assert "Requested" in shown.text_content()
    assert "by owner" in shown.text_content()


def test_work_that_failed_says_why(job: Job, campaign: Campaign, owner: User) -> None:
    campaign.query_set.queries.first().candidates.all().delete()  # type: ignore[union-attr]
    queue.run(job.pk, "x", HANDLERS)
    [note] = part(job).xpath(".//p[@role='alert']")
    assert "has 20 candidates where its policy wants 25" in note.text_content()
    assert signed_in(owner).get(address(job)).status_code == 200


def test_what_it_says_is_a_text_whoever_has_written_it(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(
        state="failed", error="<script>alert(1)</script>", ended_at=timezone.now()
    )
    shown = part(job)
    assert shown.xpath(".//script") == []
    assert "<script>alert(1)</script>" in shown.text_content()


def test_without_a_job_the_part_is_empty() -> None:
    assert render_to_string("annotation/base/_job.html", {"job": None}).strip() == ""


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("owner", 200),
        ("viewer", 200),
        ("staff", 200),
        ("stranger", 404),
        ("annotator", 403),
        ("nobody", 302),
    ],
)
def test_who_sees_the_work_of_a_campaign(
    job: Job, campaign: Campaign, owner: User, who: str, status: int
) -> None:
    if who == "nobody":
        client = Client()
    elif who == "owner":
        client = signed_in(owner)
    else:
        user = User.objects.create_user(who, is_staff=who == "staff")
        if who in ("viewer", "annotator"):
            Role.objects.create(user=user, campaign=campaign, name=who)
        if who == "stranger":  # has a part in something else
            Role.objects.create(user=user, campaign=make_campaign("other"), name="owner")
        client = signed_in(user)
    assert client.get(address(job)).status_code == status
    assert client.post(address(job)).status_code in {405, status}


def test_a_source_named_like_a_campaign_tells_its_viewers_nothing(campaign: Campaign) -> None:
    viewer = User.objects.create_user("viewer")
    Role.objects.create(user=viewer, campaign=campaign, name="viewer")
    theirs = queue.request("index", campaign.name, {}, by=None)
    assert signed_in(viewer).get(address(theirs)).status_code == 404


def test_who_was_signed_out_meanwhile_is_led_to_the_form(job: Job) -> None:
    response = look(Client(), job)
    assert response.status_code == 403
    assert response["HX-Refresh"] == "true"


def test_no_such_work(owner: User, campaign: Campaign) -> None:
    assert signed_in(owner).get("/admin/jobs/999999").status_code == 404


def test_work_on_the_database_leads_back_there(owner: User) -> None:
    staff = User.objects.create_user("cleo", is_staff=True)
    counting = queue.request("count", "the database", {}, by=owner)
    for user, links in ((staff, 1), (owner, 0)):
        page = html.fromstring(signed_in(user).get(address(counting)).content.decode())
        assert len(page.xpath("//main//a[@href='/admin/database/']")) == links
