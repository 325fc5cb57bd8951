"""The benchmarks of `make bench` that need PostgreSQL and live sites, each at a tiny size.

Each starts servers of its own, as `make bench` does.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import folders
from benchmarks.campaign import size as campaign
from benchmarks.dashboard import __main__ as dashboard
from benchmarks.judging import __main__ as judging
from benchmarks.release import size as release
from benchmarks.turk import __main__ as turk

pytestmark = pytest.mark.services
SHARE = 0.002  # of the paper's size: 900 triplets


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A kept result is never written over by a test."""
    # pytest's own folders are closed to the users that root lets the servers run as.
    with tempfile.TemporaryDirectory(prefix="quorum-bench-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setattr(folders, "WORK", Path(name))
        monkeypatch.setattr(folders, "RESULTS", Path(name))
        # In a process of its own a benchmark has not loaded the settings, which close new folders.
        closed = os.umask(0o022)
        yield
        os.umask(closed)


def test_a_campaign_takes_every_step() -> None:
    steps = campaign.measure(folders.fresh("paper"), SHARE)
    assert [step.name for step in steps] == list(campaign.STEPS)
    assert all(step.rows for step in steps)


def test_the_calls_of_a_campaign() -> None:
    report = campaign.measure_calls(folders.fresh("paper"), SHARE)
    assert {"create", "collect", "decide"} < report.keys()


def test_a_release() -> None:
    measured = {SHARE: release.measure(folders.fresh("release"), SHARE)}
    assert release.report(measured)[f"{SHARE:g}"]["ratio"] > 0


def test_taking_and_submitting_a_hit() -> None:
    assert judging.main(["--small"]) == 0


def test_hits_are_created_worked_and_paid_at_the_turk() -> None:
    assert turk.main(["--small"]) == 0


def test_every_page_of_the_dashboard_answers() -> None:
    assert dashboard.main(["--share", str(SHARE), "--rounds", "2"]) == 0
