"""Builds killed at random moments: a release is there whole, or not at all.

The next one is the same, byte for byte, that an undisturbed process makes.
"""

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.exports.building import victims
from tests.exports.support.contents import contents
from tests.support.examples import cases

pytestmark = [pytest.mark.slow, pytest.mark.hypothesis]

SEED = 5


class Stage:
    """A data folder, and processes that work on it."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.out = folder / "out"
        self._prepared = folder / "prepared"
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.exports.building.ready", victims.__name__])

    def prepare(self) -> None:
        empty = settings.DATA_DIR / "dry-runs"
        assert self.run(victims.campaign_of_two_releases, empty) == 0
        assert self.run(victims.count_calls, self.out / "calls") == 0
        self.calls = int((self.out / "calls").read_text())
        shutil.copytree(self.data, self._prepared)
        began = time.monotonic()
        assert self.run(victims.next_release, self.out / "undisturbed") == 0
        self.seconds = time.monotonic() - began
        self.undisturbed = contents(self.out / "undisturbed")

    def reset(self) -> None:
        shutil.rmtree(self.data)
        shutil.copytree(self._prepared, self.data)

    def start(self, act: Callable[..., None], *arguments: Any) -> ForkServerProcess:
        process = self._context.Process(target=act, args=arguments)
        process.start()
        return process

    def run(self, act: Callable[..., None], *arguments: Any) -> int | None:
        process = self.start(act, *arguments)
        process.join()
        return process.exitcode

    def releases(self) -> int:
        with closing(sqlite3.connect(self.data / "quorum.sqlite3")) as database:
            return int(database.execute("SELECT count(*) FROM exports_release").fetchone()[0])

    def check_the_next(self, killed: Path) -> None:
        """After a kill: nothing is half there, and the next process ends what was begun."""
        assert self.run(victims.every_release_is_whole) == 0
        assert not killed.exists() or contents(killed) == self.undisturbed
        assert self.run(victims.next_release, killed) == 0
        assert self.releases() == 2
        assert contents(killed) == self.undisturbed
        assert self.run(victims.nothing_lies_about) == 0


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Once a session: the one process that forks all others keeps the environment it began with."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("kills")
        for name in ("data", "out"):
            (folder / name).mkdir()
        patch.setenv("QUORUM_DATA", str(folder / "data"))
        patch.setenv("QUORUM_DATABASE_URL", "")
        patch.setenv("QUORUM_RELEASES", "")
        stage = Stage(folder)
        stage.prepare()
    return stage


@pytest.fixture
def stage(prepared: Stage) -> Stage:
    prepared.reset()
    return prepared


@pytest.mark.parametrize("number", cases(range(8), range(2)))
def test_a_command_killed_at_any_moment_leaves_no_half_release(
    stage: Stage, number: int, tmp_path: Path
) -> None:
    moment = random.Random(f"{SEED} {number}").uniform(0, stage.seconds)
    process = stage.start(victims.next_release, tmp_path / "out")
    time.sleep(moment)
    process.kill()
    process.join()
    stage.check_the_next(tmp_path / "out")


@pytest.mark.parametrize("back", cases([0, 1, 2, 3, 10, 25, 40], [0, 1, 25]))
def test_so_does_one_killed_around_the_transaction_or_while_it_stores(
    stage: Stage, back: int, tmp_path: Path
) -> None:
    """The last call of all comes after the transaction, the one before just ahead of it."""
    out = tmp_path / "out"
    assert stage.run(victims.next_release, out, stage.calls - back) == -signal.SIGKILL
    assert stage.releases() == (2 if back == 0 else 1)
    stage.check_the_next(out)


@pytest.mark.parametrize("number", cases(range(3), range(1)))
def test_a_worker_killed_at_any_moment_is_followed_by_another(
    stage: Stage, number: int, tmp_path: Path
) -> None:
    moment = random.Random(f"{SEED} worker {number}").uniform(0, stage.seconds)
    process = stage.start(victims.queued_release)
    time.sleep(moment)
    process.kill()
    process.join()
    assert stage.run(victims.every_release_is_whole) == 0
    assert stage.run(victims.queued_release) == 0
    assert stage.releases() == 2
    stage.check_the_next(tmp_path / "out")


def test_of_two_processes_at_once_one_makes_the_release(stage: Stage, tmp_path: Path) -> None:
    both = [stage.start(victims.next_release, tmp_path / name) for name in ("one", "other")]
    for process in both:
        process.join()
    assert sorted(process.exitcode or 0 for process in both) == [0, victims.REFUSED]
    assert stage.releases() == 2
    (made,) = tmp_path.glob("o*")
    assert contents(made) == stage.undisturbed
    stage.check_the_next(made)


def test_who_was_thought_dead_commits_nothing(stage: Stage, tmp_path: Path) -> None:
    """It stops while it stores; somebody else takes the build over; then it goes on."""
    sleeper = stage.start(victims.next_release, tmp_path / "sleeper", None, stage.calls - 20)
    _wait_until_stopped(sleeper)
    assert stage.run(victims.next_release, tmp_path / "early") == victims.REFUSED
    assert stage.run(victims.the_claim_is_old) == 0
    assert stage.run(victims.next_release, tmp_path / "next") == 0
    os.kill(sleeper.pid or 0, signal.SIGCONT)
    sleeper.join()
    assert sleeper.exitcode == victims.REFUSED
    assert [path.name for path in tmp_path.iterdir()] == ["next"]
    assert stage.releases() == 2
    stage.check_the_next(tmp_path / "next")


def _wait_until_stopped(process: ForkServerProcess) -> None:
    status = Path("/proc", str(process.pid), "stat")
    until = time.monotonic() + 60
    while status.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < until
        time.sleep(0.05)
