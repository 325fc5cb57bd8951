"""What a campaign must come to, in counters and lists: no ORM, nothing of the pipeline.

The rules are the protocol's functions. What the crowd did is read from its own records; what the
workers answered is told by the process that sent it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from annotation.protocol.estimates.cost import assignment_cents, tie_assignments
from annotation.protocol.labels.majority import Label, decide_tally
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import Review, exclusions

SPENDING = ("create", "extend")
IN_ORDER = ("extend", "lifetime", "exclude", "restore")


@dataclass(frozen=True)
class CrowdHit:
    """A HIT in the crowd's record."""

    id: str
    max_assignments: int
    open_assignments: int
    pending: int
    expired: bool


class CrowdRecord(Protocol):
    def hits(self) -> Mapping[str, CrowdHit]:
        """By our key."""

    def statuses(self) -> Mapping[str, str]:
        """Of all that was submitted, by assignment, in order of submission."""


@dataclass(eq=False)
class Hit:
    number: int
    key: str
    triplets: Sequence[int]
    max_assignments: int
    tie_reserve: int = 0
    reserved: int = 0  # assignments, the tie-break reserve included
    asked: bool = False
    known: bool = False  # we know that the crowd has it
    closed: bool = False
    repack: bool = False
    excluded_workers: frozenset[str] = frozenset()


@dataclass(eq=False)
class Work:
    """An assignment that was submitted."""

    hit: Hit
    worker: str
    votes: Mapping[int, int | None]  # None: can't judge it
    right: bool  # all its controls
    stored: bool = False
    reviewed: bool = False
    status: str = ""  # as we know it
    account: str = ""


@dataclass(eq=False)
class OutboxMessage:
    kind: str
    hit: Hit | None = None
    work: Work | None = None
    worker: str = ""
    max_assignments: int = 0
    sent: bool = False


