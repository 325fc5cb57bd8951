"""`make bench SIZE=paper`, step by step at a tiny size; on SQLite, without the floor of packing."""

from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.pipeline.collecting.review import review
from benchmarks import folders
from benchmarks.campaign import inputs, record, size, steps
from benchmarks.campaign.calls import Both
from tests.benchmarks.sqlite_copy import insert
from tests.worlds.account import Account

pytestmark = pytest.mark.wire

SHARE, LESS = 0.001, 0.0003  # of the paper's size: 450 triplets, 150


@pytest.fixture
def on_sqlite(mturk: Account, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.DATA_DIR = folders.fresh("paper")
    settings.INDEX_DIR = settings.DATA_DIR / "index"
    for module in (inputs, record):
        monkeypatch.setattr(module, "copy", insert)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_sqlite")
def test_each_step_does_something() -> None:
    for name in size.STEPS:
        if name != "bare pack":  # it asks PostgreSQL for its foreign keys
            taken = steps.Taken()
            steps.STEPS[name](taken, SHARE)
            assert taken.rows, name


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_sqlite")
def test_the_calls_take_turns_with_a_bare_loop(tmp_path: Path) -> None:
    for name in ("inputs", "pack", "publish"):
        steps.STEPS[name](steps.Taken(), LESS)
    both = Both(tmp_path / "mturk-0.sqlite3")
    assert both.create()["calls"]
    assert both.collect()["calls"]
    review(both.campaign)
    assert both.decide()["calls"]
