"""The server of the MTurk emulator."""

import socket
import time
from collections.abc import Callable
from pathlib import Path

from annotation.crowd.emulator.http.app import Emulator
from annotation.crowd.emulator.store import Store
from annotation.crowd.wire import server
from annotation.crowd.wire.faults import Faults
from annotation.crowd.wire.session import Clock

DEFAULT_BALANCE_CENTS = 1_000_000


class Server(server.Server):
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
        super().__init__(
            lambda: Store(state, balance_cents=balance_cents, clock=clock),
            lambda store: Emulator(store, faults),
            ident="mturk-emulator",
            host=host,
            port=port,
            listening=listening,
        )


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

    def make(path: Path) -> Server:
        return Server(host=host, port=port, state=path, balance_cents=balance_cents, faults=faults)

    server.serve(make, state=state, started=started)
