"""Quorum on this machine alone: the emulator and the site on loopback, and `quorum` on them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from demo.processes import (
    ROOT,
    Process,
    StackError,
    answers_at,
    dies_with_parent,
    procfile,
    remembered_ports,
    wait_until_free,
    wait_until_up,
    without_outside,
)


@dataclass(frozen=True)
class Ran:
    """What one command took."""

    seconds: float
    peak_mb: float


class LocalStack:
    """One data folder with its servers and commands."""

    def __init__(self, data: Path) -> None:
        data = data.resolve()
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.data = data
        self.ports = remembered_ports(data / "ports.json", ("emulator", "site"))
        self.site_url, self.emulator_url = (
            f"http://127.0.0.1:{self.ports[name]}" for name in ("site", "emulator")
        )
        self.environment = without_outside(os.environ) | {
            # The Procfile's words name programs of our environment.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "QUORUM_DATA": str(data),
            "QUORUM_PUBLIC_URL": self.site_url,
            "QUORUM_BIND": f"127.0.0.1:{self.ports['site']}",
            "AWS_ENDPOINT_URL_MTURK": self.emulator_url,
        }

    def quorum(self, *arguments: object) -> Ran:
        """Run one command as a user would, its output and progress bars in full sight."""
        return self._run("quorum", ["-m", "config.commands"], arguments)

    def manage(self, *arguments: object) -> Ran:
        """The same for a command of Django's."""
        return self._run("manage.py", ["manage.py"], arguments)

    def _run(self, name: str, program: list[str], arguments: Iterable[object]) -> Ran:
        words = [str(argument) for argument in arguments]
        print(f"\n$ {name} {' '.join(words)}", flush=True)
        began = time.monotonic()
        process = self._start([sys.executable, *program, *words])
        _, status, usage = os.wait4(process.pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            raise StackError(f"`{name} {' '.join(words)}` ended with {code}")
        return Ran(time.monotonic() - began, usage.ru_maxrss / 1024)

    def result(self, *arguments: object) -> dict[str, Any] | None:
        """What a command answers under --json; None where it refuses."""
        command = [sys.executable, "-m", "config.commands", *map(str, arguments), "--json"]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, check=False, capture_output=True, text=True
        )
        return dict(json.loads(done.stdout)) if done.returncode == 0 else None

    @contextmanager
    def servers(self) -> Iterator[None]:
        """The emulator and the site while the block runs; their output goes to logs."""
        with (
            self._server("emulator", self.emulator_command()),
            self._server("site", procfile()["web"]),
        ):
            yield

    def emulator_command(self, *options: str) -> list[str]:
        port, state = self.ports["emulator"], self.data / "mturk_emulator.sqlite3"
        place = ["--port", str(port), "--state", str(state), "--balance", "10000000"]
        return [*procfile()["emulator"], *place, *options]

    @contextmanager
    def _server(self, name: str, command: list[str]) -> Iterator[None]:
        log = self.data / f"{name}.log"
        wait_until_free(self.ports[name], name)
        with log.open("ab") as output:
            process = self._start(command, stdout=output, stderr=output)
            try:
                wait_until_up(process, name, log, partial(self.answers, name))
                yield
            finally:
                process.terminate()
                process.wait(timeout=30)

    def answers(self, name: str) -> bool:
        return answers_at({"site": f"{self.site_url}/health", "emulator": self.emulator_url}[name])

    def _start(self, command: list[str], **options: Any) -> Process:
        options = {"cwd": ROOT, "env": self.environment, **options}
        return subprocess.Popen(command, preexec_fn=dies_with_parent(), **options)
