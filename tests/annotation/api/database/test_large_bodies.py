"""Large bodies are taken from who may import, and only as many as the disk has room for."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from django.urls import reverse

from config.web_worker import MOST_BODY, UPLOADS
from demo.processes import ROOT, without_outside
from tests.support.running_site import SOON, Site

PAGE, API = UPLOADS
LARGE = MOST_BODY + 1
# As the site's; the disk has room for two such bodies and their copies.
CONFIG = f"""
from config import web_worker
from config.gunicorn import *
web_worker._free = lambda: web_worker.RESERVE + 5 * {LARGE}
threads = 2
"""
PEOPLE = """
import django, json
django.setup()
from datetime import timedelta
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django.contrib.sessions.models import Session
from knox.models import AuthToken

# The tables at once, without the way there.
settings.MIGRATION_MODULES = {app.label: None for app in django.apps.apps.get_app_configs()}
call_command("migrate", run_syncdb=True, verbosity=0)
sent = {"nobody's session": {"Cookie": "sessionid=something"}}
sent["nobody's token"] = {"Authorization": "Bearer " + "0" * 64}
sent["another way"] = {"Authorization": "Basic Zm9yOm1l"}
for name in ("importer", "reader", "former", "late"):
    user = User.objects.create_user(name)
    if name != "reader":
        user.user_permissions.add(Permission.objects.get(codename="add_qapair"))
    client = Client()
    client.force_login(user)
    cookie = settings.SESSION_COOKIE_NAME + "=" + client.session.session_key
    sent[name + "'s session"] = {"Cookie": "csrftoken=a; " + cookie}
    made, token = AuthToken.objects.create(user)
    sent[name + "'s token"] = {"Authorization": "Bearer " + token}
    if name == "late":
        Session.objects.filter(pk=client.session.session_key).update(expire_date=timezone.now())
        AuthToken.objects.filter(pk=made.pk).update(expiry=timezone.now())
User.objects.filter(username="former").update(is_active=False)
print(json.dumps(sent))
"""
Headers = Mapping[str, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def people(folder: Path) -> dict[str, Headers]:
    """What a request brings of each."""
    settings = {"QUORUM_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", PEOPLE],
        cwd=ROOT,
        env=without_outside(os.environ) | settings,
        stdout=subprocess.PIPE,
        check=True,
    )
    sent: dict[str, Headers] = json.loads(done.stdout)
    return sent


@pytest.fixture(scope="module")
def site(folder: Path, people: object) -> Iterator[Site]:
    config = folder / "gunicorn_config.py"
    config.write_text(CONFIG)
    running = Site(folder, "config.wsgi", str(config), workers=2)
    yield running.wait()
    running.process.terminate()
    assert running.process.wait(timeout=30) == 0


def begin(site: Site, path: str, headers: Headers, *, length: str = "") -> socket.socket:
    """A request whose body is not sent; `length`: the header that says how long it is."""
    connection = site.connect()
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", length or f"Content-Length: {LARGE}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def status(connection: socket.socket, *, wait: float = SOON) -> int | None:
    """None: the site waits for the body."""
    connection.settimeout(wait)
    with contextlib.suppress(TimeoutError):
        return int(connection.recv(100).split()[1])
    return None


def answer(site: Site, path: str, headers: Headers, *, wait: float = SOON) -> int | None:
    with begin(site, path, headers) as connection:
        return status(connection, wait=wait)


def test_the_addresses_are_those_of_imports() -> None:
    assert (reverse("database-upload"), "/api/v1/jobs/import") == UPLOADS


@pytest.mark.parametrize("path", UPLOADS)
def test_a_large_body_is_taken_from_who_may_import_alone(
    path: str, site: Site, people: dict[str, Headers]
) -> None:
    may = {name: sent for name, sent in people.items() if name.startswith("importer")}
    assert {answer(site, path, sent) for name, sent in people.items() if name not in may} == {413}
    assert answer(site, path, {}) == 413
    assert {answer(site, path, sent, wait=1) for sent in may.values()} == {None}


def test_a_database_that_does_not_answer_lets_nobody_in(
    tmp_path: Path, people: dict[str, Headers]
) -> None:
    running = Site(tmp_path, "config.wsgi", "config/gunicorn.py").wait()  # it has no tables
    assert answer(running, API, people["importer's token"]) == 413
    assert answer(running, PAGE, people["importer's session"]) == 413
    running.process.terminate()
    assert running.process.wait(timeout=30) == 0


def test_no_other_address_takes_one(site: Site, people: dict[str, Headers]) -> None:
    assert answer(site, "/sign-in", people["importer's session"]) == 413


def test_a_large_body_says_how_long_it_is(site: Site, people: dict[str, Headers]) -> None:
    """Else nobody knows whether it fits."""
    chunks = "Transfer-Encoding: chunked"
    with begin(site, API, people["importer's token"], length=chunks) as connection:
        step = b"a" * 1_000_000
        with contextlib.suppress(ConnectionError):  # it has answered
            for _ in range(LARGE // len(step) + 1):
                connection.sendall(b"%x\r\n%s\r\n" % (len(step), step))
        assert status(connection) == 413


def test_bodies_under_way_are_counted_together_whichever_process_takes_them(
    site: Site, people: dict[str, Headers]
) -> None:
    with contextlib.ExitStack() as held:

        def some(count: int) -> list[socket.socket]:
            sent = people["importer's session"]
            return [held.enter_context(begin(site, PAGE, sent)) for _ in range(count)]

        def taken(connections: list[socket.socket]) -> list[socket.socket]:
            return [one for one in connections if status(one, wait=0.5) is None]

        first, second = taken(some(8))
        assert not taken(some(2))
        first.close()
        until = time.monotonic() + SOON
        while not (others := taken(some(1))) and time.monotonic() < until:
            pass
        assert len(others) == 1
        assert not taken(some(1))
        second.close()


def test_what_a_killed_process_had_counted_is_counted_no_more(
    site: Site, folder: Path, people: dict[str, Headers]
) -> None:
    incoming = folder / "incoming"
    (incoming / "0").mkdir()
    with (incoming / "0" / "pledge-of-nobody").open("wb") as file:
        file.truncate(5 * LARGE)
    workers = {one.name for one in incoming.glob("*/")} - {"0"}
    assert len(workers) == 2
    assert answer(site, PAGE, people["importer's session"]) == 413
    os.kill(int(min(workers)), 9)
    until = time.monotonic() + SOON
    while (incoming / "0").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert answer(site, PAGE, people["importer's session"], wait=1) is None
