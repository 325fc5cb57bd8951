"""Backup and restore on PostgreSQL, with a campaign in flight."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg2
import pytest
from django.core.management import CommandError
from django.db import connection, connections
from django.utils import timezone
from psycopg2 import sql
from pytest_django import Settings

from annotation.crowd.inhouse import assignments
from annotation.models import Entry, Hit
from annotation.pipeline.ledger.reservations import account_of, set_budget
from core.backup import databases
from core.backup.backup import back_up
from core.backup.contents import files_in
from core.backup.restore import restore
from core.errors import UserError
from core.progress import no_progress
from demo.services import Services
from tests.annotation.pipeline.ledger.ledger_book import money
from tests.exports.support.storage import lie_at
from tests.exports.support.stored_release import stored_release
from tests.support.command_line import quorum
from tests.worlds.small_campaign import Stage, fill_database, sheet_of
from tests.worlds.team import Team, make_team

pytestmark = pytest.mark.services

NEW = "restored"


def live_in(folder: Path, settings: Settings) -> None:
    folder.mkdir(exist_ok=True)
    settings.DATA_DIR = folder
    settings.INDEX_DIR, settings.MODELS_DIR = folder / "index", folder / "models"
    lie_at(str(folder / "releases"), settings)


@pytest.fixture
def team(on_postgresql: None, tmp_path: Path, settings: Settings) -> Team:
    """Some of their work is approved, some is submitted, some is in hand; and a release."""
    live_in(tmp_path / "site", settings)
    fill_database(tmp_path)
    team = make_team(tmp_path, "http://127.0.0.1:8000", candidates_per_query=5, reward_cents=7)
    work(team, "ada")
    work(team, "bob")
    team.advance()
    work(team, "eve")
    assert assignments.take(team.members["ada"], now=timezone.now())
    stored_release(team.campaign)
    return team


def work(team: Team, name: str) -> bool:
    task = assignments.take(team.members[name], now=timezone.now())
    if task is None:
        return False
    sheet = sheet_of(Hit.objects.get(crowd_id=task.posted_hit.hit_id))
    assignments.submit(task.member, task.assignment_id, sheet, now=timezone.now())
    return True


@pytest.fixture
def new_site(team: Team, services: Services, tmp_path: Path) -> Iterator[str]:
    """The name of an empty database."""
    with administered(f'CREATE DATABASE "{NEW}"', f'DROP DATABASE IF EXISTS "{NEW}"'):
        yield NEW


@contextmanager
def administered(before: str, after: str) -> Iterator[None]:
    mine = connection.settings_dict
    with closing(
        psycopg2.connect(
            host=mine["HOST"],
            port=mine["PORT"],
            user=mine["USER"],
            password=mine["PASSWORD"],
            dbname="postgres",
        )
    ) as server:
        server.autocommit = True
        server.cursor().execute(before)
        yield
        server.cursor().execute(after)


@contextmanager
def moved_to(name: str, folder: Path, settings: Settings) -> Iterator[None]:
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        live_in(folder, settings)
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


def rows() -> dict[str, list[tuple[object, ...]]]:
    """Of every table."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            name = sql.Identifier(table).as_string(cursor.connection)
            cursor.execute(f"SELECT * FROM {name} AS t ORDER BY t::text")
            found[table] = cursor.fetchall()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in files_in(folder)}


def test_a_restored_site_has_the_same_rows_and_files_and_goes_on(
    team: Team, new_site: str, tmp_path: Path, settings: Settings
) -> None:
    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    before, account = rows(), money(Stage(team.campaign, None))
    assert account[0] > 0
    with moved_to(new_site, tmp_path / "new", settings):
        restore(tmp_path / "b.tar.zst", progress=no_progress)
        assert rows() == before
        for name in ("index", "releases"):
            assert contents(tmp_path / "new" / name) == contents(tmp_path / "site" / name) != {}
        quorum("campaign", "reconcile", "--full", "--quiet")
        assert money(Stage(team.campaign, None)) == account
        for _ in range(20):
            if team.advance().finished:
                break
            for name in team.members:
                work(team, name)
        assert not team.campaign.triplets.filter(status="open")
        reserved, paid, discarded = money(Stage(team.campaign, None))
        approved = team.campaign.hits.filter(assignments__status="approved").count()
        assert (reserved, paid + discarded) == (0, 7 * approved)


def test_a_backup_is_of_one_moment_while_others_write(
    team: Team, new_site: str, tmp_path: Path, settings: Settings
) -> None:
    over, begun = threading.Event(), threading.Event()

    def write() -> None:
        cents = account_of(team.campaign).budget_cents
        while not over.is_set():
            cents += 1
            set_budget(team.campaign, cents)
            begun.set()
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert begun.wait(30)
        back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    finally:
        over.set()
        writer.join()
    written = Entry.objects.count()
    with moved_to(new_site, tmp_path / "new", settings):
        restore(tmp_path / "b.tar.zst", progress=no_progress)
        money(Stage(team.campaign, None))  # the entries add up
        assert Entry.objects.count() < written


def test_a_database_with_tables_is_left_alone(team: Team, tmp_path: Path) -> None:
    quorum("backup", tmp_path / "b.tar.zst", "--quiet")
    before = rows()
    with pytest.raises(CommandError, match="tables already, and a backup is restored into an"):
        quorum("restore", tmp_path / "b.tar.zst", "--quiet")
    assert rows() == before


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_load_that_is_cut_off_leaves_the_database_empty(
    share: float, new_site: str, tmp_path: Path, settings: Settings
) -> None:
    """As when the process that feeds it is killed."""
    databases.dump(tmp_path / "dump", no_progress)
    whole = (tmp_path / "dump").read_bytes()
    (tmp_path / "dump").write_bytes(whole[: int(len(whole) * share)])
    with moved_to(new_site, tmp_path / "new", settings):
        with pytest.raises(UserError, match=r"pg_restore failed \(.+\): nothing was written"):
            databases.load(tmp_path / "dump")
        assert connection.introspection.table_names() == []


def test_a_missing_program_is_named(
    on_postgresql: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(databases, "DEBIAN", str(tmp_path))
    with pytest.raises(CommandError) as refusal:
        quorum("backup", tmp_path / "b.tar.zst", "--quiet")
    server = connection.get_database_version()[0]
    assert str(refusal.value) == (
        "There is no program pg_dump here: install PostgreSQL's client programs, version "
        f"{server} or newer (Debian: postgresql-client)."
    )


def test_a_program_older_than_the_server_is_refused(
    on_postgresql: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(CommandError, match="pg_dump is of version 9, older than the server's"):
        quorum("backup", tmp_path / "b.tar.zst", "--quiet")


def test_no_password_is_in_the_list_of_processes(on_postgresql: None) -> None:
    password = connection.settings_dict["PASSWORD"]
    assert password
    assert password not in databases._address()
    assert databases._environment()["PGPASSWORD"] == password
