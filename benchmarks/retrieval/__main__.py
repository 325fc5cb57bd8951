"""`make bench SIZE=retrieval`: encoding, the indexes and what they find, each beside its rivals.

Each part runs in a process of its own, and its results are kept in benchmarks/results/ with the
machine named. `--small` is a trial of some minutes whose results are only printed.
"""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.retrieval.parts import MODULES, measure, names_of


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench SIZE=retrieval", description=__doc__)
    parts = tuple(MODULES)
    parser.add_argument("--only", type=names_of(parts), default=parts, help=f"of {','.join(parts)}")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args(words)
    failed = [
        name
        for name in options.only
        if not measure(f"retrieval_{name}", MODULES[name], small=options.small)
    ]
    if failed:
        print(f"bench: {', '.join(failed)} ended with an error", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
