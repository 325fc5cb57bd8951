"""`make run`: processes of the Procfile, until Ctrl-C or until one of them ends."""

import shlex
import signal
import sys
from collections.abc import Sequence
from typing import Any

from honcho.manager import Manager
from honcho.printer import Printer

from demo.processes import ROOT, procfile

STOPPED = " stopped (rc="
SIGNALS = (signal.SIGINT, signal.SIGTERM)
BY_PEOPLE = tuple(128 + one for one in SIGNALS)


class FirstEnd(Printer):  # type: ignore[misc]
    """Prints all, and keeps which process ended first."""

    ended = ""

    def write(self, message: Any) -> None:
        if message.name == "system" and STOPPED in message.data:
            self.ended = self.ended or message.data.strip()
        # A signal's handler prints too: within a print, Python refuses that, and nothing would end.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            super().write(message)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Site(Manager):  # type: ignore[misc]
    """Waits with the end until all have started: honcho cannot stop what it has no pid of yet."""

    def terminate(self) -> None:
        if self._all_started():
            super().terminate()

    def _any_stopped(self) -> bool:
        return self.returncode is not None


def main(names: Sequence[str]) -> int:
    commands = procfile()
    printer = FirstEnd(sys.stdout)
    manager = Site(printer)
    for name in names:
        manager.add_process(name, shlex.join(commands[name]), cwd=str(ROOT))
    manager.loop()
    if manager.returncode in BY_PEOPLE:
        return 0
    print(f"\n{explain(printer.ended)}", file=sys.stderr)
    return 1


def explain(ended: str) -> str:
    """`ended` as honcho says it: worker stopped (rc=-9)."""
    name, _, status = ended.removesuffix(")").partition(STOPPED)
    code = int(status)
    killed = -code if code < 0 else code - 128  # as a shell says it
    how = f"by {signal.Signals(killed).name}" if killed > 0 else f"with status {code}"
    return (
        f"Error: the process {name} ended {how}, so the site was stopped: see the last lines of "
        f"{name} above, then run `make run` again; nothing is lost."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
