"""`make bench-gpu`: what only a GPU shows, each part in turn; results are kept.

Search among 6.3 million vectors, encoding in each precision, training and selection beside a plain
script. `--small` is a trial whose results are only printed.
"""

import argparse
import sys
from collections.abc import Sequence

import torch

from benchmarks.models import __main__ as models
from benchmarks.retrieval.parts import measure
from retrieval.encoders.forward import TYPES


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench-gpu", description=__doc__)
    parser.add_argument("--small", action="store_true")
    small = parser.parse_args(words).small
    if not torch.cuda.is_available():
        print("make bench-gpu needs a GPU: torch finds none here.", file=sys.stderr)
        return 2
    done = [measure("gpu_search", small=small)]
    done += [
        measure("encoding", small=small, device="cuda", precision=precision) for precision in TYPES
    ]
    speed = ["--only", models.SPEED, "--device", "cuda", *(["--small"] if small else [])]
    done.append(models.main(speed) == 0)
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
