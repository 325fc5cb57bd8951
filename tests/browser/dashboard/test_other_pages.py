"""The pages that are no campaign's own: open to everybody, in light, in the dark and on a phone."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.access.audit_log import by_command, record
from annotation.analytics.campaign.snapshots import take
from annotation.crowd.inhouse.members import invite
from annotation.jobs.handlers import HANDLERS
from annotation.models import Control, ExpertLabel, Pilot, Role
from annotation.pipeline.setup.create_pilot import create_pilot
from retrieval.corpus.withdraw import withdraw_pairs
from retrieval.jobs.count_sources import ask_to_count
from retrieval.jobs.queue import run
from retrieval.models import IndexVersion, Job, QaPair
from retrieval.registry.registry import register
from tests.annotation.support.events import delivered, webhook
from tests.annotation.web.stage import make_member
from tests.browser.conftest import sign_in
from tests.browser.eye import Eye
from tests.retrieval.jobs.run_jobs import sent, worked
from tests.retrieval.registry.trainings import SELECTOR, trained
from tests.worlds.small_campaign import POLICY, Stage, retrieved_campaign

# Moderate ones, all of how Swagger UI orders its landmarks and headings.
SWAGGERS = frozenset({
    "heading-order", "landmark-main-is-top-level", "landmark-no-duplicate-main", "landmark-unique",
})  # fmt: skip
ROWS = b"question,answer\nWhy is the sky blue?,Light is scattered.\nWhy?\n"


@pytest.fixture
def root(eye: Eye) -> Eye:
    sign_in(eye.page, eye.url, "root")
    return eye


def test_before_the_sign_in(eye: Eye) -> None:
    code = invite(None, note="", days=7, uses=9, now=timezone.now())
    eye.open("/", "/sign-in", f"/join/{code}")
    eye.open("/nothing", expect=404)
    eye.open("/hit/nothing", expect=404)
    eye.page.goto(f"{eye.url}/sign-in")
    eye.page.get_by_label("Username").fill("ada")
    eye.page.get_by_label("Password").fill("a guess")
    eye.page.get_by_role("button", name="Sign in").click()
    eye.page.get_by_role("alert").wait_for()
    eye.look("a wrong password")
    eye.assert_well()


def test_accounts_and_the_team(root: Eye) -> None:
    me = User.objects.get(username="root")
    invite(me, note="the spring team, second floor", days=14, uses=5, now=timezone.now())
    for name in ("ada", "bob"):
        make_member(name, active=name == "ada")
    for _ in range(11):
        Client().post("/sign-in", {"username": "ada", "password": "a guess"})
    record(by_command(), "invite", subject="ada", details={"days": 7})
    root.open("/password", "/team", "/admin/log/", "/admin/lockouts/")
    root.theirs = SWAGGERS
    root.open("/api/", until=".opblock-tag")
    root.assert_well()


def test_webhooks_events_and_mails(root: Eye) -> None:
    sent = delivered()
    sent.tries.create(at=sent.event.at, status=503, error="The receiver answered 503.")
    webhook("https://example.org/" + "long" * 40, active=False, fault="The receiver answered 410.")
    root.open("/admin/webhooks/", "/admin/events/", f"/admin/events/{sent.event_id}", "/mails")
    root.open("/password/reset", "/password/set/x/x")
    root.assert_well()


def test_an_empty_site(root: Eye) -> None:
    """What each page says where there is nothing yet."""
    root.open(
        "/admin/campaigns/", "/admin/campaigns/new", "/admin/database/", "/admin/database/search",
        "/admin/database/import", "/admin/database/models", "/admin/controls/", "/admin/pilots/",
        "/admin/log/", "/releases",
    )  # fmt: skip
    root.assert_well()


def counted() -> None:
    for job in Job.objects.filter(state=Job.State.QUEUED):
        run(job.pk, "worker", HANDLERS)
    if job := ask_to_count(None):
        worked(job)


def test_the_database(root: Eye, small_database: None) -> None:
    done = worked(sent({"sky.csv": ROWS}, source="sky", license="CC0"))
    failed = worked(sent({"page.csv": b"a,b\n1,2\n"}, source="sky"))
    counted()
    waiting = sent({"more.csv": ROWS}, source="more")
    Job.objects.filter(pk=waiting.pk).update(state="running", stage="reading", done=6, total=15)
    gone, pair = QaPair.objects.order_by("pk")[:2]
    withdraw_pairs([gone.pair_key])
    home = "/admin/database/"
    root.open(
        home, f"{home}search?q={pair.pk}&by=id", f"{home}search?q=zzz&by=id",
        f"{home}import?source=sky", *(f"{home}imports/{one.pk}" for one in (done, failed, waiting)),
        f"{home}pairs?source=faq", f"{home}pairs/{pair.pk}", f"{home}pairs/{gone.pk}",
        f"/admin/jobs/{failed.pk}",
    )  # fmt: skip
    root.assert_well()


def test_the_models(root: Eye, small_database: None, settings: Settings, tmp_path: Path) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    IndexVersion.objects.update(trained=register(trained("faq-qqa")))
    register(trained("faq-qaq", **SELECTOR))
    root.open(
        "/admin/database/models", "/admin/database/models/faq-qqa",
        "/admin/database/models/faq-qaq", "/admin/database/", "/admin/campaigns/new",
    )  # fmt: skip
    root.assert_well()


def test_the_trainings(root: Eye, small_database: None, settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = settings.MODELS_DIR = tmp_path
    register(trained("faq-qqa"))
    figure = {"value": 0.4567, "low": 0.41, "high": 0.52}
    difference = {**figure, "value": -0.0123, "p": 0.0421}
    measured = {
        "metrics": {"P@1": figure, "MAP": figure},
        "difference": {"P@1": difference, "MAP": difference},
        "against": {"run": "retriever"},
    }
    text = "test of faq-1\n\n" + "system   P@1     MAP     MRR     Hit@5   Hit@10 " * 4
    report = {"title": "Question Reranking, Table 1", "text": text}
    report["plots"] = {"figures": "table-hit.svg", "hit": "table-hit.svg"}
    (tmp_path / "experiments").mkdir()
    for theme in ("", "-dark"):
        drawn = "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='200'/>"
        (tmp_path / "experiments" / f"table-hit{theme}.svg").write_text(drawn)
    results = {"model": "faq-qqa", "recipe": "retriever-qqa", "release": "faq-1", "P@1": 0.484}
    rows = [
        ("train", "faq-qqa", "done", {"result": results}),
        ("train", "faq-qaq", "failed", {"error": "Cancelled by ada."}),
        ("train", "slow", "running", {"stage": "learning the release", "done": 40, "total": 120}),
        ("score", "faq-qqa, test, on faq-1", "done", {"result": {**results, "measured": measured}}),
        ("experiment", "reranking-1, cpu, on faq-1", "done", {"result": {"report": report}}),
    ]
    jobs = [
        Job.objects.create(kind=kind, subject=subject, state=state, **more)
        for kind, subject, state, more in rows
    ]
    home = "/admin/database/trainings"
    root.open(home, *(f"{home}/{job.pk}" for job in jobs))
    root.page.goto(f"{root.url}{home}")
    root.page.get_by_text("Train a model").click()
    root.look("a training to ask for")
    root.assert_well()


def test_a_new_campaign_step_by_step(root: Eye, small_database: None) -> None:
    page, new = root.page, "/admin/campaigns/new"
    root.open(new)
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("Please correct the field").wait_for()
    root.look("queries that are refused")
    page.get_by_label("Paid workers of a Mechanical").check()
    page.get_by_label("Name", exact=True).fill("faq")
    page.get_by_label("How many to sample").fill("3")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="The rules of faq").wait_for()
    page.get_by_text("Advanced", exact=True).click()
    for name in ("candidates_per_query", "control_pool_size"):
        page.locator(f"[name={name}]").fill(str(POLICY[name]))
    root.look("the policy")
    page.locator("[name=hit_size]").fill("0")
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("Please correct the field").wait_for()
    root.look("a policy that is refused")
    page.locator("[name=hit_size]").fill("7")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="What faq will cost").wait_for()
    root.look("the budget")
    root.assert_well()


def judged(pilot: Pilot) -> None:
    """With the answer 1 of 10 is wrong, without it 3."""
    for condition, wrong in ((pilot.shown, 1), (pilot.hidden, 3)):
        for number, triplet in enumerate(
            condition.triplets.order_by("candidate__query__key", "pk")
        ):
            triplet.status, triplet.label, triplet.votes = "labelled", int(number < wrong), 2
            triplet.save()
            if condition == pilot.shown:
                ExpertLabel.objects.create(triplet=triplet, expert="bob", label=0, source="import")


def test_campaigns_controls_and_pilots(root: Eye, small_database: None, tmp_path: Path) -> None:
    source = retrieved_campaign(tmp_path)
    take(source)
    judged(create_pilot(source, "answers", triplets=10, seed=3))
    create_pilot(source, "waiting", triplets=5, seed=4)
    root.open("/admin/campaigns/", "/admin/pilots/", "/admin/pilots/answers/")
    root.open("/admin/pilots/waiting/", "/admin/controls/", "/admin/operations/add-control")
    control = f"/admin/controls/{Control.objects.earliest('pk').pk}"
    root.open(control, "/admin/controls/import", "/campaigns/faq/releases")
    page = root.page
    page.goto(f"{root.url}/admin/pilots/")
    page.get_by_role("link", name="faq", exact=True).click()
    page.get_by_label("Name of the pilot").fill("third")
    page.locator("[name=triplets]").fill("5")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Create both campaigns").wait_for()
    root.look("the price of a pilot")
    page.goto(f"{root.url}{control}")
    page.get_by_role("link", name="Retire").click()
    page.get_by_role("button", name="Retire control").click()
    root.open("/admin/controls/?show=retired", control)
    root.assert_well()


def test_the_records(root: Eye, one_hit: Stage) -> None:
    for name in ("ada", "bob"):
        one_hit.work(name, 1)
    one_hit.advance()
    cleo = User.objects.create_user("cleo")
    Role.objects.create(user=cleo, campaign=one_hit.campaign, name="viewer")
    root.open("/admin/", "/admin/annotation/assignment/", "/admin/retrieval/qapair/?source=faq")
    for record_of in (one_hit.hit(1), one_hit.campaign, QaPair.objects.earliest("pk")):
        place = f"{record_of._meta.app_label}/{record_of._meta.model_name}"
        root.open(f"/admin/{place}/{record_of.pk}/change/")
    root.open("/admin/knox/authtoken/", "/admin/auth/user/")
    root.open("/admin/auth/user/add/", f"/admin/auth/user/{cleo.pk}/change/")
    root.open(f"/admin/auth/user/{cleo.pk}/password/", f"/admin/auth/user/{cleo.pk}/delete/")
    root.open(f"/admin/auth/user/{cleo.pk}/history/", "/admin/annotation/role/add/")
    root.page.goto(f"{root.url}/admin/annotation/assignment/")
    root.page.get_by_text("Filters").first.click()
    root.look("filters")
    root.assert_well()
