"""The port to a crowd: what a campaign needs of any place where people judge HITs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from annotation.crowd.inhouse.models import PanelLink, Queue, Visit
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


class NotSent(Exception):
    """Someone or something that the crowd has not sent, or that cannot be read: one sentence."""


@dataclass(frozen=True)
class Terms:
    """Of a link's study: how it stands, and what the people who come by it are offered."""

    minutes: int | None = None  # that a visit takes, by an estimate
    screen_out_cents: int = 0  # for who finds no task; 0: nothing
    screen_out_code: str = ""
    is_signed: bool = False  # the crowd signs who comes
    known_only: bool = False
    held: bool = False  # by somebody there, until they start it
    strays: int = 0  # submissions that no finished visit explains
    promised: int = 0  # pay for coming, of the strays that wait
    to_ask_back: int = 0  # of the strays: who can be asked to return it


class Studies:
    """What a crowd has of its own for each link by which it sends people; a plain panel, nothing.

    All of it is read and written here; the next pass does the rest at the crowd.
    """

    def terms(self, links: Iterable[PanelLink]) -> Mapping[int, Terms]:
        """By the links' keys, of those that have a study."""
        return {}

    def open(
        self,
        open_link: Callable[..., PanelLink],
        *,
        minutes: int,
        screen_out_cents: int,
        known_from: Queue | None,
    ) -> PanelLink:
        """The link, made by `open_link` with the code and the way back that the crowd wants."""
        return open_link()

    def closed(self, link: PanelLink) -> None:
        """Nobody new comes by it any more."""

    def check_sent(self, link: PanelLink, given: Mapping[str, str], now: datetime) -> None:
        """By the address, that the crowd sent them. Raises NotSent, and CrowdError: unknown yet."""

    def leave(self, visit: Visit, now: datetime) -> bool:
        """End it without a task, where something is paid for coming."""
        return False

    def ask_back(self, link: PanelLink, reason: str) -> int:
        """To return what no finished visit explains; how many are asked."""
        return 0

    def has_known(self, queue: Queue) -> bool:
        """Whether it has anybody whose work for these tasks was approved."""
        return False

    def restless(self) -> Iterable[str]:
        """Ids of HIT types at whose studies something is still waited for."""
        return ()

    def heard(self, body: bytes, headers: Mapping[str, str]) -> Iterable[str]:
        """Ids of the HIT types that an event of the crowd's is about. Raises NotSent."""
        raise NotSent("This site expects no events of that crowd's.")


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
