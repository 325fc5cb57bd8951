"""The protocol gives the same bytes in another process with another hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
from annotation.protocol.screening.exclusion import Review, exclusions
from annotation.protocol.screening.control import check_controls
from annotation.protocol.packing.pack import TripletRef, draw_negatives, pack
from annotation.protocol.policy.policy import Policy, PolicyError
from annotation.protocol.packing.repack import OpenTriplet, regroup

triplets = {TripletRef(f"t{q}.{r}", f"q{q}", r) for q in range(9) for r in range(7)}
positives = {f"p{n}" for n in range(60)}
negatives = {f"n{n}" for n in range(30)}
print(pack(list(triplets), positives=list(positives), negatives=list(negatives),
           policy=Policy(), seed=5))
tied = {OpenTriplet(f"t{n}", f"q{n % 9}", frozenset({n % 4, n % 7, n % 11})) for n in range(40)}
print(regroup(tied, Policy(), flush=True))
print(draw_negatives(list(positives), count=20, seed=5, too_near=lambda one, other: False))
print(exclusions([Review(w, False) for w in ("eve", "bob", "ada") for _ in range(12)], Policy()))
print(check_controls({"b": 1, "a": 0, "c": 1}, {"b": 0, "a": 1}, {"x", "y", "z", "a", "b", "c"}))
print(Policy().digest())
try:
    Policy.from_dict({"hit_sise": 1, "annotator": 2, "train": 3})
except PolicyError as refusal:
    print(refusal)
"""


def printed(hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_another_hash_seed_changes_nothing() -> None:
    first = printed("0")
    assert first.count("HitSpec(") == 13
    assert printed("1") == first
    assert printed("4242") == first
