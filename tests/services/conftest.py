"""PostgreSQL and Redis for the session; for each test its own processes on them."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection, connections
from pytest_django import Settings

from config.settings import database_at
from demo.services import Services
from tests.conftest import StartMTurk
from tests.services.stack import ServiceStack


@pytest.fixture(scope="session")
def services() -> Iterator[Services]:
    # pytest's own folders are closed to the users that root lets the servers run as.
    folder = Path(tempfile.mkdtemp(prefix="quorum-services-"))
    with Services(folder, durable=False) as running:
        yield running
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    services: Services, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """These tests read and write the database that the processes have."""
    django_settings.DATABASES["default"] = database_at(services.database_url)
    connections.settings = connections.configure_settings(None)
    if connection.vendor != "postgresql":  # it was looked at before
        del connections["default"]


@pytest.fixture
def on_postgresql(transactional_db: None) -> None:
    """The test's own database, its rows to be seen by every process."""
    assert connection.vendor == "postgresql", "run these without others: make test-services"


@pytest.fixture
def stack(
    services: Services, on_postgresql: None, tmp_path: Path, settings: Settings
) -> Iterator[ServiceStack]:
    with start_stack(services, tmp_path, settings) as running:
        yield running


@contextmanager
def start_stack(
    services: Services,
    folder: Path,
    settings: Settings,
    variables: Mapping[str, str] | None = None,
    *,
    emulator_options: tuple[str, ...] = (),
) -> Iterator[ServiceStack]:
    """Started and answering, on the test's database and an empty Redis."""
    redis.Redis.from_url(services.broker_url).flushall()
    database = urlsplit(services.database_url)._replace(path=f"/{connection.settings_dict['NAME']}")
    given = {
        "QUORUM_DATABASE_URL": database.geturl(),
        "QUORUM_SECRET_KEY": settings.SECRET_KEY,
        "QUORUM_LOG_LEVEL": "INFO",
        "QUORUM_CLAIM_SECONDS": "5",  # so long the calls of the dead wait
        **(variables or {}),
    }
    with ServiceStack(
        folder / "stack", services, variables=given, emulator_options=emulator_options
    ) as running:
        settings.MTURK_ENDPOINT = running.emulator_url
        settings.PUBLIC_URL = running.site_url
        settings.INDEX_DIR = folder / "index"
        yield running


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> None:
    """None here: the servers are processes of their own, with the hashers of the settings."""


@pytest.fixture
def start_mturk(start_emulator: StartMTurk) -> StartMTurk:
    """Other processes call it."""
    return start_emulator
