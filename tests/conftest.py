"""The stage that tests share: a database in a file, the real emulator, a small campaign."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from tests.mturk import MTurk
from tests.small_campaign import Stage, fill_database, packed_campaign

SetStage = Callable[..., Stage]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SQLite in a file, as users have it: in memory, two connections cannot wait for each other."""
    database = django_settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        path = tmp_path_factory.mktemp("database") / "test.sqlite3"
        database.setdefault("TEST", {})["NAME"] = str(path)


@pytest.fixture
def mturk(tmp_path: Path, settings: Settings) -> Iterator[MTurk]:
    """The emulator, which the settings name as the crowd."""
    running = MTurk(tmp_path / "mturk.sqlite3")
    settings.MTURK_ENDPOINT = running.url
    yield running
    running.close()


@pytest.fixture
def small_database(db: None, tmp_path: Path, settings: Settings) -> None:
    """36 pairs on six topics, six positive controls and an index, made by the real steps."""
    settings.INDEX_DIR = tmp_path / "index"
    fill_database(tmp_path)


@pytest.fixture
def set_stage(small_database: None, mturk: MTurk, tmp_path: Path) -> SetStage:
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
