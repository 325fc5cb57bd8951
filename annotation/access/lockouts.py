"""Who has to wait after wrong passwords: logged, shown to the staff, ended by them.

The limits themselves are in `annotation/web/account/sign_in.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from annotation.access.audit_log import Actor, Via, record
from annotation.access.throttle import Key
from annotation.models import Attempt, AuditEntry

VERB = "lockout"
SOMEBODY = "somebody"  # who has not signed in
LONGEST = timedelta(minutes=15)
MOST_SHOWN = 200


@dataclass(frozen=True)
class Lockout:
    """A limit that is full: of a name, of an address, or of the two together."""

    digest: str
    limit: str
    name: str
    address: str
    since: datetime
    until: datetime


def record_lockouts(keys: Sequence[Key], *, username: str, address: str, via: Via) -> None:
    """One row for each limit that is full now, however often is tried after that."""
    for limit, digest in keys:
        # What was typed may be a password in the wrong field: a name is kept if an account has it.
        known = User.objects.filter(username__iexact=username).first() if username else None
        details = {
            "limit": limit.what,
            "address": address,
            "minutes": limit.minutes,
            "digest": digest,
        }
        subject = known.get_username() if known else "no account"
        record(Actor(None, SOMEBODY, via), VERB, subject=subject, details=details)


def current_lockouts() -> list[Lockout]:
    """Those that hold now, the newest first: as long as no attempt can be made."""
    recent = AuditEntry.objects.filter(verb=VERB, at__gte=timezone.now() - LONGEST)
    rows = recent.order_by("-at", "-pk")[:MOST_SHOWN]
    newest = {entry.details["digest"]: entry for entry in reversed(rows)}
    counted = set(Attempt.objects.filter(digest__in=newest).values_list("digest", flat=True))
    return [_lockout(newest[digest]) for digest in reversed(newest) if digest in counted]


def unlock(digest: str) -> int:
    """What was tried is forgotten: how many attempts that were."""
    return Attempt.objects.filter(digest=digest).delete()[0]


def _lockout(entry: AuditEntry) -> Lockout:
    details = entry.details
    until = entry.at + timedelta(minutes=details["minutes"])
    return Lockout(
        details["digest"], details["limit"], entry.subject, details["address"], entry.at, until
    )
