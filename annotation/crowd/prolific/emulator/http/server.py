"""The server of the Prolific emulator, with the thread that delivers its events."""

import threading
import time
from pathlib import Path

from annotation.crowd.prolific.emulator.http.app import Emulator
from annotation.crowd.prolific.emulator.http.deliveries import Deliveries
from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.prolific.emulator.store import Store
from annotation.crowd.wire import server
from annotation.crowd.wire.faults import Faults
from annotation.crowd.wire.session import Clock

DEFAULT_BALANCE_CENTS = 1_000_000
TOKEN = "local"  # noqa: S105 - of an emulator that listens on loopback


class Server(server.Server):
    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        state: Path,
        balance_cents: int = DEFAULT_BALANCE_CENTS,
        token: str = TOKEN,
        clock: Clock = time.time,
        faults: Faults | None = None,
        readings: Readings | None = None,
    ) -> None:
        faults = faults or Faults()

        def application(store: Store) -> Emulator:
            self.deliveries = Deliveries(store, faults)
            return Emulator(store, token=token, faults=faults)

        super().__init__(
            lambda: Store(
                state, balance_cents=balance_cents, clock=clock, readings=readings or Readings()
            ),
            application,
            ident="prolific-emulator",
            host=host,
            port=port,
        )

    def run(self) -> None:
        thread = threading.Thread(target=self.deliveries.run, daemon=True)
        thread.start()
        super().run()

    def close(self) -> None:
        """Nothing is delivered out of a store that is closed."""
        self.deliveries.stop()
        super().close()
