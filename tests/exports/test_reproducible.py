"""The same campaign gives the same bytes, whoever exports it, and appears whole or not at all."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from annotation.models import Campaign
from exports.build import export
from tests.exports.campaigns import START, VERDICTS, make_campaign
from tests.exports.reading import FILES, contents

ROOT = Path(__file__).parents[2]
MANY = {f"q{number}": VERDICTS["moon"] for number in range(12)} | VERDICTS
SHARES: dict[str, Any] = {"train": 0.5, "dev": 0.2, "test": 0.3}

MAKE_AND_DIE = """
import os, signal, sys
from pathlib import Path
import django
django.setup()
from django.core.management import call_command
from django.db import transaction
from exports.build import export
from tests.exports.campaigns import make_campaign
from tests.exports.test_reproducible import MANY, SHARES
call_command("migrate", verbosity=0)
queries = []
def die_half_way(increment):
    queries.append(increment)
    if len(queries) == 7:
        os.kill(os.getpid(), signal.SIGKILL)
with transaction.atomic():
    campaign = make_campaign(MANY, **SHARES)
export(campaign, Path(sys.argv[1]), progress=die_half_way)
"""


def built(out: Path, **how: Any) -> dict[str, bytes]:
    """The files of a campaign that is made anew and forgotten again."""
    with transaction.atomic():
        export(make_campaign(MANY, **SHARES, **how), out)
        transaction.set_rollback(True)
    return contents(out)


@pytest.mark.django_db
def test_another_order_of_rows_other_crowd_ids_and_times_give_the_same_bytes(
    tmp_path: Path,
) -> None:
    first = built(tmp_path / "one")
    later = START + timedelta(days=400)
    backwards = built(tmp_path / "other", backwards=True, began=later)
    assert backwards == first
    assert not Campaign.objects.exists()


@pytest.mark.django_db
def test_a_release_made_again_is_unchanged(tmp_path: Path) -> None:
    campaign = make_campaign()
    first = export(campaign, tmp_path / "release")
    stamp = first.folder.stat().st_mtime_ns
    again = export(campaign, tmp_path / "release")
    assert (first.unchanged, again.unchanged) == (False, True)
    assert first.folder.stat().st_mtime_ns == stamp
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


@pytest.mark.django_db
def test_newer_software_that_makes_the_same_release_is_no_change(tmp_path: Path) -> None:
    campaign = make_campaign()
    release = export(campaign, tmp_path / "release").folder
    manifest = json.loads((release / "manifest.json").read_bytes())
    manifest["versions"]["django"] = "4.2"
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert export(campaign, release).unchanged


def run(data: Path, *arguments: str, seed: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "QUORUM_DATA": str(data),
        "QUORUM_DATABASE_URL": "",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONHASHSEED": seed,
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_killed_export_leaves_no_release_and_any_later_process_makes_the_same(
    tmp_path: Path,
) -> None:
    data, one, other = tmp_path / "data", tmp_path / "to" / "one", tmp_path / "to" / "other"
    assert run(data, "-c", MAKE_AND_DIE, str(one), seed="0").returncode == -signal.SIGKILL
    assert [path.name for path in one.parent.iterdir()] == [".one.unfinished"]

    arguments = ("manage.py", "export", "demo", "--out")
    first = run(data, *arguments, str(one), seed="1")
    assert first.returncode == 0
    assert [path.name for path in one.parent.iterdir()] == ["one"]
    second = run(data, *arguments, str(other), "--quiet", seed="4242")
    assert second.returncode == 0
    assert set(contents(one)) == FILES
    assert contents(one) == contents(other)
    assert "exporting: 100%" in first.stderr
    assert "exporting" not in second.stderr
