"""The compose file: valid, in the words of the Procfile, without a secret or a root of its own."""

import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from config.environment import VARIABLES
from config.health import CHECKS
from demo.processes import ROOT, procfile
from demo.services import POSTGRES

PATH = ROOT / "docker-compose.yml"
GPU = ROOT / "docker-compose.gpu.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(PATH.read_text())["services"]
OURS = ("migrate", "web", "worker", "jobs", "encoder", "beat")
SERVING = ("web", "worker", "jobs", "encoder", "beat")


def is_valid(path: object) -> bool:
    """By the schema of the compose specification, from a package: no network."""
    schema = ["--builtin-schema", "vendor.compose-spec"]
    command = [sys.executable, "-m", "check_jsonschema", *schema, str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_it_is_a_compose_file(tmp_path: Any) -> None:
    assert is_valid(PATH)
    assert is_valid(GPU)
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(PATH.read_text().replace("healthcheck:", "health_check:"))
    assert not is_valid(wrong)


@pytest.mark.parametrize("name", SERVING)
def test_its_commands_are_those_of_the_procfile(name: str) -> None:
    assert SERVICES[name]["command"].split() == procfile()[name]


@pytest.mark.parametrize("name", SERVING)
def test_each_process_is_asked_whether_it_is_well(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"] == ["CMD", "python", "-m", "config.health", name]
    assert name in CHECKS


@pytest.mark.parametrize("name", OURS)
def test_no_secret_stands_in_an_address_or_in_the_file(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert environment["QUORUM_DATABASE_URL"] == "postgresql://quorum@postgres:5432/quorum"
    for secret in ("PGPASSWORD", "QUORUM_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"):
        assert re.fullmatch(r"\$\{[A-Z_]+:[?-][^}]*\}", environment[secret])
    assert environment["PGPASSWORD"] == SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"]


@pytest.mark.parametrize("name", OURS)
def test_every_setting_reaches_the_processes(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert VARIABLES.keys() - environment.keys() == {"QUORUM_DEBUG"}


def test_every_service_has_a_limit_of_memory_and_redis_a_password() -> None:
    assert all("mem_limit" in service for service in SERVICES.values())
    password = SERVICES["redis"]["environment"]["REDISCLI_AUTH"]
    assert password in SERVICES["web"]["environment"]["QUORUM_BROKER_URL"]
    assert '--requirepass "$$REDISCLI_AUTH"' in SERVICES["redis"]["command"][-1]


def test_nothing_runs_as_root() -> None:
    assert {name: service.get("user") for name, service in SERVICES.items()} == {
        **dict.fromkeys(OURS, "quorum"),
        "postgres": "postgres",
        "redis": "redis",
    }
    assert (ROOT / "Dockerfile").read_text().rstrip().endswith("USER quorum")


def test_only_the_site_is_reached_from_outside_and_only_from_this_machine() -> None:
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {"web": ["127.0.0.1:8000:8000"]}


def test_its_postgresql_is_set_as_the_one_of_the_tests() -> None:
    words = SERVICES["postgres"]["command"].split()[2::2]
    assert len(words) == 4
    assert dict(word.split("=") for word in words).items() <= POSTGRES.items()


def test_a_gpu_is_given_to_processes_that_are_there_with_the_lock_for_it() -> None:
    services = yaml.safe_load(GPU.read_text())["services"]
    assert services.keys() <= SERVICES.keys()
    dockerfile = (ROOT / "Dockerfile").read_text()
    for service in services.values():
        extra = service["build"]["args"]["EXTRA"]
        assert (ROOT / "requirements" / f"{extra}.txt").exists()
        assert service["deploy"]["resources"]["reservations"]["devices"][0]["count"] == 1
    assert "ARG EXTRA=cpu" in dockerfile
    assert "requirements/${EXTRA}.txt" in dockerfile


def test_what_only_the_largest_databases_need_starts_when_asked_for() -> None:
    """The encoder takes its messages from a queue of its own: publishing never waits for it."""
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["encoder"]
    assert "--queues encoding" in SERVICES["encoder"]["command"]
    assert "--queues jobs" in SERVICES["jobs"]["command"]
    assert "--queues" not in SERVICES["worker"]["command"]
