"""The audit log: what people did to money, votes and people."""

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import AuditEntry, Campaign

Via = AuditEntry.Via
MOST_SUBJECT = 200


@dataclass(frozen=True)
class Actor:
    """Somebody, and the face of the site by which they act."""

    user: User | None
    name: str
    via: Via


def by_page(user: User) -> Actor:
    return Actor(user, user.get_username(), Via.PAGE)


def by_api(user: User) -> Actor:
    return Actor(user, user.get_username(), Via.API)


def by_command() -> Actor:
    """The person who has a shell on the machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in a container
        name = "a shell"
    return Actor(None, name, Via.COMMAND)


def record(
    actor: Actor,
    verb: str,
    *,
    campaign: Campaign | None = None,
    subject: str = "",
    details: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """In the operation's own transaction: one is not without the other."""
    return AuditEntry.objects.create(
        user=actor.user,
        actor=actor.name,
        via=actor.via,
        verb=verb,
        campaign=campaign,
        subject=subject[:MOST_SUBJECT],
        details=dict(details or {}),
    )


@contextmanager
def logged(
    actor: Actor,
    verb: str,
    campaign: Campaign | None = None,
    *,
    subject: str = "",
    **details: object,
) -> Iterator[AuditEntry]:
    """A transaction and its entry, which the block may complete; it is written at the end."""
    with transaction.atomic():
        entry = AuditEntry(subject=subject, details=details, campaign=campaign)
        yield entry
        record(actor, verb, campaign=entry.campaign, subject=entry.subject, details=entry.details)


def record_command(verb: str, *, subject: str, details: Mapping[str, Any]) -> None:
    """What a command of `retrieval` did, which knows nothing of this log but its address."""
    record(by_command(), verb, subject=subject, details=details)
