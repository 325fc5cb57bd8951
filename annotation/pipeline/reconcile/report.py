"""What a reconciliation found, and did about it."""

from dataclasses import dataclass, field
from enum import StrEnum


class Repair(StrEnum):
    """What was done, by the kind of drift."""

    ADOPTED = "adopted"  # a HIT there that we did not know to be published
    WITHDRAWN = "withdrawn"  # a second HIT of the same items, or one that nobody here knows
    DELETED = "deleted"  # such a HIT, on which nobody had worked
    GONE = "gone"  # a HIT of ours that the crowd does not know any more
    PUBLISHED_AGAIN = "published_again"
    RESIZED = "resized"  # more or fewer assignments there than we bought
    RESCHEDULED = "rescheduled"  # expires at another time, or is open again
    ANSWERED = "answered"  # a purchase, before the campaign was cancelled, with its answer lost
    DECIDED = "decided"  # approved or rejected there: by time-out, by hand
    OVERTURNED = "overturned"  # a rejection, by hand
    SENT_AGAIN = "sent_again"  # a decision that the crowd does not have
    STORED = "stored"  # work that was missing here
    SETTLED = "settled"  # decided work whose money had not moved
    RECOMPUTED = "recomputed"  # labels, exclusions, places and money, as the record has them


class Line(str):
    """A sentence, and the key of the HIT that it is about, where it is about one."""

    hit: str | None = None


@dataclass
class Reconciled:
    """Counts, and a sentence with its ids for each thing done or left to a person."""

    hits: int = 0  # of ours, in the crowd's list
    read: int = 0  # of those, whose assignments were compared one by one
    repaired: dict[str, int] = field(default_factory=lambda: {str(kind): 0 for kind in Repair})
    done: list[Line] = field(default_factory=list)
    manual: list[Line] = field(default_factory=list)
    stopped_by: str | None = None  # why it ended before all was compared

    @property
    def repairs(self) -> int:
        return sum(self.repaired.values())

    def did(self, kind: Repair, sentence: str, *, hit: str | None = None, count: int = 1) -> None:
        self.repaired[kind] += count
        self.done.append(_line(sentence, hit))

    def leave(self, sentence: str, *, hit: str | None = None) -> None:
        """To a person."""
        self.manual.append(_line(sentence, hit))


def _line(sentence: str, hit: str | None) -> Line:
    line = Line(sentence)
    line.hit = hit
    return line
