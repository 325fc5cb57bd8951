"""The people of a simulation: careful ones, careless ones and spammers, all made from a seed."""

import base64
import hashlib
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from annotation.crowd.simulated.browser import ListedHit

Kind = Literal["careful", "careless", "spammer"]
KINDS: tuple[Kind, ...] = ("careful", "careless", "spammer")


@dataclass(frozen=True)
class WorkerProfiles:
    """`accuracy`: the share of judgments that careful workers get right; `spammers`: a share.

    `faults`: the share of the assignments that stray, one in four in each way. Of what is plain,
    such as controls, people may get another share right; None: the same.
    """

    workers: int = 20
    accuracy: float = 0.97
    spammers: float = 0.15
    seed: int = 0
    faults: float = 0.0
    careless: float = 0.0
    careless_accuracy: float = 0.8
    plain_accuracy: float | None = None
    careless_plain_accuracy: float | None = None


@dataclass
class Worker:
    """`yes_bias`: how often a spammer says yes; None for one who reads."""

    id: str
    kind: Kind
    accuracy: float
    plain_accuracy: float
    yes_bias: float | None
    list_url: str = ""
    accepted: deque[str] = field(default_factory=deque)
    hits: deque[ListedHit] = field(default_factory=deque)
    submitted: int = 0

    def is_right(self, draw: float, *, plain: bool) -> bool:
        """`draw`: from 0 to 1, as chance has it for this pair."""
        return draw < (self.plain_accuracy if plain else self.accuracy)


def make_workers(profiles: WorkerProfiles) -> list[Worker]:
    """The same people for the same seed, whatever their number."""
    spammers = round(profiles.workers * profiles.spammers)
    careless = round(profiles.workers * profiles.careless)
    workers = []
    for number in range(profiles.workers):
        digest = hashlib.sha256(f"{profiles.seed}/{number}".encode()).digest()
        # MTurk's worker ids are an A, then capital letters and digits.
        worker_id = "ASIM" + base64.b32encode(digest)[:10].decode()
        if number < spammers:
            workers.append(_spammer(profiles, worker_id))
        elif number < spammers + careless:
            workers.append(_reader("careless", worker_id, profiles))
        else:
            workers.append(_reader("careful", worker_id, profiles))
    return workers


def _spammer(profiles: WorkerProfiles, worker_id: str) -> Worker:
    bias = 0.2 + 0.6 * fraction(profiles.seed, worker_id, "yes bias")
    return Worker(worker_id, "spammer", 0.5, 0.5, bias)


def _reader(kind: Kind, worker_id: str, profiles: WorkerProfiles) -> Worker:
    accuracy, plain = profiles.accuracy, profiles.plain_accuracy
    if kind == "careless":
        accuracy, plain = profiles.careless_accuracy, profiles.careless_plain_accuracy
    return Worker(worker_id, kind, accuracy, accuracy if plain is None else plain, None)


def fraction(seed: int, *texts: str) -> float:
    """A number in [0, 1) that follows from the arguments alone."""
    digest = hashlib.sha256("\x1f".join([str(seed), *texts]).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
