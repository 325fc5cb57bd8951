"""The options that the emulators' programs share."""

import argparse
from collections.abc import Callable

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


def add_arguments(parser: argparse.ArgumentParser, *, port: int, balance_cents: int) -> None:
    parser.add_argument(
        "--port",
        type=whole_number(HIGHEST_PORT),
        default=port,
        help=f"0: any free one (default {port})",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address (default 127.0.0.1)")
    parser.add_argument(
        "--balance",
        type=whole_number(HIGHEST_BALANCE),
        default=balance_cents,
        metavar="CENTS",
        help=f"of a new account (default {balance_cents})",
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
