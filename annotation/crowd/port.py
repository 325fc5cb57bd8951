"""The port to a crowd: what a campaign needs of any place where people judge HITs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from annotation.protocol.screening.control import RejectionReason


class CrowdError(Exception):
    """The crowd refused or could not be reached.

    `permanent` says that trying again is useless, `throttled` that we ask too often: never both.
    """

    def __init__(self, message: str, *, permanent: bool, throttled: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.throttled = throttled


@dataclass(frozen=True)
class HitTypeSpec:
    """What many HITs share: workers find HITs by type.

    With `excluded_workers`, only workers who hold the qualification `known_id` can take these HITs,
    and none of them whose number, the qualification's value, is among the excluded.
    """

    title: str
    description: str
    keywords: str
    reward_cents: int
    assignment_seconds: int
    auto_approval_seconds: int
    masters: bool
    min_approval_percent: int
    min_approved: int
    exclusion_id: str | None  # workers who hold this qualification may not work; None: none is used
    known_id: str | None = None
    excluded_workers: tuple[int, ...] = ()
    # Only workers who hold this qualification can take these HITs; all may look at them.
    qualified_id: str | None = None


@dataclass(frozen=True)
class Submission:
    """One assignment as the crowd records it: the only source of votes."""

    assignment_id: str
    worker_id: str
    accepted_at: datetime
    submitted_at: datetime
    status: Literal["submitted", "approved", "rejected"]
    answers: Mapping[str, str]  # form field -> value, as the worker's browser sent them


@dataclass(frozen=True)
class CrowdSite:
    """Where a crowd's people work, as far as it is known without a call."""

    endpoint: str  # a campaign never changes it once it has published
    name: str
    setting: str  # that says where it is
    money: str  # whether publishing there spends real money, in a sentence
    is_production: bool = False  # real money is spent
    is_local: bool = False  # its record is in our own database: calls stay in the caller's thread
    is_slow: bool = False  # and yet these may take long: nothing else is claimed meanwhile
    is_public: bool = False  # its workers reach this site over the internet


@dataclass(frozen=True)
class CrowdHit:
    hit_id: str
    annotation: str  # our own key of the HIT
    max_assignments: int
    available: int  # assignments that can be taken; of an expired HIT none
    pending: int  # assignments in somebody's hands
    completed: int  # submitted and reviewed
    expires_at: datetime

    @property
    def submitted(self) -> int:
        """At most so many: an expired HIT does not tell its free assignments apart."""
        return self.max_assignments - self.available - self.pending


class Crowd(Protocol):
    """Every method raises CrowdError. Each `token` makes its call safe to repeat for 24 hours.

    The other calls are safe to repeat at any time: what is done already is success.
    """

    @property
    def site(self) -> CrowdSite: ...

    def balance_cents(self) -> int: ...

    def create_qualification(self, name: str, description: str) -> str:
        """Make the qualification, or find it again by its name; its id."""

    def create_hit_type(self, spec: HitTypeSpec) -> str: ...

    def create_hit(
        self,
        *,
        hit_type_id: str,
        url: str,
        max_assignments: int,
        lifetime_seconds: int,
        token: str,
        annotation: str,
    ) -> str:
        """Publish one HIT; its id at the crowd. A token sent before gives the same HIT again."""

    def extend_hit(self, hit_id: str, *, extra: int, token: str) -> None: ...

    def set_expiration(self, hit_id: str, at: datetime) -> None:
        """From then on nobody can take the HIT; a time past ends it now, a later one opens it."""

    def delete_hit(self, hit_id: str) -> None:
        """Once all its work is decided and nobody is at it. Success too where it is gone."""

    def hit(self, hit_id: str) -> CrowdHit | None:
        """None where the crowd does not know it, or no longer."""

    def hits(self) -> Iterator[CrowdHit]:
        """Every HIT of the account."""

    def submissions(self, hit_id: str) -> Iterator[Submission]: ...

    def approve(self, assignment_id: str) -> None:
        """Success too where it is approved already."""

    def reject(self, assignment_id: str, *, reason: str, why: RejectionReason) -> None:
        """Success too where it is rejected already. The worker reads `reason`; some crowds sort
        rejections, by `why`."""

    def overturn(self, assignment_id: str) -> None:
        """Approve what was rejected after all; success too where it is approved already."""

    def bonus(
        self, worker_id: str, assignment_id: str, *, cents: int, reason: str, token: str
    ) -> None:
        """Pay a worker extra for an assignment, which the crowd must have taken in."""

    def bonus_paid(self, assignment_id: str, *, cents: int, reason: str) -> bool:
        """Whether a bonus was paid: who asks when the crowd has forgotten the token, asks here."""

    def grant(self, worker_id: str, *, qualification_id: str, value: int) -> None:
        """Give a worker the qualification, or another value of it."""

    def exclude(self, worker_id: str, *, exclusion_id: str) -> None: ...

    def restore(self, worker_id: str, *, exclusion_id: str) -> None:
        """Take the exclusion away; success too where the worker does not hold it."""

    def block(self, worker_id: str, *, reason: str) -> None: ...

    def unblock(self, worker_id: str, *, reason: str) -> None:
        """Success too where the worker is not blocked."""

    def tend(self, hit_type_id: str, *, may_grow: bool = True) -> None:
        """What the crowd needs beside the calls, twice a pass: HITs of this type and its kin.

        Unless it `may_grow`, nobody new is sent: there is no money to pay them.
        """

    def surplus(self, hit_type_id: str) -> Mapping[str, int]:
        """What it has paid beside assignments and bonuses, as far as that is not booked: cents by a
        name that stays the same."""

    def surplus_booked(self, names: Iterable[str]) -> None:
        """It need not name these again."""

    def billed_cents(self, hit_type_id: str) -> int | None:
        """All that these HITs have cost by its own bill; None while that still changes, and where
        it sends none."""

    def notify(self, worker_id: str, *, subject: str, text: str, token: str) -> None:
        """Write to a worker. Some crowds heed no token here: there it may arrive twice."""
