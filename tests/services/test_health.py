"""What the compose file asks of each process, asked of the real ones."""

import socket
import subprocess
import sys
from functools import partial

import pytest
import yaml

from config.health import worker_name
from demo.processes import ROOT
from tests.services.stack import ServiceStack, wait_until

pytestmark = pytest.mark.services
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def is_well(stack: ServiceStack, process: str) -> bool:
    """By the words of the compose file, in the process's environment."""
    service = "web" if process == "site" else process.partition("-")[0]
    kind, python, *words = COMPOSE[service]["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    environment = stack.environment_of(process)
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def is_lost(stack: ServiceStack, process: str) -> bool:
    return not is_well(stack, process)


def test_who_lives_is_well_and_who_was_killed_is_not(stack: ServiceStack) -> None:
    processes = "site", "beat", "jobs", "worker-1"
    for process in processes:
        wait_until(partial(is_well, stack, process), f"{process} was well")
    for process in processes:
        stack.kill(process)
    for process in processes:
        wait_until(partial(is_lost, stack, process), f"{process} was missed")
    assert is_well(stack, "worker-2")


def test_the_name_of_a_worker_is_that_of_its_machine() -> None:
    """As Celery names it in a container; it has to be the one that the check looks for."""
    assert worker_name(None) == f"celery@{socket.gethostname()}"
