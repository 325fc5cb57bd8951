"""`make bench SIZE=release`, step by step at a tiny size."""

import json
from pathlib import Path

import pytest
from pytest_django import Settings

from benchmarks import folders
from benchmarks.campaign import inputs
from benchmarks.campaign.size import Step
from benchmarks.campaign.steps import Taken
from benchmarks.release import record, size, steps
from tests.benchmarks.sqlite_copy import insert
from tests.worlds.small_campaign import fill_database, packed_campaign


@pytest.mark.django_db(transaction=True)
def test_each_step_runs_and_the_figures_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(record, "copy", insert)
    for name, path in (("FOLDER", "."), ("EXTRACT", "extract"), ("ASSIGNED", "assigned.json")):
        monkeypatch.setattr(steps, name, tmp_path / "release" / path)
    settings.INDEX_DIR = tmp_path / "index"
    fill_database(tmp_path)
    packed_campaign(tmp_path, name=inputs.NAME, train=1, dev=1, test=1)

    made = [taken(name) for name in (size.RECORD, *size.STEPS)]
    size.keep({1.0: made}, size.report({1.0: made}))

    assert all(step.rows for step in made)
    kept = json.loads((folders.RESULTS / "release_size.json").read_text())
    assert list(kept["totals"]) == ["1"]
    assert (tmp_path / "release" / "parquet" / "train.parquet").stat().st_size


def taken(name: str) -> Step:
    step = Taken()
    steps.STEPS[name](step)
    return Step(name, 1.0, step.rows, step.unit, step.seconds, wall=0.1, peak_mb=1.0)
