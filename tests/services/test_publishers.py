"""Sixteen processes against a budget for half of the HITs: never a cent over, all of it used."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from annotation.models import Campaign
from demo.processes import ROOT, without_outside
from demo.services import Services
from tests.annotation.pipeline.ledger.budget_race import (
    HALF,
    WRITERS,
    assert_half_is_published,
    assert_half_is_reserved,
    campaign_with_half_its_budget,
    watched,
)
from tests.worlds.account import Account

pytestmark = pytest.mark.services

# Each does one of these when it is told to, and prints how many HITs it has got.
DO = {
    "publish": "print(race.publish_too(name, open_crowd('mturk', live=False)))",
    "reserve": "print(race.reserve_unlocked(name, who))",
}
WRITER = """
import sys
import django
django.setup()
from annotation.crowd.factory import open_crowd
from tests.annotation.pipeline.ledger import budget_race as race
name, who = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def campaign(on_postgresql: None, small_database: None, tmp_path: Path) -> Campaign:
    return campaign_with_half_its_budget(tmp_path)


@pytest.fixture
def environment(services: Services, mturk: Account, tmp_path: Path) -> dict[str, str]:
    """The test's own database and emulator."""
    database = urlsplit(services.database_url)._replace(path=f"/{connection.settings_dict['NAME']}")
    return without_outside(os.environ) | {
        "AWS_ENDPOINT_URL_MTURK": mturk.url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "QUORUM_DATA": str(tmp_path / "data"),
        "QUORUM_DATABASE_URL": database.geturl(),
    }


def race(do: str, campaign: Campaign, environment: dict[str, str]) -> list[int]:
    """What each of the processes got; they begin together when the last of them is ready."""
    with ExitStack() as stack:
        writers = [stack.enter_context(process) for process in start(do, campaign, environment)]
        for writer in writers:
            assert writer.stdout
            assert writer.stdout.readline() == "ready\n"
        with watched(campaign):
            for writer in writers:
                assert writer.stdin
                writer.stdin.write("go\n")
                writer.stdin.flush()
            outputs = [writer.communicate(timeout=120)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    return [int(output) for output in outputs]


def start(
    do: str, campaign: Campaign, environment: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    for number in range(WRITERS):
        yield subprocess.Popen(
            [sys.executable, "-c", WRITER + DO[do], campaign.name, f"writer {number}"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def test_sixteen_publishers_publish_exactly_half(
    campaign: Campaign, environment: dict[str, str]
) -> None:
    assert sum(race("publish", campaign, environment)) == HALF
    assert_half_is_published(campaign)


def test_the_database_alone_holds_sixteen_who_ask_nobody_first(
    campaign: Campaign, environment: dict[str, str]
) -> None:
    assert sum(race("reserve", campaign, environment)) == HALF
    assert_half_is_reserved(campaign)
