"""Jobs of the real site: one whose process is killed, and files that are made to stop it."""

import gzip
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from knox.models import AuthToken
from pytest_django import Settings

from demo.services import Services
from retrieval.models import Job, QaPair
from tests.services.conftest import start_stack
from tests.services.stack import ServiceStack, wait_until

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("on_postgresql")]

# As the site has them where nobody sets another.
USUAL = {"QUORUM_PASS_SECONDS": "30", "QUORUM_CLAIM_SECONDS": "20"}
TAKEN_OVER = 30  # seconds after the death, at most
ROWS = 60_000
LINES = 50_000_000  # of a bomb
MOST_KILOBYTES = 1_500_000  # of one process: what a reader may take, and what it begins with
MOST_SECONDS = 120


def send(stack: ServiceStack, path: Path) -> Job:
    """As a program does, with a token of somebody who may import."""
    importer, _ = User.objects.get_or_create(username="importer", is_superuser=True)
    _, token = AuthToken.objects.create(importer)
    with path.open("rb") as file:
        answer = httpx.post(
            f"{stack.site_url}/api/v1/jobs/import",
            headers={"Authorization": f"Bearer {token}", "Idempotency-Key": path.name},
            data={"source": path.stem},
            files={"files": (path.name, file)},
            timeout=60,
        )
    assert answer.status_code == 202, answer.text
    return Job.objects.get(pk=answer.json()["id"])


def processes_of(stack: ServiceStack, name: str) -> Iterator[Path]:
    """Folders of /proc: the process and all that it has started."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            session = int(status.read_text().rpartition(")")[2].split()[3])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if session == stack.process_id(name):
            yield status.parent


def has_begun(job: Job) -> bool:
    job.refresh_from_db()
    return job.stage.startswith("adding") and job.done > 0


def has_ended(job: Job) -> bool:
    job.refresh_from_db()
    return bool(job.is_over)


def was_taken_over(job: Job) -> bool:
    job.refresh_from_db()
    return job.attempts == 2


def test_the_job_of_a_killed_process_is_taken_over_within_half_a_minute(
    services: Services, tmp_path: Path, settings: Settings
) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"question": "Why {n}?", "answer": "So."}}\n' for n in range(ROWS)))
    with start_stack(services, tmp_path, settings, USUAL) as stack:
        job = send(stack, path)
        wait_until(partial(has_begun, job), "pairs were being added")
        for process in processes_of(stack, "jobs"):
            if int(process.name) != stack.process_id("jobs"):  # that one starts others
                os.kill(int(process.name), signal.SIGKILL)
        wait_until(partial(was_taken_over, job), "another was at it", seconds=TAKEN_OVER)
        wait_until(partial(has_ended, job), "it was done")
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert QaPair.objects.count() == ROWS


def one_text_often(path: Path) -> None:
    """160 GB of answers."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["x" * 8_000_000])
    table = pa.table({"question": ["What is rain?"] * 20_000, "answer": texts})
    pq.write_table(table, path, compression="zstd", store_schema=False)


def zipped(begin: bytes, line: bytes, path: Path) -> None:
    path.write_bytes(gzip.compress(begin + line * LINES, 1))


BOMBS = {
    "often.parquet": (one_text_often, "takes more than 1,000 MB of memory to read"),
    "rows.csv.gz": (
        partial(zipped, b"question,answer\n", b"a,b\n"),
        "unpacks to more than",
    ),
    "blank.jsonl.gz": (partial(zipped, b"", b"\n"), "blank lines"),
}


def test_bombs_that_are_uploaded_cost_seconds_and_megabytes(
    stack: ServiceStack, tmp_path: Path
) -> None:
    most = 0

    def has_ended_while_the_site_answers(job: Job) -> bool:
        nonlocal most
        assert httpx.get(f"{stack.site_url}/health", timeout=10).status_code == 200
        for name in ("site", "jobs"):
            most = max([most, *map(peak_kilobytes, processes_of(stack, name))])
        return has_ended(job)

    for name, (write, sentence) in BOMBS.items():
        path = tmp_path / name
        write(path)
        assert path.stat().st_size < 1_000_000
        job = send(stack, path)
        ended = partial(has_ended_while_the_site_answers, job)
        wait_until(ended, f"{name} was refused", seconds=MOST_SECONDS)
        assert (job.state, job.attempts) == (Job.State.FAILED, 1)
        assert sentence in job.error
    assert 0 < most < MOST_KILOBYTES
    assert not QaPair.objects.exists()


def peak_kilobytes(process: Path) -> int:
    try:
        lines = (process / "status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
