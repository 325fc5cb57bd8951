"""A worker of gunicorn that reads whole requests before a thread gets them, by waitress.

Whoever sends byte by byte, or nothing, or does not read the answer, holds a socket and no thread,
and not for long. Large bodies are taken where they belong, from somebody who may import, as far as
the disk has room for all that are under way.
"""

import fcntl
import logging
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import BaseWSGIServer, create_server

from core.files.work_folder import abandoned, working_folder
from retrieval.corpus.uploads import MOST_BYTES, RESERVE

PATIENCE = 20  # seconds for a request, and for an answer that is not read
LEAST_RATE = 4_096  # bytes a second, of one that takes longer
IDLE = 30  # seconds between two requests of a connection
MOST_CONNECTIONS = 4_000
MOST_HEADERS = 32_768  # bytes
MOST_BODY = 64_000_000  # bytes, of all requests but uploads
PLEDGE = "pledge-"
UPLOADS = "/admin/database/upload", "/api/v1/jobs/import"
TICK = 1.0  # seconds


class Request(HTTPRequestParser):  # type: ignore[misc]
    adj: Any
    pledge: IO[bytes] | None = None

    def parse_header(self, header_plus: bytes) -> None:
        """A large body is refused before any of it is read, unless it may come and fits."""
        super().parse_header(header_plus)
        if self.content_length >= MOST_BODY and self.path in UPLOADS and self._may_import():
            self.pledge = _pledge(self._missing())
        if self.pledge:
            self.adj = copy(self.adj)
            self.adj.max_request_body_size = MOST_BYTES

    def _may_import(self) -> bool:
        from annotation.api.database.imports import may_send  # noqa: PLC0415 - it is set up by now

        names = {"HTTP_AUTHORIZATION": "AUTHORIZATION", "HTTP_COOKIE": "COOKIE"}
        sent = {name: self.headers.get(header, "") for name, header in names.items()}
        return may_send(WSGIRequest({"REQUEST_METHOD": "POST", "wsgi.input": BytesIO(), **sent}))

    def _missing(self) -> int:
        """Bytes that the disk has to take yet: of the body, and of the copy that is imported."""
        return int(2 * self.content_length - self.body_bytes_received)

    def renew_pledge(self) -> None:
        if self.pledge:
            self.pledge.truncate(self._missing())

    def close(self) -> None:
        super().close()
        if self.pledge:
            self.pledge.close()


def _pledge(size: int) -> IO[bytes] | None:
    """Room for a body that is to come: a file of that length without content, which every worker
    counts until it is closed. None: the disk has too little.
    """
    incoming = _incoming()
    with (incoming / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _pledged(incoming) + size + RESERVE > _free():
            return None
        file = tempfile.NamedTemporaryFile(prefix=PLEDGE, buffering=0)  # noqa: SIM115 kept open
        file.truncate(size)
        return file


def _pledged(incoming: Path) -> int:
    total = 0
    for path in incoming.glob(f"*/{PLEDGE}*"):
        with suppress(FileNotFoundError):  # it has just come
            total += path.stat().st_size
    return total


def _free() -> int:
    return shutil.disk_usage(settings.DATA_DIR).free


def _incoming() -> Path:
    return Path(settings.DATA_DIR) / "incoming"


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection, with the pace of its client."""

    parser_class = Request

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._moved = self._moved_before = 0  # bytes, either way
        self._since = time.monotonic()
        super().__init__(*args, **kwargs)

    def received(self, data: bytes) -> bool:
        self._moved += len(data)
        return bool(super().received(data))

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent = int(super().send(data, do_close=do_close))
        self._moved += sent
        return sent

    def is_too_slow(self, now: float) -> bool:
        """In each stretch of patience so much has to move, until all of it has."""
        half_sent = self.request is not None
        # Else a thread waits until some of its answer has gone out.
        if half_sent or self.total_outbufs_len >= self.adj.outbuf_high_watermark:
            if now < self._since + PATIENCE:
                return False
            is_slow = self._moved - self._moved_before < LEAST_RATE * PATIENCE
        else:
            is_slow = False
        self._since, self._moved_before = now, self._moved
        return is_slow


class PatientWorker(Worker):  # type: ignore[misc]
    def run(self) -> None:
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it tells how long it is
        for _ in abandoned(_incoming()):
            pass  # of a worker that was killed
        with working_folder(_incoming() / str(os.getpid())) as folder:
            tempfile.tempdir = str(folder)  # of bodies and answers too large for the memory
            self._serve()

    def _serve(self) -> None:
        channels: dict[int, Any] = {}
        self._swept = time.monotonic()
        servers = self._open(channels)
        while self.alive and self.ppid == os.getppid():
            self._turn(channels, servers)
        self._finish(channels, servers)

    def _open(self, channels: dict[int, Any]) -> list[BaseWSGIServer]:
        create_server(
            self.wsgi,
            map=channels,
            sockets=[one.sock for one in self.sockets],
            threads=self.cfg.threads,
            channel_timeout=IDLE,
            cleanup_interval=5,
            connection_limit=_connections(),
            max_request_header_size=MOST_HEADERS,
            max_request_body_size=MOST_BODY,
            asyncore_use_poll=True,
            clear_untrusted_proxy_headers=False,  # the settings say whom they trust
            ident=None,
        )
        servers = [one for one in channels.values() if isinstance(one, BaseWSGIServer)]
        for server in servers:
            server.channel_class = Channel
        return servers

    def _turn(self, channels: dict[int, Any], servers: Iterable[BaseWSGIServer]) -> None:
        self.notify()
        wasyncore.poll2(TICK, channels)
        now = time.monotonic()
        if now < self._swept + TICK:
            return
        self._swept = now
        for server in servers:
            for channel in list(server.active_channels.values()):
                if channel.request is not None:
                    channel.request.renew_pledge()
                if channel.is_too_slow(now):
                    channel.handle_close()  # at once: nobody may be left who reads

    def _finish(self, channels: dict[int, Any], servers: Iterable[BaseWSGIServer]) -> None:
        """What has been asked is answered, as long as gunicorn waits."""
        until = time.monotonic() + self.cfg.graceful_timeout
        for server in servers:
            server.accepting = False
        while time.monotonic() < until and any(map(_is_busy, channels.values())):
            self._turn(channels, servers)


def _is_busy(channel: Any) -> bool:
    return isinstance(channel, Channel) and bool(channel.requests or channel.total_outbufs_len)


def _connections() -> int:
    """As many as the process may open files, less what it needs itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MOST_CONNECTIONS * 2)), hard))
    return min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
