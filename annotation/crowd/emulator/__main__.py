"""`python -m annotation.crowd.emulator --port P`: the local MTurk emulator."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from annotation.crowd.emulator.errors import StartError
from annotation.crowd.emulator.http.faults import Faults
from annotation.crowd.emulator.http.server import DEFAULT_BALANCE_CENTS, serve

HIGHEST_PORT = 65_535
HIGHEST_BALANCE = 1_000_000_000_000  # cents: ten billion dollars


def whole_number(most: int) -> Callable[[str], int]:
    """For an option that takes 0 to `most`."""

    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > len(str(most)) or int(text) > most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {most}")
        return int(text)

    return read


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=whole_number(HIGHEST_PORT),
        default=8001,
        help="0: any free one (default 8001)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address (default 127.0.0.1)")
    parser.add_argument(
        "--balance",
        type=whole_number(HIGHEST_BALANCE),
        default=DEFAULT_BALANCE_CENTS,
        metavar="CENTS",
        help="of a new account, in US cents (default 1000000)",
    )
    parser.add_argument(
        "--faults",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="of the requester's calls that are lost, fail, are throttled or come late (default 0)",
    )
    parser.add_argument(
        "--fault-seed",
        type=int,
        default=0,
        metavar="SEED",
        help="which calls those are (default 0)",
    )


def announce(url: str) -> None:
    print(f"mturk emulator listening on {url}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mturk_emulator", description=__doc__)
    add_arguments(parser)
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
