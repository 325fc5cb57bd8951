"""A small release written by hand: a candidate's question ends in "yes" where it is positive, and
in "no" where it is not. No model knows that before it has learned it."""

import json
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from retrieval.ranking.records import CandidateRecord, QueryRecord, line

LETTERS = "abcdefgh"
CANDIDATES = 8


def record(number: int, draw: random.Random, *, split: str) -> QueryRecord:
    words = f"{draw.choice(LETTERS)} {draw.choice('qrstuv')}"
    last = {"train": "of", "dev": "the", "test": "is"}[split]  # no query is in two splits
    positives = [rank % 4 == 0 for rank in range(1, CANDIDATES + 1)]
    return QueryRecord(
        id=f"{split}-{number}",
        query=f"{words} {last}",
        candidates=[
            CandidateRecord(
                id=f"{split}-{number}-{rank}",
                question=f"{words} {'yes' if label else 'no'}",
                answer=draw.choice("wxyz"),
                rank=rank,
                score=round(0.9 - rank / 100, 6),
                label=int(label),
                yes=2 * label,
                no=2 * (not label),
            )
            for rank, label in enumerate(positives, 1)
        ],
    )


def records(split: str, queries: int, *, seed: int) -> Iterator[QueryRecord]:
    draw = random.Random(f"{split}/{seed}")
    for number in range(queries):
        yield record(number, draw, split=split)


def release(
    folder: Path,
    *,
    train: int = 60,
    dev: int = 16,
    test: int = 16,
    seed: int = 1,
) -> Path:
    """What a training reads of one: the splits, and the manifest whose digest names it."""
    folder.mkdir(parents=True)
    for split, queries in (("train", train), ("dev", dev), ("test", test)):
        lines = map(line, records(split, queries, seed=seed))
        (folder / f"{split}.jsonl").write_bytes(b"".join(lines))
    write_manifest(folder)
    return folder


def write_manifest(folder: Path) -> None:
    """Of the splits as they are now."""
    files = {
        path.name: {"sha256": sha256(path.read_bytes()).hexdigest()}
        for path in folder.glob("*.jsonl")
    }
    (folder / "manifest.json").write_text(json.dumps({"format": "quorum-release", "files": files}))
