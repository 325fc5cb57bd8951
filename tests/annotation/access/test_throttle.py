"""Whom an attempt counts for."""

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from annotation.access.throttle import address_of


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::7", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::7", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("localhost", "localhost"),
    ],
)
def test_ipv6_counts_by_its_network(address: str, counted: str, settings: Settings) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR=address)
    assert address_of(request) == counted
    settings.PUBLIC_URL = "https://quorum.example.org"
    forwarded = RequestFactory().get("/", headers={"X-Forwarded-For": f"198.51.100.1, {address}"})
    assert address_of(forwarded) == counted
