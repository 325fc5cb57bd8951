"""PostgreSQL and Redis on loopback, without docker, their state in one folder: `make services`.

They listen at ports of their own, ask for a password, and disturb no server that runs already.
"""

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import psycopg2
import redis

from demo.processes import (
    ROOT,
    Process,
    StackError,
    dies_with_parent,
    remembered_ports,
    wait_until_free,
    wait_until_up,
    without_outside,
)
from demo.programs import check_entry, find, give, identity

NAME = "quorum"  # of the database and of its owner
POSTGRES = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "random_page_cost": "1.1",  # of an SSD; the default is of a spinning disk
    # The query of a killed client ends soon, and its locks with it.
    "client_connection_check_interval": "5s",
}
# Outlives the process, not the machine: for tests.
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
REDIS = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{folder}"
appendonly yes
appendfsync everysec
save ""
"""


class Services:
    """One folder's servers; `lasting` ones outlive this process, others die with it."""

    def __init__(self, folder: Path, *, durable: bool = True, lasting: bool = False) -> None:
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._durable = durable
        self._lasting = lasting
        self._processes: dict[str, Process] = {}
        self._ports = remembered_ports(folder / "ports.json", ("postgres", "redis"))
        self._password = _remembered_password(folder / "password")
        at = {name: f"127.0.0.1:{port}" for name, port in self._ports.items()}
        self.database_url = f"postgresql://{NAME}:{self._password}@{at['postgres']}/{NAME}"
        self.broker_url = f"redis://:{self._password}@{at['redis']}/0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        return {
            "QUORUM_DATABASE_URL": self.database_url,
            "QUORUM_BROKER_URL": self.broker_url,
        }

    def start(self) -> None:
        """Those that do not run yet."""
        for program in ("initdb", "pg_ctl", "postgres", "redis-server"):
            find(program)
        check_entry(self._folder)
        if not self._redis_answers():
            self._start_redis()
        if not self._postgres_answers():
            self._start_postgres()
        self._make_database()

    def stop(self) -> None:
        """No matter who has started them."""
        if self._redis_answers():
            self._redis().shutdown(nosave=True)  # what it holds is in its log already
        if self._postgres_answers():
            self._run("pg_ctl", "stop", "--mode=fast", "--wait", "-D", self._data("postgres"))
        for process in self._processes.values():
            process.wait(timeout=30)
        self._processes.clear()

    def restart_redis(self) -> None:
        """Killed as by a fault of its machine, and started again from what it had written down."""
        os.kill(self._redis().info("server")["process_id"], signal.SIGKILL)
        if process := self._processes.pop("redis", None):
            process.wait()
        self._start_redis()

    def _start_redis(self) -> None:
        folder = self._make_data("redis")
        settings = REDIS.format(port=self._ports["redis"], password=self._password, folder=folder)
        # By its standard input: a password has no place in a list of processes.
        process = self._start("redis", [find("redis-server"), "-"], stdin=subprocess.PIPE)
        assert process.stdin is not None
        with process.stdin as its_input:
            its_input.write(settings.encode())
        wait_until_up(process, "redis", self._log("redis"), self._redis_answers)

    def _start_postgres(self) -> None:
        folder = self._data("postgres")
        # The last that initdb writes: without it, one was killed half-way.
        if not (folder / "global" / "pg_control").exists():
            self._make_cluster()
        settings = POSTGRES | {"port": str(self._ports["postgres"])}
        settings |= {} if self._durable else HASTY
        options = [f"--{name}={value}" for name, value in settings.items()]
        process = self._start("postgres", [find("postgres"), "-D", str(folder), *options])
        wait_until_up(process, "postgres", self._log("postgres"), self._postgres_answers)

    def _make_cluster(self) -> None:
        """Text sorts by its bytes, as on SQLite."""
        shutil.rmtree(self._data("postgres"), ignore_errors=True)
        folder = self._make_data("postgres")
        secret = self._folder / "postgres.password"
        secret.touch(mode=0o600)
        secret.write_text(self._password)
        give(secret, "postgres")
        access = ["--auth=scram-sha-256", f"--pwfile={secret}", f"--username={NAME}"]
        try:
            self._run("initdb", "-D", folder, *access, "--encoding=UTF8", "--locale=C.UTF-8")
        finally:
            secret.unlink()

    def _make_database(self) -> None:
        with contextlib.closing(self._connect()) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME])
                if cursor.fetchone() is None:
                    cursor.execute(f"CREATE DATABASE {NAME}")

    def _connect(self) -> "psycopg2.extensions.connection":
        return psycopg2.connect(
            host="127.0.0.1",
            port=self._ports["postgres"],
            dbname="postgres",
            user=NAME,
            password=self._password,
            connect_timeout=5,
        )

    def _postgres_answers(self) -> bool:
        try:
            self._connect().close()
        except psycopg2.OperationalError:
            return False
        return True

    def _redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.broker_url, decode_responses=True)

    def _redis_answers(self) -> bool:
        try:
            return bool(self._redis().ping())
        except redis.RedisError:  # nobody, another one's, or still reading its log
            return False

    def _start(self, name: str, command: list[str], **options: Any) -> Process:
        wait_until_free(self._ports[name], name)
        ending = signal.SIGINT if name == "postgres" else signal.SIGTERM  # waits for no client
        with self._log(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command,
                cwd="/",
                env=without_outside(os.environ),
                stdout=log,
                stderr=log,
                start_new_session=True,  # the terminal's Ctrl-C is not for them
                preexec_fn=None if self._lasting else dies_with_parent(ending),
                **{"stdin": subprocess.DEVNULL, **identity(name), **options},
            )
        return self._processes[name]

    def _run(self, program: str, *arguments: object) -> None:
        """A program of PostgreSQL, as its user."""
        done = subprocess.run(
            [find(program), *map(str, arguments)],
            cwd="/",
            env=without_outside(os.environ),
            capture_output=True,
            text=True,
            check=False,
            **identity("postgres"),
        )
        if done.returncode:
            raise StackError(f"{program} failed: {done.stderr.strip()}")

    def _data(self, name: str) -> Path:
        return self._folder / name

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _make_data(self, name: str) -> Path:
        folder = self._data(name)
        folder.mkdir(mode=0o700, exist_ok=True)
        give(folder, name)
        return folder


def _remembered_password(path: Path) -> str:
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(24))
    return path.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make services", description=__doc__)
    parser.add_argument("do", choices=["start", "stop"])
    folder = Path(os.environ.get("QUORUM_SERVICES") or ROOT / "var" / "services")
    services = Services(folder, lasting=True)
    try:
        if parser.parse_args().do == "stop":
            services.stop()
        else:
            services.start()
            for name, value in services.environment.items():
                print(f"export {name}={value}")
    except StackError as error:
        print(f"services: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
