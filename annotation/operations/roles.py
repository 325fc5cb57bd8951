"""Roles in a campaign, given and taken; each operation is logged."""

from django.contrib.auth.models import User
from django.db import transaction

from annotation.access.audit_log import Actor, record
from annotation.models import Campaign, Role
from core.errors import UserError


def account_called(username: str) -> User:
    user = User.objects.filter(username=username).first() if "\0" not in username else None
    if user is None:
        raise UserError(
            f"There is no account {username!r}: an administrator can make one under Records."
        )
    if not user.is_active:
        raise UserError(f"The account {username} is closed: it takes no role.")
    return user


@transaction.atomic
def give_role(campaign: Campaign, user: User, name: str, *, by: Actor) -> None:
    """In place of the one that they have there; UserError where that may not be."""
    if name not in Role.Name.values:
        raise UserError(f"A role is one of {', '.join(Role.Name.values)}, not {name!r}.")
    before = _held(campaign, user)
    if before is not None and before.name == name:
        raise UserError(f"{user} is {name} of {campaign} already.")
    _check_owners(campaign, before, by)
    Role.objects.update_or_create(campaign=campaign, user=user, defaults={"name": name})
    verb, details = ("give-role", {}) if before is None else ("change-role", {"from": before.name})
    details = {"role": name, **details}
    record(by, verb, campaign=campaign, subject=user.get_username(), details=details)


@transaction.atomic
def take_role(campaign: Campaign, user: User, *, by: Actor) -> None:
    before = _held(campaign, user)
    if before is None:
        raise UserError(f"{user} has no role in {campaign} any more.")
    _check_owners(campaign, before, by)
    before.delete()
    details = {"role": before.name}
    record(by, "take-role", campaign=campaign, subject=user.get_username(), details=details)


def _held(campaign: Campaign, user: User) -> Role | None:
    """With the campaign locked: two owners cannot put each other out at once."""
    Campaign.objects.select_for_update().get(pk=campaign.pk)
    return Role.objects.filter(campaign=campaign, user=user).first()


def _check_owners(campaign: Campaign, before: Role | None, by: Actor) -> None:
    if before is None or before.name != Role.Name.OWNER:
        return
    owners = Role.objects.filter(campaign=campaign, name=Role.Name.OWNER, user__is_active=True)
    alone = not owners.exclude(pk=before.pk).exists()
    if alone and not (by.user is not None and by.user.is_superuser):
        raise UserError(
            f"{before.user} is the last owner of {campaign}: make somebody else an owner first."
        )
