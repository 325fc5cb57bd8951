"""`make bench-gpu`: what only a GPU shows, in pieces of less than ten minutes.

Each piece is a process of its own that needs no other piece and no network, and its results are
kept as soon as it is done. One that fails or is killed is named, and the others follow. `--small`
is a trial whose results are only printed.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from benchmarks.retrieval.parts import measure, names_of
from retrieval.encoders.forward import TYPES


@dataclass(frozen=True)
class Piece:
    module: str  # with a function `run`
    minutes: float
    shows: str
    options: Mapping[str, str]


CUDA = {"device": "cuda"}
PIECES = {
    "search": Piece("retrieval.gpu_search", 3, "exact search among 6.3M vectors", {}),
    **{
        f"faiss_{dimension}": Piece(
            "retrieval.faiss_gpu",
            minutes,
            f"FAISS's indexes beside it, {dimension} numbers; EXTRA=gpu",
            {"dimension": str(dimension)},
        )
        for dimension, minutes in ((384, 5), (768, 8))
    },
    **{
        f"encoding_{precision}": Piece(
            "retrieval.encoding", 1, "questions and pairs a second", CUDA | {"precision": precision}
        )
        for precision in TYPES
    },
    "reranking": Piece("models.reranking", 1, "500 candidates of one question", CUDA),
    "training": Piece("models.speed", 2, "training and scoring beside a plain script", CUDA),
}


def main(words: Sequence[str] | None = None) -> int:
    options = _options(words)
    if not torch.cuda.is_available():
        print("make bench-gpu needs a GPU: torch finds none here.", file=sys.stderr)
        return 2
    failed = [name for name in options.only if not _measured(PIECES[name], small=options.small)]
    if failed:
        print(f"bench: run ONLY={','.join(failed)} again: an error ended it.", file=sys.stderr)
    return 1 if failed else 0


def _measured(piece: Piece, *, small: bool) -> bool:
    name = piece.module.replace(".", "_")
    return measure(name, piece.module, small=small, **piece.options)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    pieces = [
        f"  {name:16} {piece.shows}, about {piece.minutes:g} min" for name, piece in PIECES.items()
    ]
    parser = argparse.ArgumentParser(
        prog="make bench-gpu",
        description=__doc__,
        epilog="\n".join(["pieces, with the time expected on one H100 or H200:", *pieces]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", type=names_of(PIECES), default=tuple(PIECES), metavar="PIECES")
    parser.add_argument("--small", action="store_true")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
