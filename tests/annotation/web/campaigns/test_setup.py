"""The way from an empty site to a first campaign, each step with its button."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.inhouse.members import invite
from annotation.jobs.handlers import HANDLERS
from annotation.models import AuditEntry, Control
from annotation.pipeline.setup.create import create_campaign
from annotation.protocol.policy.crowds import INHOUSE
from annotation.protocol.policy.policy import Policy
from annotation.web.campaigns.setup import SAMPLE, SAMPLE_REQUEST, steps_of
from retrieval.jobs import queue
from retrieval.models import Job, QaPair
from tests.annotation.web.stage import make_member
from tests.support.pages import parse

pytestmark = pytest.mark.django_db

PAGE, LOAD, CONTROLS = "/admin/campaigns/", "/admin/database/sample", "/admin/controls/import"
TITLES = ["Account", "Question/answer pairs", "Search index", "Controls", "Campaign", "People"]


@pytest.fixture
def root(client: Client, settings: Settings, tmp_path: Path) -> Client:
    settings.DATA_DIR = tmp_path
    client.force_login(User.objects.create_superuser("root"))
    return client


def done(client: Client) -> list[str]:
    return [step.title for step in client.get(PAGE).context["setup"] if step.done]


def test_an_empty_site_shows_every_step_and_its_button(root: Client) -> None:
    page = parse(root.get(PAGE))
    assert [step.text for step in page.xpath("//ol[@class='setup-steps-list']//strong")] == TITLES
    assert done(root) == ["Account"]
    actions = [form.get("action") for form in page.xpath("//main//form")]
    assert actions == [LOAD, CONTROLS]
    links = {link.get("href") for link in page.xpath("//ol[@class='setup-steps-list']//a")}
    assert links == {
        "/admin/database/import", CONTROLS, "/admin/campaigns/new", "/team",
    }  # fmt: skip


def test_the_sample_data_comes_by_a_click_with_the_index_and_back_to_the_steps(
    root: Client,
) -> None:
    assert root.post(LOAD)["Location"] == PAGE
    job = Job.objects.get()
    assert job.arguments["source"] == SAMPLE_REQUEST.source
    assert job.arguments["index"] is True
    assert f"job-{job.pk}" in root.get(PAGE).content.decode()
    assert AuditEntry.objects.get().verb == "import pairs"
    queue.run(job.pk, "x", HANDLERS)
    assert QaPair.objects.filter(source="sample").count() > 500
    assert SAMPLE.is_file()
    assert "Question/answer pairs" in done(root)


def test_a_second_click_meanwhile_loads_nothing_twice(root: Client) -> None:
    root.post(LOAD)
    page = root.post(LOAD, follow=True)
    assert Job.objects.count() == 1
    assert "is" in " ".join(map(str, page.context["messages"]))


def test_the_shipped_controls_come_by_a_click_and_back_to_the_steps(root: Client) -> None:
    assert root.post(CONTROLS, {"shipped": "yes", "back": "dashboard"})["Location"] == PAGE
    assert Control.objects.count() >= Policy().control_pool_size
    assert "Controls" in done(root)
    assert root.post(CONTROLS, {"shipped": "yes", "back": "//x"})["Location"] == "/admin/controls/"


@pytest.mark.parametrize("permissions", [(), ("add_qapair",), ("add_indexversion",)])
def test_the_sample_needs_both_permissions(permissions: tuple[str, ...], client: Client) -> None:
    user = User.objects.create_user("carla", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    assert client.post(LOAD).status_code == 403
    assert not Job.objects.exists()


def test_who_creates_no_campaigns_sees_no_steps(client: Client) -> None:
    user = User.objects.create_user("carla", is_staff=True)
    client.force_login(user)
    assert steps_of(user) == []
    assert "To your first dataset" not in client.get(PAGE).content.decode()


def test_a_campaign_of_a_team_waits_for_people_and_one_of_a_paid_crowd_does_not(
    small_database: None, root: Client
) -> None:
    user = User.objects.get()
    create_campaign("team", policy=Policy(**INHOUSE.defaults()), seed=1, sample=1)
    assert "Campaign" in done(root)
    assert "People" not in done(root)
    invite(user, note="", days=7, uses=3, now=timezone.now())
    assert "People" not in done(root)  # nobody has joined yet
    make_member("ada")
    assert "People" in done(root)


def test_no_steps_are_shown_once_there_are_two_campaigns(
    small_database: None, root: Client
) -> None:
    for name in ("one", "two"):
        create_campaign(name, policy=Policy(), seed=1, sample=1)
    assert root.get(PAGE).context["setup"] == []
