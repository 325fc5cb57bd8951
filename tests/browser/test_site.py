"""The team's site in a browser: from the invitation to the personal page."""

import re
from functools import partial
from operator import ne

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.members import invite
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.models import Exclusion, QualificationItem, Worker
from annotation.protocol.screening.control import RejectionReason
from tests.annotation.web.stage import PASSWORD, make_member, offer_hits
from tests.browser.eye import OWN_WORK, PHONE, Eye

HIT_PAGE = re.compile(r"/work/[0-9a-f]{32}$")


@pytest.fixture
def site(page: Page, live_server: LiveServer) -> Page:
    """A team with two open campaigns, and a browser that knows nobody yet."""
    offer_hits("faq", hits=4, title="Do these questions ask the same thing?", reward_cents=12)
    page.goto(live_server.url)
    return page


def join(page: Page, live_server: LiveServer) -> None:
    code = invite(None, note="", days=7, uses=9, now=timezone.now())
    page.goto(f"{live_server.url}/join/{code}")
    page.get_by_label("Username").fill("zoe")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name="Your work")).to_be_visible()


def judge_by_mouse(page: Page) -> None:
    for item in page.locator("fieldset[data-item]").all():
        item.locator("input[value='1']").click()
        page.wait_for_timeout(450)  # the page takes a second click at once for a slip
    page.get_by_role("button", name="Submit").click()


def test_from_the_invitation_through_two_hits_to_the_personal_page(
    site: Page, live_server: LiveServer
) -> None:
    join(site, live_server)
    site.get_by_role("button", name="Start").click()
    site.wait_for_url(HIT_PAGE)
    first = site.url
    judge_by_mouse(site)
    site.wait_for_url(lambda address: address != first)
    second = site.url
    assert Assignment.objects.filter(status="submitted").count() == 1
    site.keyboard.press("y")
    for _ in range(6):
        site.keyboard.press("n")
    site.keyboard.press("Enter")
    site.wait_for_url(lambda address: address != second)
    third = site.url
    assert Assignment.objects.filter(status="submitted").count() == 2
    site.get_by_role("button", name="Skip this task").click()
    site.wait_for_url(lambda address: address != third)
    site.get_by_role("link", name="Your work").click()
    expect(site.get_by_role("link", name="Continue")).to_be_visible()
    expect(site.locator("dl.figures")).to_contain_text("2")
    site.go_back()
    site.goto(first)
    expect(site.get_by_text("submitted this task already")).to_be_visible()


def test_the_way_from_sign_in_to_a_submit_needs_no_mouse(
    site: Page, live_server: LiveServer
) -> None:
    member = make_member("ada")
    member.user.set_password(PASSWORD)
    member.user.save()
    site.goto(f"{live_server.url}/work")
    expect(site.get_by_label("Username")).to_be_focused()
    site.keyboard.type("ada")
    site.keyboard.press("Tab")
    site.keyboard.type(PASSWORD)
    site.keyboard.press("Enter")
    expect(site.get_by_role("heading", name="Your work")).to_be_visible()
    site.wait_for_load_state()  # Tab leads through what is there
    start = site.get_by_role("button", name="Start")
    for _ in range(12):
        site.keyboard.press("Tab")
        if start.evaluate("button => button === document.activeElement"):
            break
    site.keyboard.press("Enter")
    site.wait_for_url(HIT_PAGE)
    first = site.url
    for _ in range(7):
        site.keyboard.press("n")
    site.keyboard.press("Enter")
    site.wait_for_url(lambda address: address != first)
    assert Assignment.objects.filter(status="submitted").count() == 1


def test_a_hit_is_done_without_any_script(
    browser: Browser, site: Page, live_server: LiveServer
) -> None:
    join(site, live_server)
    with browser.new_context(
        java_script_enabled=False, storage_state=site.context.storage_state()
    ) as context:
        page = context.new_page()
        page.goto(f"{live_server.url}/work")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url(HIT_PAGE)
        first = page.url
        for item in page.locator("fieldset[data-item]").all():
            item.locator("input[value='0']").check()
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url(lambda address: address != first)
        assert Assignment.objects.filter(status="submitted").count() == 1
        second = page.url
        page.get_by_role("button", name="Skip this task").click()
        page.wait_for_url(partial(ne, second))
        assert Assignment.objects.filter(status="returned").count() == 1


def busy(name: str) -> None:
    """Makes the member's page show all that it can."""
    member = Member.objects.get(user__username=name)
    crowd = InhouseCrowd()
    worker = Worker.objects.create(crowd="inhouse", worker_id=member.worker_id)
    (fish,) = offer_hits("fish", title="Fish and what swims with them")
    Exclusion.objects.create(campaign=fish.campaign, worker=worker, failures=3, reviewed=12)
    (bird,) = offer_hits("birds", qualification_items=1, title="Questions on birds, with a test")
    QualificationItem.objects.create(
        campaign=bird.campaign, position=0, query="a", question="b", expected=1, why="So."
    )
    for number, work in enumerate(Assignment.objects.filter(member=member, status="submitted")):
        if number:
            crowd.approve(work.assignment_id)
        else:
            crowd.reject(
                work.assignment_id,
                reason="Check questions answered wrongly: 1. Their answers follow from the "
                "instructions.",
                why=RejectionReason.MISSED,
            )


def work_a_little(page: Page, count: int) -> None:
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(HIT_PAGE)
    for _ in range(count):
        here = page.url
        for _ in range(7):
            page.keyboard.press("y")
        page.keyboard.press("Enter")
        page.wait_for_url(partial(ne, here))


def test_every_page_is_fit_for_every_reader_and_screen(site: Page, live_server: LiveServer) -> None:
    eye = Eye(site, live_server.url, at=PHONE, other=OWN_WORK, thorough=True)
    code = invite(None, note="", days=7, uses=9, now=timezone.now())
    eye.open("/", "/sign-in", f"/join/{code}")
    make = site.get_by_role("button", name="Create account")
    make.evaluate("button => button.form.noValidate = true")
    make.click()
    expect(site.get_by_text("This field is required").first).to_be_visible()
    eye.look("join-refused")
    eye.open("/no-such-page", expect=404)
    join(site, live_server)
    work_a_little(site, 3)
    busy("zoe")
    eye.look("hit")
    eye.open("/work", "/work/instructions/faq", "/work/kept", "/password")
    eye.open("/team", expect=403)
    done = Assignment.objects.filter(status="approved")[0]
    eye.open(f"/work/{done.assignment_id}", expect=409)
    look_as_staff(site, live_server)
    eye.look("team")
    eye.assert_well()


def look_as_staff(page: Page, live_server: LiveServer) -> None:
    """Signed in as an administrator of a team of some size, a new link just made."""
    root = User.objects.create_superuser("root", password=PASSWORD)
    for name in ("ada", "bob", "a.very.long.name.that.somebody.chose@example.org"):
        make_member(name, active=name != "bob")
    invite(root, note="the spring team, second floor", days=14, uses=5, now=timezone.now())
    page.goto(f"{live_server.url}/sign-in")
    page.get_by_label("Username").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{live_server.url}/admin/campaigns/")
    page.goto(f"{live_server.url}/team")
    page.get_by_label("For whom").fill("two friends")
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("heading", name="Send this link")).to_be_visible()
