"""What goes wrong on purpose: `Faults(0.1, 7)` troubles a tenth of the calls, the same each time.

Which call meets which fault follows from the seed and from how many calls came before. Each
kind of fault is as likely as the next:

    closed_before, closed_after   the connection ends without an answer
    failed_before, failed_after   the answer is 500 or 503
    throttled                     the answer says that we ask too often; nothing was done
    slow                          the right answer, 0.2 to 1 second late

`before` and `after`: the call was not carried out, or it was and its answer is lost. Others come
from the crowd itself:

    hasty_approval                MTurk approves a submission by itself in 1 to 3 seconds, whatever
                                  the HIT type says; at a fifth of the rate
    repeated, late                Prolific delivers an event again, or after later ones
"""

import itertools
import random
from dataclasses import dataclass

from annotation.crowd.wire.session import Session

KINDS = (
    "closed_before",
    "closed_after",
    "failed_before",
    "failed_after",
    "throttled",
    "slow",
)
HASTY_APPROVAL = "hasty_approval"
DELIVERIES = ("repeated", "late")
SUBMISSION_SHARE = 0.2  # of the rate
SLOW_SECONDS = (0.2, 1.0)
HASTY_SECONDS = (1.0, 3.0)
STATUSES = (500, 503)


@dataclass(frozen=True)
class Fault:
    kind: str
    status: int  # of a failed call
    seconds: float  # of a slow one


class Faults:
    """`rate`: a share of the calls, from 0 to 1."""

    def __init__(self, rate: float = 0.0, seed: int = 0) -> None:
        self._rate = rate
        self._seed = seed
        # `next` of a counter is one step, whatever the threads.
        self._calls = itertools.count(1)
        self._submissions = itertools.count(1)
        self._deliveries = itertools.count(1)

    def of_call(self) -> Fault | None:
        draw = self.draw("call", next(self._calls))
        if draw.random() >= self._rate:
            return None
        return Fault(
            kind=draw.choice(KINDS),
            status=draw.choice(STATUSES),
            seconds=draw.uniform(*SLOW_SECONDS),
        )

    def of_submission(self) -> float | None:
        """Seconds until it is approved; None: as long as its HIT type says."""
        draw = self.draw("submission", next(self._submissions))
        if draw.random() >= self._rate * SUBMISSION_SHARE:
            return None
        return draw.uniform(*HASTY_SECONDS)

    def of_delivery(self) -> str | None:
        """One of DELIVERIES, of an event that is sent for the first time."""
        draw = self.draw("delivery", next(self._deliveries))
        return draw.choice(DELIVERIES) if draw.random() < self._rate else None

    def draw(self, what: str, number: int) -> random.Random:
        """What chance says to the `number`th of its kind."""
        return random.Random(f"{self._seed} {what} {number}")  # noqa: S311 - to be repeated


def record(session: Session, kind: str, operation: str) -> None:
    session.db.execute(
        "INSERT INTO faults (kind, operation, at) VALUES (?, ?, ?)",
        (kind, operation, session.now),
    )