@dataclass
class Model:
    policy: Policy
    queries: Mapping[int, str]  # of each triplet
    hits: list[Hit]
    budget: int
    key_of: str  # of HITs to come, with a place for the number
    crowd: CrowdRecord
    state: str = "active"
    works: dict[str, Work] = field(default_factory=dict)  # by assignment, in order of submission
    outbox: list[OutboxMessage] = field(default_factory=list)  # to be delivered, in order
    workers: list[str] = field(default_factory=list)  # in the order in which we met them
    excluded: set[str] = field(default_factory=set)
    ever_excluded: set[str] = field(default_factory=set)
    excluded_at_crowd: set[str] = field(default_factory=set)  # the crowd may have been told so
    told: set[str] = field(default_factory=set)  # to get the qualification of the known
    first_batch: int | None = None  # HITs of the first round that are asked for in all
    messages: set[tuple[str, str]] = field(default_factory=set)  # (worker, text)

    # Counters

    @property
    def price(self) -> int:
        return assignment_cents(self.policy)

    @property
    def reserved(self) -> int:
        return self.price * sum(hit.reserved for hit in self.hits)

    @property
    def paid(self) -> int:
        return self.price * self._booked("paid")

    @property
    def discarded(self) -> int:
        return self.price * self._booked("discarded")

    @property
    def available(self) -> int:
        return self.budget - self.reserved - self.paid - self.discarded

    def _booked(self, account: str) -> int:
        return sum(work.account == account for work in self.works.values())

    def stored(self, hit: Hit | None = None) -> list[Work]:
        return [
            work for work in self.works.values() if work.stored and (hit is None or work.hit is hit)
        ]

    def reviewed(self, hit: Hit | None = None) -> list[Work]:
        return [work for work in self.stored(hit) if work.reviewed]

    def outstanding(self, hit: Hit) -> int:
        asked = len(self.stored(hit)) if hit.closed else hit.max_assignments
        return asked - len(self.reviewed(hit))

    def had(self, triplet: int) -> set[str]:
        """Who has submitted a HIT that holds it."""
        return {work.worker for work in self.stored() if triplet in work.hit.triplets}

    # Labels

    def votes(self) -> dict[int, list[int]]:
        return {
            triplet: [answer for answer in answers if answer is not None]
            for triplet, answers in self._answers().items()
        }

    def cannot_judge(self) -> dict[int, int]:
        return {triplet: answers.count(None) for triplet, answers in self._answers().items()}

    def _answers(self) -> dict[int, list[int | None]]:
        found: dict[int, list[int | None]] = {triplet: [] for triplet in self.queries}
        for work in self.reviewed():
            if work.right and work.worker not in self.excluded and work.status != "rejected":
                for triplet, vote in work.votes.items():
                    found[triplet].append(vote)
        return found

    def labels(self) -> dict[int, Label]:
        cannot = self.cannot_judge()
        return {
            triplet: decide_tally(len(votes), sum(votes), self.policy, cannot[triplet])
            for triplet, votes in self.votes().items()
        }

    # Steps

    def may_publish(self) -> bool:
        return self.state != "paused" and (self.budget > 0 or not self.unasked())

    def publish(self, most: int | None = None) -> None:
        """`most`: in all; what is asked for already is not taken back."""
        first_round = [hit for hit in self.hits if not hit.repack]
        asked = len(first_round) - len(self.unasked())
        batch = None if most is None else max(most, asked)
        self.first_batch = None if batch is None or batch >= len(first_round) else batch
        self.ask_for_affordable()
        self.set_capped(bool(self.wanted()))

    def unasked(self) -> list[Hit]:
        return [hit for hit in self.hits if not hit.asked]

    def wanted(self) -> list[Hit]:
        """Those of them that are to be asked for."""
        if self.first_batch is None:
            return self.unasked()
        asked = sum(hit.asked and not hit.repack for hit in self.hits)
        return self.unasked()[: max(0, self.first_batch - asked)]

    def ask_for_affordable(self) -> None:
        max_assignments = self.policy.annotators + tie_assignments(self.policy)
        for hit in self.wanted():
            if self.available < max_assignments * self.price:
                return
            hit.asked, hit.reserved = True, max_assignments
            hit.tie_reserve = tie_assignments(self.policy)
            self.outbox.append(OutboxMessage("create", hit, max_assignments=hit.max_assignments))

    def set_capped(self, capped: bool) -> None:
        if self.state in ("active", "capped"):
            self.state = "capped" if capped else "active"

    def ready(self) -> list[OutboxMessage]:
        """What a pass sends first; the rest of a HIT's or worker's calls come after."""
        ready: list[OutboxMessage] = []
        for number, outbox_message in enumerate(self.outbox):
            before = [
                one
                for one in self.outbox[:number]
                if one.kind in IN_ORDER and not self.is_held(one)
            ]
            waits = outbox_message.kind in IN_ORDER and any(
                _same_target(one, outbox_message) for one in before
            )
            if not waits and not self.is_held(outbox_message):
                ready.append(outbox_message)
        return ready

    def is_held(self, outbox_message: OutboxMessage) -> bool:
        return (
            self.state == "paused" and outbox_message.kind in SPENDING and not outbox_message.sent
        )

    def deliver(self) -> None:
        hits, statuses = self.crowd.hits(), self.crowd.statuses()
        ids = {id(work): name for name, work in self.works.items()}
        while batch := self.ready():
            for outbox_message in batch:
                self.outbox.remove(outbox_message)
                if outbox_message.kind == "create" and outbox_message.hit:
                    assert outbox_message.hit.key in hits
                    outbox_message.hit.known = True
                if outbox_message.work:
                    outbox_message.work.status = statuses[ids[id(outbox_message.work)]].lower()
                self._note_sent(outbox_message)
        self._settle()

    def die(self) -> None:
        """Of what was claimed any part may have been done, and nothing was recorded."""
        for outbox_message in self.ready():
            outbox_message.sent = True
            self._note_sent(outbox_message)

    def _note_sent(self, outbox_message: OutboxMessage) -> None:
        if outbox_message.kind == "exclude":
            self.excluded_at_crowd.add(outbox_message.worker)

    def collect(self, statuses: Mapping[str, str]) -> None:
        """`statuses` as the crowd had them when it was asked.

        A HIT whose publication was not answered is met there.
        """
        hits = self.crowd.hits()
        for hit in self.hits:
            hit.known = hit.known or hit.key in hits
        new = []
        for name, status in statuses.items():
            work = self.works[name]
            if not work.stored and not work.hit.closed:
                work.stored, work.status = True, status.lower()
                new.append(work.worker)
        self.workers += sorted({*new} - {*self.workers})
        for hit in self.hits:
            if hit.known and not hit.closed:
                theirs = hits[hit.key]
                if theirs.expired and not theirs.pending:
                    hit.closed, hit.tie_reserve = True, 0
                    hit.reserved = sum(not work.account for work in self.stored(hit))

    def review(self) -> None:
        fresh = [work for work in self.stored() if not work.reviewed]
        for work in fresh:
            work.reviewed = True
            if work.status == "submitted":
                refused = not work.right and self.policy.on_failed_control == "reject"
                self.outbox.append(OutboxMessage("reject" if refused else "approve", work=work))
        if fresh:
            reviews = [Review(work.worker, work.right) for work in self.reviewed()]
            for decision in exclusions(reviews, self.policy):
                if decision.worker not in self.ever_excluded:
                    self.exclude(decision.worker)
        self._settle()

    def _settle(self) -> None:
        for work in self.reviewed():
            if work.account or work.status == "submitted":
                continue
            work.hit.reserved -= 1
            counts = work.right and work.worker not in self.excluded
            paid = "paid" if counts else "discarded"
            work.account = "released" if work.status == "rejected" else paid

    def exclude(self, worker: str) -> None:
        self.excluded.add(worker)
        self.ever_excluded.add(worker)
        self.outbox.append(OutboxMessage("exclude", worker=worker))
        self._move(worker, "paid", "discarded")

    def restore(self, worker: str) -> None:
        self.excluded.discard(worker)
        self.outbox = [
            one for one in self.outbox if (one.kind, one.worker) != ("exclude", worker) or one.sent
        ]
        if worker in self.excluded_at_crowd:
            self.outbox.append(OutboxMessage("restore", worker=worker))
        self._move(worker, "discarded", "paid")

    def _move(self, worker: str, source: str, target: str) -> None:
        for work in self.works.values():
            if work.worker == worker and work.right and work.account == source:
                work.account = target

    def decided(self) -> list[str]:
        """Workers whom the crowd carries a message to."""
        known = {work.worker for work in self.stored() if work.status != "submitted"}
        return sorted(known)

    def write_to(self, worker: str, text: str) -> None:
        """The same words once."""
        if (worker, text) not in self.messages:
            self.messages.add((worker, text))
            self.outbox.append(OutboxMessage("notify", worker=worker))

    def expire(self) -> None:
        hits = self.crowd.hits()
        ending = [one.hit for one in self.outbox if one.kind == "lifetime"]
        for hit in self.hits:
            takeable = hit.known and not hit.closed and not hits[hit.key].expired
            if takeable and hit.max_assignments > len(self.stored(hit)) and hit not in ending:
                self.outbox.append(OutboxMessage("lifetime", hit))


def _same_target(one: OutboxMessage, other: OutboxMessage) -> bool:
    same_hit = one.hit is not None and one.hit is other.hit
    return same_hit or (one.worker != "" and one.worker == other.worker)


def twice(works: Iterable[Work]) -> Iterator[tuple[str, int]]:
    """(worker, triplet) of those who have had a triplet in hand more than once."""
    had = Counter((work.worker, triplet) for work in works for triplet in work.hit.triplets)
    return (pair for pair, times in had.items() if times > 1)
