"""The in-house crowd as the pipeline sees it: the adapter of the port onto our own record."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import IntegrityError, transaction
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.crowd.inhouse.errors import missing, refused, translated
from annotation.crowd.inhouse.hit_types import hit_type_of
from annotation.crowd.inhouse.leases import lapse, sweep
from annotation.crowd.inhouse.models import Assignment, Extension, HitType, PostedHit
from annotation.crowd.inhouse.workers import InhouseWorkers
from annotation.crowd.port import CrowdHit, CrowdSite, HitTypeSpec, Submission
from annotation.protocol.policy.crowds import CROWDED_HIT, INHOUSE, PANEL, CrowdTraits
from annotation.protocol.screening.control import RejectionReason


def _site(crowd: CrowdTraits) -> CrowdSite:
    return CrowdSite(crowd.kind, crowd.title, setting="", money="", is_local=True)


INHOUSE_SITE, PANEL_SITE = _site(INHOUSE), _site(PANEL)
# Nobody is paid through us: no campaign ever waits for money. Every BIGINT column holds it.
BALANCE_CENTS = 10**15
PAGE = 2000

_STATUSES: dict[str, Literal["submitted", "approved", "rejected"]] = {
    Assignment.Status.SUBMITTED: "submitted",
    Assignment.Status.APPROVED: "approved",
    Assignment.Status.REJECTED: "rejected",
}
# Of a visit that is not finished, nothing is submitted yet.
_IN_HAND = (Assignment.Status.ACCEPTED, Assignment.Status.HELD)
_DECIDED = (Assignment.Status.APPROVED, Assignment.Status.REJECTED)
# Ours are in ASCII, but who reads them may store them where these cannot be: in a jsonb.
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


class InhouseCrowd(InhouseWorkers):
    """A crowd that works on this site: the team, or the people whom panels send."""

    def __init__(
        self, site: CrowdSite = INHOUSE_SITE, clock: Callable[[], datetime] = timezone.now
    ) -> None:
        super().__init__(clock)
        self._site = site

    @property
    def site(self) -> CrowdSite:
        return self._site

    @property
    def kind(self) -> str:
        """Which of the members these are, and which of the queues are theirs."""
        return self._site.endpoint

    def balance_cents(self) -> int:
        return BALANCE_CENTS

    def create_hit_type(self, spec: HitTypeSpec) -> str:
        with translated():
            return hit_type_of(spec, self.kind).type_id

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
        """`url` is MTurk's: members judge at a page of their own assignment."""
        now = self._clock()
        with translated():
            kind = HitType.objects.filter(type_id=hit_type_id).first()
            if kind is None:
                raise missing("HIT type", hit_type_id)
            posted = PostedHit(
                hit_type=kind,
                queue_id=kind.queue_id,
                annotation=annotation,
                token=token,
                max_assignments=max_assignments,
                open_assignments=max_assignments,
                created_at=now,
                expires_at=now + timedelta(seconds=lifetime_seconds),
            )
            try:
                with transaction.atomic():
                    posted.save(force_insert=True)
            except IntegrityError:
                posted = _published_before(token, annotation)
            return posted.hit_id

    def extend_hit(self, hit_id: str, *, extra: int, token: str) -> None:
        with translated():
            try:
                with transaction.atomic():
                    self._extend(hit_id, extra, token)
            except IntegrityError:
                if not Extension.objects.filter(token=token, posted_hit__hit_id=hit_id).exists():
                    raise refused(f"HIT {hit_id}: its token has extended another HIT.") from None

    def _extend(self, hit_id: str, extra: int, token: str) -> None:
        posted = _posted(hit_id)
        Extension.objects.create(
            posted_hit=posted, token=token, new_assignments=extra, created_at=self._clock()
        )
        # Under the row's lock: of two extensions at once the second sees the first.
        growable = Q(max_assignments__gte=CROWDED_HIT) | Q(max_assignments__lt=CROWDED_HIT - extra)
        grown = PostedHit.objects.filter(growable, pk=posted.pk).update(
            max_assignments=F("max_assignments") + extra,
            open_assignments=F("open_assignments") + extra,
        )
        if not grown:
            raise refused(
                f"HIT {hit_id} was made for fewer than {CROWDED_HIT} assignments, so {extra} more "
                f"cannot bring it to {CROWDED_HIT}."
            )

    def set_expiration(self, hit_id: str, at: datetime) -> None:
        with translated():
            kept = PostedHit.objects.filter(hit_id=hit_id, deleted_at=None)
            if not kept.update(expires_at=at, is_open=at > self._clock()):
                raise missing("HIT", hit_id)

    def delete_hit(self, hit_id: str) -> None:
        now = self._clock()
        with translated():
            lapse(Q(posted_hit__hit_id=hit_id), now)
            with transaction.atomic():
                # Locked first: what is taken meanwhile shows in the assignments that are read then.
                kept = PostedHit.objects.select_for_update().filter(hit_id=hit_id, deleted_at=None)
                if (posted := kept.first()) is None:
                    return
                busy = posted.is_open and posted.expires_at > now and posted.open_assignments > 0
                undecided = (*_IN_HAND, Assignment.Status.SUBMITTED)
                if busy or posted.assignments.filter(status__in=undecided).exists():
                    raise refused(f"HIT {hit_id} cannot be deleted: its work is not all decided.")
                kept.update(deleted_at=now, is_open=False)

    def hit(self, hit_id: str) -> CrowdHit | None:
        now = self._clock()
        with translated():
            lapse(Q(posted_hit__hit_id=hit_id), now)
            row = _counted().filter(hit_id=hit_id).first()
            return None if row is None else _crowd_hit(row, now)

    def hits(self) -> Iterator[CrowdHit]:
        """A page at a time: the caller writes while it reads, and a cursor left open would make
        SQLite refuse that."""
        now, last = self._clock(), 0
        with translated():
            sweep(now)
            ours = _counted().filter(queue__crowd=self.kind)
            while page := list(ours.filter(pk__gt=last).order_by("pk")[:PAGE]):
                for row in page:
                    yield _crowd_hit(row, now)
                last = page[-1]["pk"]

    def submissions(self, hit_id: str) -> Iterator[Submission]:
        with translated():
            assignments = _posted(hit_id).assignments.filter(status__in=_STATUSES)
            submitted = list(assignments.select_related("member").order_by("submitted_at", "pk"))
        return map(_submission, submitted)

    def tend(self, hit_type_id: str, *, may_grow: bool = True) -> None:
        """Nothing: it looks after itself."""

    def surplus(self, hit_type_id: str) -> Mapping[str, int]:
        return {}

    def billed_cents(self, hit_type_id: str) -> int | None:
        return None

    def surplus_booked(self, names: Iterable[str]) -> None:
        """Nothing: there is none."""

    def approve(self, assignment_id: str) -> None:
        self._decide(assignment_id, Assignment.Status.APPROVED)

    def reject(self, assignment_id: str, *, reason: str, why: RejectionReason) -> None:
        self._decide(assignment_id, Assignment.Status.REJECTED, feedback=reason)

    def overturn(self, assignment_id: str) -> None:
        with translated():
            rejected = Assignment.objects.filter(
                assignment_id=assignment_id, status=Assignment.Status.REJECTED
            )
            if not rejected.update(status=Assignment.Status.APPROVED, feedback=""):
                self._decide(assignment_id, Assignment.Status.APPROVED)

    def _decide(self, assignment_id: str, status: Assignment.Status, *, feedback: str = "") -> None:
        """A decision is final, save a rejection that is overturned."""
        with translated():
            assignment = Assignment.objects.filter(assignment_id=assignment_id)
            if assignment.filter(status=Assignment.Status.SUBMITTED).update(
                status=status, feedback=feedback
            ):
                return
            now_it_is = assignment.values_list("status", flat=True).first()
            if now_it_is is None:
                raise missing("assignment", assignment_id)
            if now_it_is != status:
                raise refused(f"Assignment {assignment_id} is {now_it_is}, so not to be {status}.")


