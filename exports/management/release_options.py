"""What the commands that build releases ask."""

import argparse
from collections.abc import Mapping
from typing import Any

from exports.building.options import Options
from exports.splits.splits import WAYS


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partial",
        action="store_true",
        help="leave out the triplets that still lack votes, instead of refusing",
    )
    parser.add_argument(
        "--split",
        choices=WAYS,
        default=Options.split,
        help="clusters: near-duplicate queries stay in one split (the default); random: the "
        "paper's way",
    )
    parser.add_argument(
        "--no-judgments",
        dest="judgments",
        action="store_false",
        help="leave out the tables of who judged what, under salted names",
    )


def read_options(options: Mapping[str, Any]) -> Options:
    return Options(
        partial=options["partial"], split=options["split"], judgments=options["judgments"]
    )
