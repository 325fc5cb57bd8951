"""The life of a campaign in docs/api.md, line by line, by curl against a live site."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.jobs.tasks import run_job
from annotation.models import AuditEntry, Campaign
from exports.models import Release
from retrieval.jobs.queue import waiting_jobs
from retrieval.models import Job, QaPair
from tests.annotation.api.people import PASSWORD
from tests.annotation.api.whole.test_description import DOC
from tests.worlds.account import Account
from tests.worlds.small_campaign import PAIRS, POLICY, Stage, write_rows

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="curl and jq"),
]

BLOCKS = re.findall(r"^```sh\n(.*?)^```", DOC, flags=re.MULTILINE | re.DOTALL)
# What the doc says of a campaign of 100 queries, for one of five.
SMALLER = {
    '"…"': json.dumps(PASSWORD),
    '"sample": 100': f'"sample": 5, "policy": {json.dumps(dict(POLICY))}',
    '"first": 10': '"first": 2',
}
KEEP = "{ declare -p SITE TOKEN JOB BUILD; declare -f; } > state 2> unset || true\n"


class Shell:
    """Runs a block after the other; what one has set, the next one has."""

    def __init__(self, folder: Path, site: str) -> None:
        self._folder = folder
        (folder / "state").write_text(f"SITE={site}\n")

    def run(self, block: str) -> str:
        for said, small in SMALLER.items():
            block = block.replace(said, small)
        script = f"set -eu -o pipefail\nsource ./state\n{block}\n{KEEP}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self._folder, capture_output=True, text=True, timeout=120,
            env={"PATH": os.environ["PATH"], "no_proxy": "*"},
        )  # fmt: skip
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture
def shell(live_server: LiveServer, tmp_path: Path, settings: Settings, mturk: Account) -> Shell:
    """With the pairs' file where the lines look for it."""
    settings.PUBLIC_URL = live_server.url
    settings.DATA_DIR = tmp_path
    settings.INDEX_DIR = tmp_path / "index"
    folder = tmp_path / "here"
    folder.mkdir()
    rows = [{"question": question, "answer": answer} for question, answer in PAIRS]
    write_rows(folder / "pairs.jsonl", [*rows, {"question": "why", "answer": ""}])
    User.objects.create_superuser("ada", password=PASSWORD)
    return Shell(folder, live_server.url)


def work_off() -> None:
    """As the worker does."""
    for job in waiting_jobs():
        run_job(job.pk)
        job.refresh_from_db()
        assert job.state == Job.State.DONE, job.error


def judged(mturk: Account) -> None:
    stage = Stage(Campaign.objects.get(), mturk)
    for name in ("ada", "bob"):
        for hit in stage.campaign.hits.all():
            stage.work(name, hit.number, lambda _, rank: int(rank == 1))


def test_the_life_in_the_doc_is_lived_by_its_own_lines(
    shell: Shell, mturk: Account, tmp_path: Path
) -> None:
    before: dict[str, Callable[[], None]] = {"collect-1": lambda: judged(mturk)}
    report = []
    for block in BLOCKS:
        work_off()
        for sign, operation in before.items():
            if sign in block:
                operation()
        report.append(shell.run(block))
    said = "".join(report)
    assert '"rejected": 1' in said
    assert "the answer is empty" in said
    assert "2 of the 5 HITs of faq go to the workers" in said
    assert '"labelled": 25' in said
    assert QaPair.objects.count() == len(PAIRS)
    campaign = Campaign.objects.get()
    assert set(campaign.triplets.values_list("status", flat=True)) == {"labelled"}
    archive = tmp_path / "here" / "faq-1.tar.zst"
    stored = Release.objects.get().files.get(path="faq-1.tar.zst")
    assert archive.stat().st_size == stored.bytes
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == [
        "create-token",
        *("import pairs", "build index", "import-controls", "create", "retrieve", "pack"),
        *("publish", "publish", "collect", "build-release"),
    ]
