"""`make bench` on a handful of pairs, its commands as calls in this process."""

import json

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from benchmarks import folders, main_job
from tests.conftest import StartMTurk
from tests.support.stack import StackHere

pytestmark = pytest.mark.wire


@pytest.mark.django_db(transaction=True)
def test_each_step_is_measured_and_kept(
    start_mturk: StartMTurk, live_server: LiveServer, settings: Settings
) -> None:
    settings.DATA_DIR = folders.fresh("main_job")
    settings.INDEX_DIR = settings.DATA_DIR / "index"
    settings.MTURK_ENDPOINT, settings.PUBLIC_URL = start_mturk().url, live_server.url

    steps = main_job.run(StackHere(settings.DATA_DIR), "QQ", limit=200, queries=3)
    main_job.report(steps, "QQ")

    kept = json.loads((folders.RESULTS / "main_job_qq.json").read_text())
    assert [step["name"] for step in kept["steps"]] == [
        *("ingest", "index", "create", "retrieve", "pack", "publish", "crowd run", "collect"),
        "release",
    ]
