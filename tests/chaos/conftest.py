"""Finished campaigns, made once for all the tests of a file, each of which works on a copy."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytest_django import Settings
from pytest_django.plugin import DjangoDbBlocker

from tests.chaos.scenes import PLAYS, Scene, scene
from tests.exports.support.storage import lie_at


@pytest.fixture(scope="module", params=PLAYS)
def finished(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    play = PLAYS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    with django_db_blocker.unblock(), scene(folder, play, tie_mode=request.param) as made:
        yield made


@pytest.fixture
def at_its_end(finished: Scene, db: None, tmp_path: Path, settings: Settings) -> Scene:
    """To be spoilt: the crowd's file is a copy, what happens to the database is undone."""
    lie_at(str(tmp_path / "releases"), settings)
    state = tmp_path / "mturk.sqlite3"
    with closing(sqlite3.connect(finished.state)) as theirs, closing(sqlite3.connect(state)) as own:
        theirs.backup(own)
    return Scene(finished.campaign, state)
