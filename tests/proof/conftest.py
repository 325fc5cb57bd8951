"""A hostile campaign, and a reader of pages who looks for harm."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from annotation.models import Campaign
from tests.conftest import StartMTurk
from tests.proof.harm import harm
from tests.support.pages import Response
from tests.worlds.account import Account
from tests.worlds.hostile_campaign import hostile_campaign
from tests.worlds.small_campaign import Stage

Read = Callable[..., Response]


@pytest.fixture
def campaign(db: None, tmp_path: Path, settings: Settings) -> Campaign:
    settings.INDEX_DIR = tmp_path / "index"
    return hostile_campaign(tmp_path)


@pytest.fixture
def stage(campaign: Campaign, mturk: Account) -> Stage:
    """The hostile campaign, published at the emulator."""
    stage = Stage(campaign, mturk)
    stage.publish()
    return stage


@pytest.fixture
def read(client: Client) -> Read:
    """Open an address; the page answers in good order and holds no harm."""

    def get(address: str, parameters: dict[str, str] | None = None) -> Response:
        response: Response = client.get(address, parameters or {})
        assert response.status_code < 500, (address, parameters)
        if response["Content-Type"].startswith("text/html") and response.content:
            assert harm(response.content) == [], (address, parameters)
        return response

    return get


@pytest.fixture
def owner(db: None, client: Client) -> User:
    """Signed in, and allowed everything."""
    user = User.objects.create_superuser("owner", password="a long pass phrase")
    client.force_login(user)
    return user


@pytest.fixture
def start_mturk(start_emulator: StartMTurk) -> StartMTurk:
    """Hostile texts go the whole way, over the wire."""
    return start_emulator
