"""A participant of a panel, in a browser: in by the link, through a task, out with the code."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import Visit
from annotation.protocol.policy.crowds import PANEL
from tests.annotation.web.stage import offer_hits
from tests.browser.conftest import sign_in
from tests.browser.eye import Eye
from tests.browser.judging.judging_page import answer, ready

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_participant_comes_in_judges_and_gets_the_code(
    page: Page, live_server: LiveServer, eye: Eye
) -> None:
    (hit, *_) = offer_hits("study", hits=2, traits=PANEL, title="Do they ask the same?")
    back = "https://panel.example.org/done?code={code}"
    link = visits.open_link(
        hit.campaign.hit_type_id, "connect", tasks=1, return_url=back, now=timezone.now()
    )
    eye.open(f"/panel/{link.key}?participantId=P7")
    page.get_by_role("button", name="I agree. Start").click()
    ready(page)
    page.goto(f"{live_server.url}/work")
    eye.look("visit-begun")
    page.get_by_role("link", name="Continue").click()
    ready(page)
    answer(page, "ynynyny")
    page.keyboard.press("Enter")
    expect(page.locator("#code")).to_have_text(Visit.objects.get().code)
    eye.look("visit-over")
    expect(page.get_by_role("link", name="Go back")).to_have_attribute(
        "href", f"https://panel.example.org/done?code={Visit.objects.get().code}"
    )
    sign_in(page, live_server.url)
    eye.open("/admin/campaigns/study/panels/", "/admin/campaigns/study/operations/open-panel")
    eye.assert_well()
