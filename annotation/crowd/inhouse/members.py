"""Who belongs to the in-house crowd: invitations, joining, leaving."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F

from annotation.crowd.inhouse.leases import give_back_all
from annotation.crowd.inhouse.models import Assignment, Invitation, Member
from core.errors import UserError

MOST_DAYS = 365
MOST_USES = 10_000
MOST_NOTE = 200
MOST_FOUND = 200


def invite(
    created_by: User | None, *, note: str, days: int, uses: int, now: datetime, email: str = ""
) -> str:
    """Make an invitation; its code, which is told this once and is not kept."""
    if not 1 <= days <= MOST_DAYS:
        raise UserError(f"An invitation lasts from 1 to {MOST_DAYS} days, not {days}.")
    if not 1 <= uses <= MOST_USES:
        raise UserError(f"An invitation is for 1 to {MOST_USES} people, not {uses}.")
    if len(note) > MOST_NOTE or not note.isprintable():
        raise UserError(f"The note of an invitation is one line of at most {MOST_NOTE} characters.")
    code = secrets.token_urlsafe(24)
    Invitation.objects.create(
        digest=_digest(code),
        note=note,
        email=email,
        created_by=created_by,
        created_at=now,
        expires_at=now + timedelta(days=days),
        max_uses=uses,
    )
    return code


def find_invitation(code: str, *, now: datetime) -> Invitation:
    """UserError where nobody can join by it: to be asked before somebody chooses a password."""
    invitation = Invitation.objects.filter(digest=_digest(code)).first()
    if invitation is None:
        raise UserError(
            "This site has no such invitation. Was the link made for another address or another "
            "data folder?"
        )
    if invitation.expires_at <= now:
        raise UserError("This invitation has expired: ask for a new one.")
    if invitation.uses >= invitation.max_uses:
        raise UserError("Everybody this invitation was for has joined: ask for a new one.")
    return invitation


def revoke(invitation: Invitation, *, now: datetime) -> None:
    """Nobody can join by it any more."""
    Invitation.objects.filter(pk=invitation.pk, expires_at__gt=now).update(expires_at=now)


def join(code: str, user: User, *, now: datetime) -> Member:
    """Make the user a member; who is one already uses up no place of the invitation."""
    if (member := _already(user)) is not None:
        return member
    try:
        with transaction.atomic():
            _use(code, now)
            _take_address(code, user)
            return Member.objects.create(user=user, joined_at=now)
    except IntegrityError:  # the same user joins in another tab
        if (member := _already(user)) is None:
            raise
        return member


def _already(user: User) -> Member | None:
    member = member_of(user)
    if member is not None and not member.active:
        raise UserError("Your membership has ended: write to the people who invited you.")
    return member


def _take_address(code: str, user: User) -> None:
    """Who joins by a link that was mailed to one person reads the mails of that address."""
    mailed = Invitation.objects.filter(digest=_digest(code), max_uses=1).exclude(email="")
    if not user.email and (invitation := mailed.first()) is not None:
        user.email = invitation.email
        user.save(update_fields=["email"])


def _use(code: str, now: datetime) -> None:
    # Of many who come at once by the last place, one update of the row finds it free.
    free = Invitation.objects.filter(
        digest=_digest(code), expires_at__gt=now, uses__lt=F("max_uses")
    )
    while not free.update(uses=F("uses") + 1):
        find_invitation(code, now=now)  # says what is wrong with it


def deactivate(member: Member) -> None:
    """From now on the member gets no work; what is in hand goes to others, what is done stays."""
    Member.objects.filter(pk=member.pk).update(active=False)
    give_back_all(Assignment.objects.filter(member=member))


def activate(member: Member) -> None:
    Member.objects.filter(pk=member.pk).update(active=True)


def member_of(user: User) -> Member | None:
    """Also one whose membership has ended."""
    return Member.objects.filter(user=user).first()


def id_of(name: str) -> str:
    """Of a member, by id or user name; any other name stays as it is."""
    # An id comes first: who joins may take another member's for a user name.
    member = None if is_member(name) else member_called(name)
    return member.worker_id if member else name


def is_member(worker_id: str) -> bool:
    return Member.objects.filter(worker_id=worker_id).exists()


def member_called(username: str) -> Member | None:
    return Member.objects.filter(user__username=username).first()


def members_named(part: str) -> list[str]:
    """The worker ids of those whose user name holds this."""
    members = Member.objects.filter(user__username__icontains=part).order_by("pk")
    return list(members.values_list("worker_id", flat=True)[:MOST_FOUND])


def user_names(worker_ids: Iterable[str]) -> dict[str, str]:
    """Worker id -> the name that the people who run the site know."""
    members = Member.objects.filter(worker_id__in=list(worker_ids))
    return dict(members.values_list("worker_id", "user__username"))


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
