"""The HTTP server around an emulator, and its start and stop."""

import logging
import signal
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from waitress import wasyncore
from waitress.server import create_server

from annotation.crowd.wire.errors import StartError
from annotation.crowd.wire.store import Store

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

THREADS = 8
CONNECTIONS = 1000
MAX_BODY_BYTES = 4_194_304  # far above the application's own limit, which answers politely
WAKE_SECONDS = 1.0

_Store = TypeVar("_Store", bound=Store[Any])


class Server:
    """Listens from the moment it is made; answers while `run` runs."""

    def __init__(
        self,
        open_store: Callable[[], _Store],
        application: Callable[[_Store], "WSGIApplication"],
        *,
        ident: str,
        host: str = "127.0.0.1",
        port: int = 0,
        listening: socket.socket | None = None,
    ) -> None:
        """`listening`: a socket that listens already, in place of host and port."""
        # Its warnings count calls that wait for a thread: normal under load.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._socket = listening or _listen(host, port)
        try:
            store = open_store()
        except StartError:
            self._socket.close()
            raise
        self._store: Store[Any] = store
        self._sockets: dict[int, object] = {}
        self._server = create_server(
            application(store),
            map=self._sockets,
            sockets=[self._socket],
            threads=THREADS,
            connection_limit=CONNECTIONS,
            max_request_body_size=MAX_BODY_BYTES,
            ident=ident,
        )
        self._stopping = False
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}"

    def run(self) -> None:
        try:
            while not self._stopping:
                wasyncore.loop(timeout=WAKE_SECONDS, use_poll=True, map=self._sockets, count=1)
        finally:
            self._server.task_dispatcher.shutdown()
            wasyncore.close_all(self._sockets)
            self.close()

    def close(self) -> None:
        self._store.close()

    def stop(self) -> None:
        """From another thread or a signal handler: `run` ends what it began, and returns."""
        # The loop itself sets the flag when it wakes; where it has ended there is nothing to wake.
        with suppress(OSError):
            self._server.trigger.pull_trigger(self._end_loop)

    def _end_loop(self) -> None:
        self._stopping = True


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        message = f"The emulator cannot listen on {host}:{port} ({error}): choose another port."
        raise StartError(message) from error


def serve(
    make_server: Callable[[Path], Server], *, state: Path | None, started: Callable[[str], None]
) -> None:
    """Run until SIGTERM or SIGINT. `started` gets the address; without `state` it is forgotten."""
    with tempfile.TemporaryDirectory(prefix="emulator-") as scratch:
        server = make_server(state or Path(scratch) / "state.sqlite3")

        def stop(number: int, frame: FrameType | None) -> None:
            server.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        started(server.url)
        server.run()
