"""Where a site counts in pounds, no page speaks of dollars."""

import re

import pytest
from django.test import Client
from pytest_django import Settings

from tests.annotation.api.world import World
from tests.annotation.web.walk.crawl import texts
from tests.annotation.web.walk.test_page_queries import of_the_world, world

__all__ = ["world"]
IN_DOLLARS = re.compile(r".{0,40}(?:\$\d|\bdollars?\b|\bUSD\b).{0,40}", re.IGNORECASE)


@pytest.fixture
def pounds(settings: Settings) -> None:
    settings.CURRENCY = "GBP"


@pytest.mark.django_db
def test_no_page_of_a_site_in_pounds_speaks_of_dollars(
    pounds: None, world: World, admin_client: Client
) -> None:
    answers = {address: admin_client.get(address) for address in of_the_world(world)}
    pages = {
        address: " ".join(texts(answer.content.decode()))
        for address, answer in answers.items()
        if "text/html" in answer.get("Content-Type", "") and answer.content
    }
    found = {at: said for at, page in pages.items() if (said := IN_DOLLARS.findall(page))}
    assert found == {}
    assert any("£" in page for page in pages.values())
