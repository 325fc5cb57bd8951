"""Every page of a campaign in a browser: open to everybody, in light, in dark and on a phone."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.access.audit_log import by_command, record
from annotation.analytics.campaign.plan import prediction_of
from annotation.analytics.campaign.snapshots import take
from annotation.analytics.quality import review_figures
from annotation.analytics.workers import worker_figures
from annotation.models import (
    Account,
    Campaign,
    Control,
    ControlCandidate,
    ItemReport,
    OutboxMessage,
    Role,
    Worker,
)
from annotation.pipeline.labelling.label import write_labels
from annotation.pipeline.publishing.publish import publish
from retrieval.models import Job
from tests.annotation.analytics.quality.test_aggregation import say
from tests.annotation.simulation.test_dry_run import made_up
from tests.annotation.support.biased_crowd import biased_crowd
from tests.annotation.support.hits import make_campaign
from tests.browser.conftest import sign_in
from tests.browser.eye import OWN_WORK, PHONE, Eye
from tests.worlds.small_campaign import Stage

HERE = "/admin/campaigns/faq/"
Pages = Callable[[Campaign], list[str]]

TABS = "milestones dry-run review/ triplets/ hits/ assignments/ controls/ workers/ roles/ log/"
OTHERS = (
    "publish",
    "publish?first=1",
    "reconcile",
    "review/import",
    "triplets/?status=labelled",
    "triplets/?votes=x",
    "hits/?state=faulty",
    "workers/reports",
    "log/?verb=import+pairs",
    "control-drafts",
)
OPERATIONS = (
    "budget",
    "budget?amount=20000",
    "budget?amount=0",
    "pause",
    "resume",
    "extend?days=9",
    "cancel",
    "exclude?worker={careful}",
    "exclude?worker={careful}&reason=Your+answers+differ",
    "restore?worker={spammer}",
    "bonus?assignment={assignment}&amount=1.5&reason=Thanks",
    "nothing",
)


@pytest.fixture
def judged(stage: Stage, live_server: LiveServer, settings: Settings) -> Stage:
    """Three HITs of five are out, two are judged; eve is excluded, a call was refused."""
    settings.PUBLIC_URL = live_server.url
    publish(stage.campaign, stage.mturk.crowd, most=3)
    stage.deliver()
    stage.work("ada", 1, 1)
    stage.work("bob", 1, lambda _, rank: int(rank > 1))
    stage.work("ada", 2, 0)
    stage.work("eve", 2, slips=2)
    stage.advance()
    campaign = stage.campaign
    eve = Worker.objects.get(worker_id="AEVE")
    campaign.exclusions.create(worker=eve, failures=3, reviewed=3)
    work = stage.hit(1).assignments.get(worker__worker_id="AADA")
    item = stage.hit(1).items.exclude(triplet=None)[0]
    ItemReport.objects.create(assignment=work, item=item, reason="unclear", text="Which bread?")
    report = {"campaign": campaign, "state": "failed", "error": "No such HIT.", "attempts": 1}
    OutboxMessage.objects.create(
        token="one", kind="extend", hit=stage.hit(2), new_assignments=1, **report
    )
    record(by_command(), "pause", campaign=campaign, details={"reason": "a look", "hits": 5})
    for figures in (take, worker_figures.take, review_figures.take):
        figures(campaign)
    return stage


def make_jobs() -> list[Job]:
    """Under way, waiting, given up and done."""
    now = timezone.now()
    kind = {"kind": "dry-run", "subject": "faq"}
    return [
        Job.objects.create(**kind, state="running", stage="playing", done=1234, total=56789),
        Job.objects.create(kind="collect", subject="faq"),
        Job.objects.create(
            kind="publish", subject="faq", state="failed", error="No answer.", ended_at=now
        ),
        Job.objects.create(**kind, state="done", result=made_up(), ended_at=now),
    ]


def of_the_campaign(campaign: Campaign) -> list[str]:
    return [HERE, "/admin/campaigns/", *(HERE + page for page in (*TABS.split(), *OTHERS))]


def of_its_parts(campaign: Campaign) -> list[str]:
    triplet = campaign.triplets.filter(votes=2).order_by("pk")[0]
    eve = Worker.objects.get(worker_id="AEVE")
    own = Control.objects.filter(campaign=campaign).order_by("pk")[0]
    campaign.control_drafts.create(
        kind="positive",
        origin="rewording",
        query=triplet.candidate.query,
        question="In other words?",
        answer="Ten.",
    )
    waiting = ControlCandidate.objects.create(triplet=triplet)
    return [
        f"{HERE}triplets/{triplet.pk}",
        f"{HERE}hits/{campaign.hits.get(number=2).pk}",
        f"{HERE}workers/{eve.pk}",
        f"{HERE}controls/{own.pk}",
        f"{HERE}operations/replace-control?control={own.pk}",
        f"{HERE}operations/confirm-control?triplet={waiting.triplet_id}",
        *(f"/admin/jobs/{job.pk}" for job in make_jobs()),
        f"{HERE}dry-run",
        f"{HERE}controls/",
        f"{HERE}control-drafts",
        "/admin/campaigns/nowhere/",
    ]


def operations(campaign: Campaign) -> list[str]:
    work = campaign.hits.get(number=1).assignments.get(worker__worker_id="AADA")
    named = {"careful": "AADA", "spammer": "AEVE", "assignment": work.crowd_id}
    return [f"{HERE}operations/{operation}".format(**named) for operation in OPERATIONS]


def of_a_new_one(campaign: Campaign) -> list[str]:
    """What stands there before there is anything."""
    Account.objects.create(campaign=make_campaign("new-one"))
    pages = ("", "publish", "workers/reports", *TABS.split())
    return [f"/admin/campaigns/new-one/{page}" for page in pages]


@pytest.fixture
def root(eye: Eye, judged: Stage) -> Eye:
    sign_in(eye.page, eye.url, "root")
    return eye


@pytest.mark.parametrize("pages", [of_the_campaign, of_its_parts, operations, of_a_new_one])
def test_the_pages_are_open_to_everybody_in_light_in_dark_and_on_a_phone(
    root: Eye, judged: Stage, pages: Pages
) -> None:
    root.open(*pages(judged.campaign), expect=(200, 404, 422))
    root.assert_well()


def test_so_are_those_of_whoever_may_look_and_do_nothing(eye: Eye, judged: Stage) -> None:
    viewer = User.objects.create_user("dan")
    Role.objects.create(user=viewer, campaign=judged.campaign, name="viewer")
    sign_in(eye.page, eye.url, viewer)
    eye.open(HERE, f"{HERE}milestones", f"{HERE}controls/")
    eye.open(f"{HERE}operations/budget", f"{HERE}roles/", expect=(200, 403))
    eye.assert_well()


@pytest.fixture
def plan(page: Page, live_server: LiveServer, small_database: None) -> Page:
    campaign = biased_crowd(positive_controls=2).campaign
    Account.objects.create(campaign=campaign)
    write_labels(campaign)
    say(campaign)
    campaign.plan = prediction_of(campaign.policy, 120, [campaign], 6)
    campaign.save()
    take(campaign)
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/campaigns/faq/plan?error=0.25&people=9&queries=20")
    return page


def test_it_is_open_to_everybody_and_a_choice_begins_a_campaign(
    plan: Page, live_server: LiveServer
) -> None:
    expect(plan.get_by_text("The cheapest that meets this is")).to_be_visible()
    eye = Eye(plan, at=PHONE, other=OWN_WORK, thorough=True)
    plan.reload()
    eye.look("plan")
    plan.goto(f"{live_server.url}/admin/campaigns/faq/")
    expect(plan.get_by_role("heading", name="As planned?")).to_be_visible()
    eye.look("as-planned")
    eye.assert_well()
    plan.goto(f"{live_server.url}/admin/campaigns/faq/plan?error=0.25&people=9&queries=20")
    plan.get_by_role("button", name="Create a campaign with 90% sure").click()
    expect(plan.get_by_text("The rules of the new campaign are those of the plan")).to_be_visible()
    expect(plan.get_by_label("How many to sample")).to_have_value("20")
