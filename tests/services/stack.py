"""The Procfile's processes on PostgreSQL and Redis, each to be killed and started again."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from celery import Celery
from celery.utils.nodenames import host_format

from config.health import is_listening
from demo.processes import Process, StackError, procfile, wait_until_free, wait_until_up
from demo.services import Services
from demo.stack import LocalStack

SERVERS = ("emulator", "site")
PASS_SECONDS = 0.5


class ServiceStack(LocalStack):
    """The emulator, the site, beat, the worker for jobs, and as many workers as are asked for.

    `variables` differ from those that LocalStack and the services give, such as another database.
    """

    def __init__(
        self,
        data: Path,
        services: Services,
        *,
        workers: int = 2,
        variables: Mapping[str, str] | None = None,
        emulator_options: tuple[str, ...] = (),
    ) -> None:
        super().__init__(data)
        self.environment |= services.environment
        self.environment |= {"QUORUM_PASS_SECONDS": str(PASS_SECONDS), **(variables or {})}
        self.workers = tuple(f"worker-{number}" for number in range(1, workers + 1))
        self._emulator_options = emulator_options
        self._processes: dict[str, Process] = {}
        self._broker = Celery(broker=services.broker_url, set_as_current=False)

    def __enter__(self) -> "ServiceStack":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """All at once, then until each of them answers."""
        names = (*SERVERS, "beat", "jobs", *self.workers)
        for name in names:
            self.run(name)
        for name in names:
            self.wait_for(name)

    def stop(self) -> None:
        """Asked to end; a process that does not is killed."""
        for process in self._processes.values():
            process.terminate()
        for name, process in self._processes.items():
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self._kill(process)
                raise StackError(f"{name} did not end when it was asked to") from None
        self._processes.clear()

    def run(self, name: str) -> None:
        """Started, in a session of its own: it and its children can be killed as one."""
        if name in SERVERS:
            wait_until_free(self.ports[name], name)
        with self.log(name).open("ab") as output:
            self._processes[name] = self._start(
                self._command(name),
                env=self.environment_of(name),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """At once with its children, as when the machine takes the memory back."""
        self._kill(self._processes.pop(name))

    def restart(self, name: str) -> None:
        self.kill(name)
        self.run(name)

    def wait_for(self, name: str) -> None:
        wait_until_up(self._processes[name], name, self.log(name), partial(self.answers, name))

    def answers(self, name: str) -> bool:
        if name in self.workers:
            return is_listening(self._broker, _full_name(name), seconds=1)
        if name == "jobs":
            return is_listening(self._broker, str(host_format("jobs@%h")), seconds=1)
        return name == "beat" or super().answers(name)

    def is_running(self, name: str) -> bool:
        return self._processes[name].poll() is None

    def process_id(self, name: str) -> int:
        return self._processes[name].pid

    def environment_of(self, name: str) -> dict[str, str]:
        if name not in self.workers:
            return self.environment
        return self.environment | {"CELERY_WORKER_HOSTNAME": _full_name(name)}

    def log(self, name: str) -> Path:
        return self.data / f"{name}.log"

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Straight from the file: what the emulator itself has recorded."""
        path = self.data / "mturk_emulator.sqlite3"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as state:
            return state.execute(query, values).fetchall()

    def _command(self, name: str) -> list[str]:
        if name == "emulator":
            return self.emulator_command(*self._emulator_options)
        return procfile()["web" if name == "site" else name.partition("-")[0]]

    def _kill(self, process: Process) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _full_name(worker: str) -> str:
    return f"{worker}@quorum"


def wait_until(condition: Callable[[], bool], what: str, *, seconds: float = 180) -> None:
    """For what another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"after {seconds:.0f} s, {what} had not happened"
        time.sleep(0.1)
