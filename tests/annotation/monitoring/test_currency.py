"""A database counts in one currency, and no process uses it with another."""

from collections.abc import Iterator

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.backends.signals import connection_created
from pytest_django import Settings

from annotation.crowd.turk.accounts import create_account
from annotation.monitoring.currency import check_currency
from tests.annotation.support.hits import make_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def begin_again() -> Iterator[None]:
    check_currency.cache_clear()
    yield
    check_currency.cache_clear()


def connect() -> None:
    """As each process does before its first query."""
    connection_created.send(sender=type(connection), connection=connection)


def test_no_process_counts_in_another_currency_than_the_paid_campaigns(settings: Settings) -> None:
    make_campaign("unpaid", reward_cents=0, crowd="inhouse")
    settings.CURRENCY = "GBP"
    connect()
    make_campaign("paid", reward_cents=15)
    check_currency.cache_clear()
    with pytest.raises(ImproperlyConfigured, match=r"QUORUM_CURRENCY must be USD, .*, not GBP"):
        connect()
    settings.CURRENCY = "USD"
    connect()


def test_nor_than_the_accounts_of_requesters(settings: Settings) -> None:
    settings.CURRENCY = "EUR"
    create_account("lab")
    connect()
    settings.CURRENCY = "USD"
    check_currency.cache_clear()
    with pytest.raises(ImproperlyConfigured, match=r"QUORUM_CURRENCY must be EUR, .*, not USD"):
        connect()
