"""Clients that send or read byte by byte, or nothing, keep nobody else waiting."""

import contextlib
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running_site import Site

FEW = 8  # connections; the server has four threads
MANY = 1_000
# As the site's, with less patience, so that a test need not have more.
CONFIG = """
from config import web_worker
from config.gunicorn import *
web_worker.PATIENCE = 1
threads = 2
def post_worker_init(worker): ...  # no banner: there is no Django
"""
# An answer that nobody reads fills the buffers of both sides.
ENDLESS = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["PATH_INFO"] == "/endless":
        return (b"a" * 65536 for _ in range(100_000))
    return [b"here"]

"""
SLOW = {
    "headers": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-a: ",
    "a program's body": b"POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
    "a form": b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\na=",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    running = Site(folder, "config.wsgi", "config/gunicorn.py")
    yield running.wait()
    running.process.terminate()
    assert running.process.wait(timeout=30) == 0


@pytest.mark.parametrize("kind", SLOW)
def test_who_sends_byte_by_byte_holds_no_thread(site: Site, kind: str) -> None:
    with contextlib.ExitStack() as held:
        slow = [held.enter_context(site.connect()) for _ in range(FEW)]
        for one in slow:
            one.sendall(SLOW[kind])
        for _ in range(3):
            for one in slow:
                one.sendall(b"a")
            assert site.answers()


def test_a_thousand_connections_that_say_nothing_hold_none(site: Site) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * MANY)), hard))
    with contextlib.ExitStack() as held:
        for _ in range(MANY):
            held.enter_context(site.connect())
        assert site.answers()


def test_who_asks_to_close_and_does_not_is_not_waited_for(site: Site) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(5 * FEW):
            one = held.enter_context(site.connect())
            one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert site.answers()


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "endless.py").write_text(ENDLESS)
    config = tmp_path / "gunicorn_config.py"
    config.write_text(CONFIG)
    running = Site(tmp_path, "endless:app", str(config))
    yield running.wait()
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(timeout=60) == 0


def test_who_is_too_slow_is_sent_away(impatient: Site) -> None:
    with impatient.connect() as slow:
        slow.sendall(SLOW["headers"])
        assert slow.recv(100) == b""  # closed


def test_answers_that_nobody_reads_hold_a_thread_for_as_long_as_patience_lasts(
    impatient: Site,
) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(2):  # as many as there are threads
            reader = held.enter_context(impatient.connect())
            reader.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(0.5)  # until both are being answered
        assert impatient.answers("/")
