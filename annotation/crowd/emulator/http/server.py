"""The HTTP server around the application, and its start and stop."""

import logging
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from waitress import wasyncore
from waitress.server import create_server

from annotation.crowd.emulator.errors import StartError
from annotation.crowd.emulator.http.app import Emulator
from annotation.crowd.emulator.http.faults import Faults
from annotation.crowd.emulator.session import Clock
from annotation.crowd.emulator.store import Store

DEFAULT_BALANCE_CENTS = 1_000_000
THREADS = 8
CONNECTIONS = 1000
MAX_BODY_BYTES = 4_194_304  # far above the application's own limit, which answers politely
WAKE_SECONDS = 1.0


class Server:
    """Listens from the moment it is made; answers while `run` runs."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        state: Path,
        balance_cents: int = DEFAULT_BALANCE_CENTS,
        clock: Clock = time.time,
        faults: Faults | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        """`listening`: a socket that listens already, in place of host and port."""
        # Its warnings count calls that wait for a thread: normal under load.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._socket = listening or _listen(host, port)
        try:
            self._store = Store(state, balance_cents=balance_cents, clock=clock)
        except StartError:
            self._socket.close()
            raise
        self._sockets: dict[int, object] = {}
        self._server = create_server(
            Emulator(self._store, faults),
            map=self._sockets,
            sockets=[self._socket],
            threads=THREADS,
            connection_limit=CONNECTIONS,
            max_request_body_size=MAX_BODY_BYTES,
            ident="mturk-emulator",
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
    *,
    host: str,
    port: int,
    state: Path | None,
    balance_cents: int,
    faults: Faults,
    started: Callable[[str], None],
) -> None:
    """Run until SIGTERM or SIGINT. `started` gets the address; without `state` it is forgotten."""
    with tempfile.TemporaryDirectory(prefix="mturk-emulator-") as scratch:
        server = Server(
            host=host,
            port=port,
            state=state or Path(scratch) / "state.sqlite3",
            balance_cents=balance_cents,
            faults=faults,
        )

        def stop(number: int, frame: FrameType | None) -> None:
            server.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        started(server.url)
        server.run()
