"""Every page that a superuser can open is in the dashboard's frame; annotators have their own."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from lxml import html

from tests.annotation.web.stage import make_member
from tests.annotation.web.walk.addresses import ROWS
from tests.annotation.web.walk.walk import Site
from tests.support.pages import Response

pytestmark = pytest.mark.django_db

# Before the sign-in, by a link of their own, or inside the crowd's frame.
OF_VISITORS = ("sign-in", "join/", "password/reset", "password/set", "mails/", "hit/", "qualifi")
PARTS = ("/live", "/exclusion-impact")  # of pages, fetched by them
SIDEBAR = "//nav[@id='nav-sidebar-inner']"
THEME_SWITCH = "//*[contains(@*[name()='x-on:click'], \"switchTheme('dark')\")]"
TABS = "//nav[@class='dash-tabs']"


def is_staffs(route: str) -> bool:
    return bool(route) and not (route.startswith(OF_VISITORS) or route.endswith(PARTS))


def pages(site: Site, client: Client) -> dict[str, Response]:
    """By their route, also those that say what is not there."""
    there = {route: client.get(site.address(route)) for route in ROWS if is_staffs(route)}
    return {
        route: page
        for route, page in there.items()
        if page.status_code != 302 and "text/html" in page.get("Content-Type", "") and page.content
    }


def faults(page: Any, *, of_a_campaign: bool) -> list[str]:
    wanted = {"sidebar": SIDEBAR, "theme switch": THEME_SWITCH, "h1": "//h1", "main": "//main"}
    counts = {name: len(page.xpath(path)) for name, path in wanted.items()}
    found = [f"{count} of {name}" for name, count in counts.items() if count != 1]
    if of_a_campaign and len(page.xpath(f"{TABS}//a[@aria-current]")) != 1:
        found.append("no tab is the reader's")
    return found


def test_every_page_of_staff_has_the_sidebar_the_theme_switch_one_h1_and_its_tabs() -> None:
    site, client = Site(), Client()
    client.force_login(User.objects.get(username="root"))
    shown = pages(site, client)
    wrong = {
        route: found
        for route, page in shown.items()
        if (
            found := faults(
                html.fromstring(page.content),
                of_a_campaign="campaigns/<slug:name>" in route and page.status_code == 200,
            )
        )
    }
    assert wrong == {}
    assert {"team", "releases", "mails", "password", "api/", "work", "admin/events/"} <= {*shown}


@pytest.mark.parametrize("address", ["/work", "/mails", "/password", "/nothing", "/team"])
def test_annotators_have_a_frame_of_their_own(address: str) -> None:
    client = Client()
    client.force_login(make_member("ada").user)
    page = html.fromstring(client.get(address).content)
    assert page.xpath(SIDEBAR) == []
    assert len(page.xpath("//header[@class='top']//a[@href='/work']")) == 1
    assert len(page.xpath("//h1")) == 1
