"""What nobody asks for any more goes once a day: answers of the API, files that were sent."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from annotation.access.audit_log import by_page
from annotation.jobs.tasks import tidy
from annotation.models import Request
from annotation.models.access import KEPT_ANSWERS
from annotation.operations.campaigns import Wanted as Creation
from annotation.operations.campaigns import own_queries_folder, request_creation
from annotation.protocol.policy.policy import Policy
from config import celery
from retrieval.corpus.uploads import UploadedFile, folder_of, new_folder, throw_away_sent
from retrieval.jobs.import_files import ImportRequest, request_import
from retrieval.models import Job

pytestmark = pytest.mark.django_db

DAY = 86_400


@pytest.fixture(autouse=True)
def data(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path / "data"


def grow_old(path: Path, days: float) -> None:
    past = time.time() - days * DAY
    os.utime(path, (past, past))


def upload(*names: str, days: float) -> Path:
    folder = new_folder()
    for name in names:
        (folder / name).write_text("question,answer\n")
    grow_old(folder, days)
    return folder


def asked(folder: Path, state: str) -> Job:
    job = request_import(
        ImportRequest(folder.name[:8]), [UploadedFile("1.csv", "a.csv", 9)], folder, by=None
    )
    Job.objects.filter(pk=job.pk).update(state=state)
    return job


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_it_is_done_each_day() -> None:
    entry = django_settings.CELERY_BEAT_SCHEDULE["tidy"]
    assert (entry["task"], entry["schedule"]) == (tidy.name, DAY)
    assert tidy.name in celery.tasks


def test_answers_are_kept_as_long_as_the_documentation_says() -> None:
    ada = User.objects.create_user("ada")
    for key, age in (
        ("young", KEPT_ANSWERS - timedelta(hours=1)),
        ("old", KEPT_ANSWERS + timedelta(hours=1)),
    ):
        Request.objects.create(user=ada, key=key, digest="0" * 64, status=200)
        Request.objects.filter(key=key).update(created_at=timezone.now() - age)
    tidy()
    assert list(Request.objects.values_list("key", flat=True)) == ["young"]
    words = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    assert f"A key and its answer are kept for {KEPT_ANSWERS.days} days" in words


@pytest.mark.parametrize(
    ("state", "stays"), [("queued", True), ("running", True), ("done", False), ("failed", False)]
)
def test_the_files_of_an_import_stay_until_it_is_over(state: str, stays: bool) -> None:
    folder = upload("1.csv", "rejected-1.jsonl", days=2)
    asked(folder, state)
    tidy()
    assert left(folder) == ["1.csv"] * stays + ["rejected-1.jsonl"]


def test_what_nobody_has_asked_for_goes_after_a_day() -> None:
    """As where the site was stopped in the middle of an upload."""
    fresh, abandoned, refused = (upload("1.csv", days=days) for days in (0.5, 1.5, 400))
    tidy()
    assert left(fresh) == ["1.csv"]
    assert not abandoned.exists()
    assert not refused.exists()


def test_refused_rows_go_after_a_month() -> None:
    young, old = (upload("rejected-1.jsonl", days=days) for days in (29, 31))
    tidy()
    assert left(young) == ["rejected-1.jsonl"]
    assert not old.exists()


def test_own_queries_wait_a_week_for_their_campaign() -> None:
    folder = own_queries_folder()
    folder.mkdir(parents=True)
    for name, days in (("young.txt", 6), ("old.txt", 8)):
        (folder / name).write_text("one?\n")
        grow_old(folder / name, days)
    grow_old(folder, 2)
    tidy()
    assert left(folder) == ["young.txt"]


@pytest.mark.parametrize(
    ("state", "stays"), [("queued", True), ("running", True), ("done", False), ("failed", False)]
)
def test_own_queries_stay_until_their_job_is_over(state: str, stays: bool) -> None:
    folder = own_queries_folder()
    folder.mkdir(parents=True)
    (folder / "old.txt").write_text("one?\n")
    grow_old(folder / "old.txt", 40)
    grow_old(folder, 40)
    wanted = Creation("faq", Policy().to_dict(), seed=7, stored="old.txt", file="mine.txt")
    job = request_creation(wanted, by=by_page(User.objects.create_user("ada")))
    Job.objects.filter(pk=job.pk).update(state=state)
    tidy()
    assert left(folder) == ["old.txt"] * stays


@pytest.mark.parametrize("days", [3, 40])
def test_nothing_of_another_name_is_touched(data: Path, days: int) -> None:
    other = folder_of("somebody's")
    other.mkdir(parents=True)
    (other / "file").write_text("mine")
    grow_old(other, days)
    tidy()
    assert left(other) == ["file"]


def test_a_folder_that_goes_meanwhile_stops_nothing(data: Path) -> None:
    """What leads nowhere is listed, and is not there."""
    abandoned, refused = upload("1.csv", days=2), upload("rejected-1.jsonl", days=31)
    for token in ("0" * 32, "f" * 32):
        folder_of(token).symlink_to(data / "gone")
    own = own_queries_folder()
    own.mkdir(parents=True)
    (own / "old.txt").write_text("one?\n")
    grow_old(own / "old.txt", 8)
    tidy()
    assert not abandoned.exists()
    assert not refused.exists()
    assert left(own) == []


def test_a_folder_that_is_gone_need_not_be_thrown_away(data: Path) -> None:
    throw_away_sent(data / "gone")
    assert not data.exists()


def test_there_need_be_nothing_to_tidy(data: Path) -> None:
    tidy()
    assert not data.exists()
