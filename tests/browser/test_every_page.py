"""Every page of the walk, by whoever may open it, in light, in dark and on a phone."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.annotation.web.walk.addresses import ROWS
from tests.annotation.web.walk.walk import Site
from tests.browser.conftest import sign_in
from tests.browser.eye import Eye

# Swagger UI has a test of its own; the others are parts that pages fetch.
ELSEWHERE = ("api/", "^api/", "admin/search/", "admin/autocomplete/")
PARTS = ("/live", "/exclusion-impact")
LOOKS_ALIKE = (403, 404)  # wherever they are met


def pages(site: Site, client: Client) -> dict[str, int]:
    """What this person is shown, by its address; of pages that look alike, the first."""
    shown: dict[str, int] = {}
    for route in ROWS:
        if route.startswith(ELSEWHERE) or route.endswith(PARTS):
            continue
        answer = client.get(site.address(route))
        status, kind = answer.status_code, answer.get("Content-Type", "")
        is_met = status in LOOKS_ALIKE and status in shown.values()
        if status in (200, *LOOKS_ALIKE) and "text/html" in kind and not is_met:
            shown[site.address(route)] = status
    return shown


@pytest.mark.slow
@pytest.mark.parametrize(("person", "least"), [("root", 44), ("annotator", 6), ("nobody", 7)])
def test_every_page_is_open_to_everybody(eye: Eye, person: str, least: int) -> None:
    site, client = Site(), Client()
    if person != "nobody":
        user = User.objects.get(username=person)
        client.force_login(user)
        sign_in(eye.page, eye.url, user)
    shown = pages(site, client)
    assert len(shown) >= least
    for path, status in shown.items():
        eye.open(path, expect=status)
    eye.assert_well()
