"""PostgreSQL and Redis by themselves: who may run them, what they keep, how they end."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import redis

from demo.processes import ROOT, without_outside
from tests.services.stack import wait_until

pytestmark = pytest.mark.services
NOBODY = 65534
# Starts both, says where, and dies.
START_AND_DIE = """
import os, signal, sys
from pathlib import Path
from demo.services import Services
services = Services(Path(sys.argv[1]))
services.start()
print(services.environment["QUORUM_DATABASE_URL"], services.environment["QUORUM_BROKER_URL"])
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Open to the users of the servers, which pytest's own folders are not."""
    made = Path(tempfile.mkdtemp(prefix="quorum-services-"))
    yield made
    shutil.rmtree(made)


def services(do: str, folder: Path, **options: Any) -> str:
    """What `make services` and `make services-stop` print."""
    done = subprocess.run(
        [sys.executable, "-m", "demo.services", do],
        cwd=ROOT,
        env=without_outside(os.environ) | {"QUORUM_SERVICES": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def addresses(printed: str) -> tuple[str, str]:
    database, broker = printed.splitlines()
    return (
        database.removeprefix("export QUORUM_DATABASE_URL="),
        broker.removeprefix("export QUORUM_BROKER_URL="),
    )


def execute(database: str, statement: str) -> None:
    with psycopg2.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(statement)


def is_gone(database: str, broker: str) -> bool:
    try:
        psycopg2.connect(database).close()
    except psycopg2.OperationalError:
        pass
    else:
        return False
    try:
        redis.Redis.from_url(broker).ping()
    except redis.ConnectionError:
        return True
    return False


@pytest.fixture(params=["oneself", "an ordinary user"])
def options(request: pytest.FixtureRequest, folder: Path) -> dict[str, Any]:
    """Of Popen, for people who run them in that folder."""
    if request.param == "oneself":
        return {}
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, **user)
    except PermissionError:
        pytest.skip("needs root, and a Python that others may run")
    os.chown(folder, NOBODY, NOBODY)
    return user


def test_what_they_hold_is_there_after_a_stop_and_a_start(
    folder: Path, options: dict[str, Any]
) -> None:
    database, broker = addresses(services("start", folder, **options))
    try:
        execute(database, "CREATE TABLE kept ()")
        redis.Redis.from_url(broker).set("kept", 1)
        services("stop", folder, **options)
        assert is_gone(database, broker)
        assert addresses(services("start", folder, **options)) == (database, broker)
        assert addresses(services("start", folder, **options)) == (database, broker)
        execute(database, "DROP TABLE kept")
        assert redis.Redis.from_url(broker).get("kept") == b"1"
    finally:
        services("stop", folder, **options)


def test_they_let_nobody_in_without_the_password(folder: Path) -> None:
    database, broker = addresses(services("start", folder))
    try:
        secret = (folder / "password").read_text()
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            psycopg2.connect(database.replace(secret, "guessed"))
        with pytest.raises(redis.AuthenticationError):
            redis.Redis.from_url(broker.replace(secret, "guessed")).ping()
    finally:
        services("stop", folder)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_those_of_a_killed_test_die_with_it(folder: Path) -> None:
    command = [sys.executable, "-c", START_AND_DIE, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    database, broker = done.stdout.split()
    wait_until(lambda: is_gone(database, broker), "both had ended")
    wait_until(lambda: not (folder / "postgres" / "postmaster.pid").exists(), "all was written")
