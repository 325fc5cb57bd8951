"""The port to a crowd: what a campaign needs of any place where people judge HITs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol


class CrowdError(Exception):
    """The crowd refused or could not be reached; `permanent` says that trying again is useless."""

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent


@dataclass(frozen=True)
class HitTypeSpec:
    """What all HITs of a campaign share: workers find HITs by type."""

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
class CrowdHit:
    hit_id: str
    annotation: str  # our own key of the HIT
    max_assignments: int
    handed_in: int  # at most so many: an expired HIT does not tell its free places apart
    expires_at: datetime


class Crowd(Protocol):
    """Every method raises CrowdError. Each `token` makes its call safe to repeat for 24 hours."""

    @property
    def endpoint(self) -> str:
        """Where the work goes: a campaign never changes it once it has published."""

    @property
    def is_production(self) -> bool:
        """Whether real money is spent."""

    @property
    def submit_url(self) -> str:
        """Where the HIT page posts the answers."""

    def balance_cents(self) -> int: ...

    def create_exclusion(self, name: str) -> str:
        """Make (or find again) the qualification that shuts workers out; its id."""

    def create_hit_type(self, spec: HitTypeSpec) -> str: ...

    def create_hit(
        self,
        *,
        hit_type_id: str,
        url: str,
        places: int,
        lifetime_seconds: int,
        token: str,
        annotation: str,
    ) -> str:
        """Publish one HIT; its id at the crowd. A token sent before gives the same HIT again."""

    def extend_hit(self, hit_id: str, *, extra: int, token: str) -> None: ...

    def hits(self) -> Iterator[CrowdHit]:
        """Every HIT of the account."""

    def submissions(self, hit_id: str) -> Iterator[Submission]: ...

    def approve(self, assignment_id: str) -> None:
        """Success too where it is approved already."""

    def reject(self, assignment_id: str, *, reason: str) -> None:
        """Success too where it is rejected already."""

    def exclude(self, worker_id: str, *, exclusion_id: str) -> None: ...

    def block(self, worker_id: str, *, reason: str) -> None: ...
