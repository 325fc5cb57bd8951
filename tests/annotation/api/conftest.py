"""A campaign at work, another one, and everybody who has a part in either."""

from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from annotation.api.base.throttling import counts_in
from annotation.models import Campaign
from tests.annotation.api.campaign import campaign_at_work
from tests.annotation.api.people import Program, everybody, person


@pytest.fixture(autouse=True)
def _nobody_has_called_yet() -> None:
    counts_in.cache_clear()


@pytest.fixture
def campaign(db: None) -> Campaign:
    return campaign_at_work()


@pytest.fixture
def programs(campaign: Campaign) -> dict[str, Program]:
    cast = everybody(campaign, campaign_at_work("other"))
    return {"nobody": Program(None), **{name: Program(user) for name, user in cast.items()}}


@pytest.fixture
def owner(campaign: Campaign) -> Program:
    return Program(person("ada", campaign, "owner"))


@pytest.fixture
def _connection_stays() -> Iterator[None]:
    """The test's transaction lives on it; Django's own client does the same."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)
