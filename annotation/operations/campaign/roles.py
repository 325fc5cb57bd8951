"""Roles in a campaign, given and taken. It keeps an owner, whoever asks."""

from django.contrib.auth.models import User

from annotation.access.roles import GRANT
from annotation.models import Campaign, Role
from annotation.operations.operation import Argument, Operation, Options, Result
from core.errors import UserError

USERNAME = Argument("username", "account", "User name")
ROLE = Argument("role", "choice", "Role", choices=tuple(Role.Name.values))


def _preview_give(campaign: Campaign, options: Options) -> list[str]:
    user, before = _receiver(campaign, options)
    instead = f", in place of {before.name}" if before else ""
    return [f"{user} becomes {options['role']} of {campaign}{instead}."]


def _execute_give(campaign: Campaign, options: Options) -> Result:
    _lock(campaign)
    user, before = _receiver(campaign, options)
    role = {"name": options["role"]}
    Role.objects.update_or_create(campaign=campaign, user=user, defaults=role)
    return {"role": options["role"], "before": before and before.name}


def _preview_take(campaign: Campaign, options: Options) -> list[str]:
    role = _taken(campaign, options)
    return [f"{role.user} is no longer {role.name} of {campaign}."]


def _execute_take(campaign: Campaign, options: Options) -> Result:
    _lock(campaign)
    role = _taken(campaign, options)
    role.delete()
    return {"before": role.name}


def _lock(campaign: Campaign) -> None:
    """Two owners cannot put each other out at once."""
    Campaign.objects.select_for_update().get(pk=campaign.pk)


def _receiver(campaign: Campaign, options: Options) -> tuple[User, Role | None]:
    """The account, and the role that it has until now."""
    username, name = options["username"], options["role"]
    user = User.objects.filter(username=username).first() if "\0" not in username else None
    if user is None:
        raise UserError(
            f"There is no account {username!r}: an administrator can make one under Admin."
        )
    if not user.is_active:
        raise UserError(f"The account {user} is closed: it takes no role.")
    before = campaign.roles.select_related("user").filter(user=user).first()
    if before is not None:
        if before.name == name:
            raise UserError(f"{user} is {name} of {campaign} already.")
        _check_owners(campaign, before)
    return user, before


def _taken(campaign: Campaign, options: Options) -> Role:
    username = options["username"].replace("\0", "")  # which no database can be asked for
    role = campaign.roles.select_related("user").filter(user__username=username).first()
    if role is None:
        raise UserError(f"{username} has no role in {campaign}.")
    _check_owners(campaign, role)
    return role


def _check_owners(campaign: Campaign, before: Role) -> None:
    others = campaign.roles.filter(name=Role.Name.OWNER, user__is_active=True)
    if before.name == Role.Name.OWNER and not others.exclude(pk=before.pk).exists():
        raise UserError(
            f"{before.user} is the last owner of {campaign}: make somebody else an owner first."
        )


OPERATIONS = (
    Operation(
        "give-role",
        "give an account a role in the campaign, in place of the one that it has there",
        GRANT,
        _preview_give,
        _execute_give,
        (USERNAME, ROLE),
        subject="username",
        calls_crowd=False,
        confirms=False,
        title="Give a role to",
        button="Give the role",
    ),
    Operation(
        "take-role",
        "take away the role that an account has in the campaign",
        GRANT,
        _preview_take,
        _execute_take,
        (USERNAME,),
        subject="username",
        calls_crowd=False,
        confirms=False,
        title="Take the role of",
        button="Take away",
    ),
)
