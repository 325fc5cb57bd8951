"""The page of the plan in a real browser."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.analytics.campaign.plan import prediction_of
from annotation.analytics.campaign.snapshots import take
from annotation.models import Account
from annotation.pipeline.labelling.label import write_labels
from tests.annotation.analytics.quality.test_aggregation import say
from tests.annotation.support.biased_crowd import biased_crowd
from tests.browser.conftest import sign_in
from tests.browser.eye import OWN_WORK, PHONE, Eye


@pytest.fixture
def plan(page: Page, live_server: LiveServer, small_database: None) -> Page:
    campaign = biased_crowd().campaign
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
