"""The same campaign gives the same bytes in every build, and appears whole or not at all."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from annotation.models import Campaign
from exports.building.export import export
from exports.models import WorkerSalt
from tests.exports.support.campaigns import MANY, START, make_campaign
from tests.exports.support.contents import FILES, contents
from tests.exports.support.extracts import random_extract

ROOT = Path(__file__).parents[3]
SHARES: dict[str, Any] = {"train": 0.5, "dev": 0.2, "test": 0.3}


def built(out: Path, **how: Any) -> dict[str, bytes]:
    """The files of a campaign that is made for them and then forgotten."""
    with transaction.atomic():
        campaign = make_campaign(MANY, **SHARES, **how)
        WorkerSalt.objects.create(campaign=campaign, salt="the same")
        export(campaign, out)
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
def test_newer_software_that_makes_the_same_dataset_makes_no_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign()
    first = export(campaign, tmp_path / "release")
    monkeypatch.setattr("exports.layout.manifest.LIBRARIES", ("numpy",))
    again = export(campaign, tmp_path / "release")
    assert again.unchanged
    assert again.released.release == first.released.release


BUILD = """
import sys
from pathlib import Path
from exports.building.assemble import build
from exports.building.options import Options
extract, folder = map(Path, sys.argv[1:])
build(extract, folder, options=Options(), number=1)
"""


def built_apart(extract: Path, folder: Path, *, hash_seed: str) -> dict[str, bytes]:
    """By a process that knows no Django at all."""
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": hash_seed, "HOME": str(extract)}
    arguments = [sys.executable, "-c", BUILD, str(extract), str(folder)]
    subprocess.run(arguments, cwd=ROOT, env=environment, check=True)
    return contents(folder)


@pytest.mark.slow
def test_the_same_extract_makes_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    extract = random_extract(3, queries=30).write(tmp_path / "extract")
    one = built_apart(extract, tmp_path / "one", hash_seed="1")
    assert set(one) >= FILES
    assert built_apart(extract, tmp_path / "other", hash_seed="4242") == one
