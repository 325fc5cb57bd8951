"""A site that an older version made, its campaign in flight: see `tests/upgrade/make_site.py`.

first: complete, with a release. second: five HITs for a team of three, 7 cents an assignment; some
work is approved, one is rejected, one is submitted and not yet collected, one is in hand.
"""

import hashlib
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import zstandard
from django.core.management import call_command
from django.db import connection
from django.db.models import Max, QuerySet
from pytest_django import DjangoDbBlocker, Settings

from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Assignment as Task
from annotation.crowd.inhouse.models import Member
from annotation.models import Campaign, Hit, Judgment
from annotation.pipeline.advance import Pass, advance
from annotation.pipeline.reconcile.run import reconcile
from core.backup.databases import load
from tests.exports.support.storage import lie_at
from tests.support.unpacking import unpack
from tests.worlds.small_campaign import sheet_of

ARCHIVES = Path(__file__).parents[1] / "upgrade"
NAMES = {"sqlite": "site-3641898a.tar.zst", "postgresql": "site-3641898a-postgresql.tar.zst"}


def unpack_older_site(folder: Path) -> None:
    with (
        (ARCHIVES / NAMES[connection.vendor]).open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as content,
        tarfile.open(fileobj=content, mode="r|") as archive,
    ):
        unpack(archive, folder)


@contextmanager
def site_in(folder: Path, settings: Settings, blocker: DjangoDbBlocker) -> Iterator[Path]:
    """This process works on the data folder and the database that lie there."""
    folder.mkdir(exist_ok=True)
    settings.DATA_DIR = folder
    settings.INDEX_DIR, settings.MODELS_DIR = folder / "index", folder / "models"
    lie_at(str(folder / "releases"), settings)
    with blocker.unblock(), _database_in(folder):
        yield folder


@contextmanager
def _database_in(folder: Path) -> Iterator[None]:
    before = str(connection.settings_dict["NAME"])
    is_file = connection.vendor == "sqlite"
    name = str(folder / "quorum.sqlite3") if is_file else f"{before}_older"
    if not is_file:
        _execute(f'CREATE DATABASE "{name}"')
    try:
        _open_database(name)
        if not is_file:
            load(folder / "database.pgdump")
        yield
    finally:
        _open_database(before)
        if not is_file:
            _execute(f'DROP DATABASE "{name}"')


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _open_database(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name


def upgrade() -> None:
    call_command("migrate", verbosity=0)


class Office:
    """The campaign in flight, at the hour when the older version was stopped."""

    def __init__(self) -> None:
        self.campaign = Campaign.objects.get(name="second")
        last = Task.objects.aggregate(last=Max("accepted_at"))["last"]
        self.now: datetime = last + timedelta(minutes=1)
        self.crowd = InhouseCrowd(clock=lambda: self.now)
        self.members = {str(one.user): one for one in Member.objects.select_related("user")}

    def advance(self) -> Pass:
        self.now += timedelta(minutes=1)
        return advance(self.campaign, self.crowd, clock=lambda: self.now)

    def reconcile(self) -> None:
        report = reconcile(self.campaign, self.crowd, full=True, clock=lambda: self.now)
        assert report.stopped_by is None

    def work(self, name: str) -> bool:
        """Whether there was a task."""
        work = assignments.take(self.members[name], now=self.now)
        if work is None:
            return False
        hit = Hit.objects.get(crowd_id=work.posted_hit.hit_id)
        judge = differing if name == "eve" else judged
        assignments.submit(work.member, work.assignment_id, sheet_of(hit, judge), now=self.now)
        return True

    def votes(self) -> QuerySet[Judgment]:
        """Those that count, by what the database says of their work."""
        approved = Judgment.objects.filter(
            assignment__hit__campaign=self.campaign,
            assignment__status="approved",
            item__control=None,
        )
        return approved.exclude(worker__in=self.campaign.exclusions.values("worker"))

    def excluded(self) -> set[str]:
        ids = set(self.campaign.exclusions.values_list("worker__worker_id", flat=True))
        return {name for name, member in self.members.items() if member.worker_id in ids}

    def finish(self) -> None:
        for _ in range(10):
            if self.advance().finished:
                return
            for name in ("eve", "ada", "bob"):
                self.work(name)
        raise AssertionError("the campaign does not end")


def judged(query: str, rank: int) -> int:
    """As they judged in the older version."""
    return hashlib.sha256(f"{query} {rank}".encode()).digest()[0] % 2


def differing(query: str, rank: int) -> int:
    return 1 - judged(query, rank) if rank == 3 else judged(query, rank)
