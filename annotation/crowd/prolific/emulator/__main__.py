"""`python -m annotation.crowd.prolific.emulator --port P`: the local Prolific emulator."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from annotation.crowd.prolific.emulator.http.server import DEFAULT_BALANCE_CENTS, TOKEN, Server
from annotation.crowd.prolific.emulator.readings import NAMES, parsed
from annotation.crowd.wire.errors import StartError
from annotation.crowd.wire.faults import Faults
from annotation.crowd.wire.options import add_arguments
from annotation.crowd.wire.server import serve

PORT = 8002


def announce(url: str) -> None:
    print(f"prolific emulator listening on {url}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="prolific_emulator", description=__doc__)
    add_arguments(parser, port=PORT, balance_cents=DEFAULT_BALANCE_CENTS)
    parser.add_argument("--state", type=Path, help="SQLite file (default: forgotten at the end)")
    parser.add_argument("--token", default=TOKEN, help=f"that calls must bring (default {TOKEN})")
    parser.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"where the documentation is undecided, repeatable: {', '.join(NAMES)}",
    )
    options = parser.parse_args(arguments)
    try:
        readings = parsed(options.reading)
    except ValueError as error:
        parser.error(f"argument --reading: {error}")

    def make(state: Path) -> Server:
        return Server(
            host=options.host,
            port=options.port,
            state=state,
            balance_cents=options.balance,
            token=options.token,
            faults=Faults(options.faults, options.fault_seed),
            readings=readings,
        )

    try:
        serve(make, state=options.state, started=announce)
    except StartError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
