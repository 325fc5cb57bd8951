"""The stage that tests share: a database in a file, the real emulator, a small campaign."""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.db.backends.base.operations import BaseDatabaseOperations
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker, Settings
from whitenoise.middleware import WhiteNoiseMiddleware

from annotation.crowd import factory
from annotation.simulation.schema import make_database
from tests.support import examples  # noqa: F401 - registers the profiles
from tests.worlds.account import BALANCE_CENTS, Account
from tests.worlds.memory_crowd import MemoryMTurk, open_mturk
from tests.worlds.mturk import MTurk
from tests.worlds.small_campaign import Stage, fill_database, packed_campaign

hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

SetStage = Callable[..., Stage]
StartMTurk = Callable[..., Account]


def pytest_collection_finish() -> None:
    """What was imported by now stays: no collection need walk all of torch again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SQLite in a file, as users have it: in memory, two connections cannot wait for each other."""
    database: dict[str, Any] = django_settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        path = tmp_path_factory.mktemp("database") / "test.sqlite3"
        database.setdefault("TEST", {})["NAME"] = str(path)
        connection.creation.create_test_db = partial(_copy_empty_database, path)


def _copy_empty_database(path: Path, **_: object) -> str:
    """In place of all migrations, which take longer than most files of tests."""
    connection.close()
    for settings in (django_settings.DATABASES["default"], connection.settings_dict):
        settings["NAME"] = str(path)
    make_database(path, django_settings.DATA_DIR / "dry-runs")
    return str(path)


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> None:
    """The real hasher takes a third of a second for each, by design."""
    django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def _static_files_once() -> None:
    """Every test client has its own WhiteNoise, which would read all of them again."""
    found: dict[str, Any] = {}
    find = WhiteNoiseMiddleware.add_files_from_finders

    def find_once(self: WhiteNoiseMiddleware) -> None:
        if not found:
            find(self)
            found.update(self.files)
        self.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = find_once


@pytest.fixture(scope="module")
def module_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What fixtures of the module write is there for all its tests, and gone after them.

    For modules without transactional tests: those empty the tables.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="session", autouse=True)
def _counts_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Not mixed with those of the tests beside and before; a count opens its file when made."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(tmp_path_factory.mktemp("metrics"))


@pytest.fixture(scope="session", autouse=True)
def _emptied_between_tests(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Triggers forbid it to everybody for some tables: in tests' databases they let it pass."""
    if connection.vendor == "sqlite":
        _empty_without_triggers()
        return
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgname LIKE '%_never_emptied'"
        )
        for table, trigger in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")


def _empty_without_triggers() -> None:
    """SQLite empties tables row by row."""
    # Of the class: a thread in which a browser's event loop runs has a connection of its own.
    operations = type(connection.ops)
    flush = operations.execute_sql_flush

    def without_triggers(self: BaseDatabaseOperations, sql_list: Sequence[str]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, sql FROM sqlite_master"
                " WHERE type = 'trigger' AND name LIKE '%_never_deleted'"
            )
            triggers = dict(cursor.fetchall())
        dropped = [f"DROP TRIGGER {name}" for name in triggers]
        flush(self, [*dropped, *sql_list, *triggers.values()])

    operations.execute_sql_flush = without_triggers


@pytest.fixture(scope="session")
def mturk_ports() -> list[int]:
    """The ports of earlier tests' emulators, by order of start: their clients fit again."""
    return []


@pytest.fixture
def start_mturk(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StartMTurk]:
    """Starts an account of its own: in memory, or the real emulator of a test marked `wire`."""
    if request.node.get_closest_marker("wire"):
        yield request.getfixturevalue("start_emulator")
        return
    monkeypatch.setattr(factory, "MTurkCrowd", open_mturk)
    running: list[Account] = []

    def start(balance_cents: int = BALANCE_CENTS) -> Account:
        running.append(MemoryMTurk(balance_cents=balance_cents))
        return running[-1]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def start_emulator(tmp_path: Path, mturk_ports: list[int]) -> Iterator[StartMTurk]:
    running: list[MTurk] = []

    def start(balance_cents: int = BALANCE_CENTS) -> MTurk:
        number = sum(one.is_running for one in running)
        state = tmp_path / f"mturk-{len(running)}.sqlite3"
        before = mturk_ports[number] if number < len(mturk_ports) else None
        running.append(MTurk(state, balance_cents=balance_cents, port=before))
        mturk_ports[number : number + 1] = [running[-1].port]
        return running[-1]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def mturk(start_mturk: StartMTurk, settings: Settings) -> Account:
    """The account that the settings name as the crowd."""
    running = start_mturk()
    settings.MTURK_ENDPOINT = running.url
    return running


@pytest.fixture
def small_database(db: None, tmp_path: Path, settings: Settings) -> None:
    """36 pairs on six topics, six positive controls and an index, made by the real steps."""
    settings.INDEX_DIR = tmp_path / "index"
    fill_database(tmp_path)


@pytest.fixture
def set_stage(small_database: None, mturk: Account, tmp_path: Path) -> SetStage:
    """Packs a campaign of five HITs whose policy differs from the small one by what is given."""

    def make(name: str = "faq", **policy: object) -> Stage:
        return Stage(packed_campaign(tmp_path, name, **policy), mturk)

    return make


@pytest.fixture
def stage(set_stage: SetStage) -> Stage:
    """A campaign of five HITs with five triplets each, packed and not yet published."""
    return set_stage()


@pytest.fixture
def one_hit(set_stage: SetStage) -> Stage:
    """A published campaign of one HIT: the nearest candidate of each of five queries."""
    stage = set_stage(candidates_per_query=1)
    stage.publish()
    return stage


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests count for readers of the run: the steps of the state machines."""
    for report in terminalreporter.getreports("passed"):
        for name, count in report.user_properties:
            terminalreporter.write_line(f"{report.nodeid}: {name}, {count:,} steps")