def _published_before(token: str, annotation: str) -> PostedHit:
    """The HIT that an earlier call with the same token made."""
    posted = PostedHit.objects.get(token=token)
    if posted.annotation != annotation:
        raise refused(
            f"HIT {annotation} was not published: its token has made the HIT {posted.hit_id} of"
            " another key."
        )
    return posted


def _posted(hit_id: str) -> PostedHit:
    posted = PostedHit.objects.filter(hit_id=hit_id, deleted_at=None).first()
    if posted is None:
        raise missing("HIT", hit_id)
    return posted


def _counted() -> "QuerySet[PostedHit, dict[str, Any]]":
    """What a CrowdHit tells, the counts as of the moment of the rest."""
    kept = PostedHit.objects.filter(deleted_at=None).annotate(
        pending=_count(*_IN_HAND), completed=_count(*_DECIDED)
    )
    names = (
        "pk",
        "hit_id",
        "annotation",
        "max_assignments",
        "open_assignments",
        "is_open",
        "expires_at",
    )
    counted: QuerySet[PostedHit, dict[str, Any]] = kept.values(*names, "pending", "completed")
    return counted


def _count(*statuses: Assignment.Status) -> Coalesce:
    assignments = Assignment.objects.filter(
        posted_hit=OuterRef("pk"), status__in=statuses
    ).order_by()
    return Coalesce(
        Subquery(assignments.values("posted_hit").annotate(n=Count("pk")).values("n")), 0
    )


def _crowd_hit(row: Mapping[str, Any], now: datetime) -> CrowdHit:
    ended = not row["is_open"] or row["expires_at"] <= now
    return CrowdHit(
        hit_id=row["hit_id"],
        annotation=row["annotation"],
        max_assignments=row["max_assignments"],
        available=0 if ended else row["open_assignments"],
        pending=row["pending"],
        completed=row["completed"],
        expires_at=row["expires_at"],
    )


def _submission(assignment: Assignment) -> Submission:
    assert assignment.submitted_at is not None
    return Submission(
        assignment_id=assignment.assignment_id,
        worker_id=assignment.member.worker_id,
        accepted_at=assignment.accepted_at,
        submitted_at=assignment.submitted_at,
        status=_STATUSES[assignment.status],
        answers={_text(name): _text(value) for name, value in assignment.answers.items()},
    )


def _text(sent: str) -> str:
    return _NO_TEXT.sub("\ufffd", sent)
