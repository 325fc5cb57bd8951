"""`python -m annotation.crowd.emulator --port P`: the local MTurk emulator."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from annotation.crowd.emulator.http.server import DEFAULT_BALANCE_CENTS, serve
from annotation.crowd.wire.errors import StartError
from annotation.crowd.wire.faults import Faults
from annotation.crowd.wire.options import add_arguments

PORT = 8001


def announce(url: str) -> None:
    print(f"mturk emulator listening on {url}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mturk_emulator", description=__doc__)
    add_arguments(parser, port=PORT, balance_cents=DEFAULT_BALANCE_CENTS)
    parser.add_argument("--state", type=Path, help="SQLite file (default: forgotten at the end)")
    options = parser.parse_args(arguments)
    try:
        serve(
            host=options.host,
            port=options.port,
            state=options.state,
            balance_cents=options.balance,
            faults=Faults(options.faults, options.fault_seed),
            started=announce,
        )
    except StartError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
