"""Who may do what in a campaign, in Django's permissions.

A role gives its permissions in one campaign, or in all of them. A permission that an account has of
its own or by a group holds in every campaign. Accounts with staff status read all campaigns.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Campaign, Role
from retrieval.web.access import may_view_corpus

VIEW = "annotation.view_campaign"
CREATE = "annotation.add_campaign"
RUN = "annotation.run_campaign"
FUND = "annotation.fund_campaign"
MANAGE_WORKERS = "annotation.manage_workers"
WRITE_INSTRUCTIONS = "annotation.add_instructions"
ADJUDICATE = "annotation.add_expertlabel"
CHANGE_CONTROLS = "annotation.change_control"
GRANT = "annotation.change_role"
DOWNLOAD = "exports.download_release"
BUILD = "exports.add_build"

ROLE_TOO_SMALL = (
    "Your role in {} does not include this: ask an owner of the campaign for another role."
)

_VIEWER = frozenset({VIEW, DOWNLOAD})
_MANAGER = _VIEWER | {
    RUN, MANAGE_WORKERS, WRITE_INSTRUCTIONS, ADJUDICATE, CHANGE_CONTROLS, BUILD,
}  # fmt: skip
# An annotator's work is in-house assignments: the role shows nothing of the campaign. Where a
# campaign has any, its HITs are theirs alone.
PERMISSIONS: Mapping[str, frozenset[str]] = {
    Role.Name.OWNER: _MANAGER | {FUND, GRANT},
    Role.Name.MANAGER: _MANAGER,
    Role.Name.ADJUDICATOR: _VIEWER | {ADJUDICATE},
    Role.Name.VIEWER: _VIEWER,
    Role.Name.ANNOTATOR: frozenset(),
}

Account = User | AnonymousUser


class RoleBackend(BaseBackend):
    """Answers `user.has_perm(permission, campaign)`; superusers never come here."""

    def has_perm(self, user_obj: Any, perm: str, obj: object = None) -> bool:
        if not (isinstance(obj, Campaign) and user_obj.is_active):
            return False
        if perm == VIEW and user_obj.is_staff:
            return True
        return perm in _of_roles(user_obj, obj) or bool(user_obj.has_perm(perm))


def _of_roles(user: User, campaign: Campaign) -> frozenset[str]:
    """Asked once a request: a page asks for many permissions of the same campaign."""
    known: dict[int, frozenset[str]] = user.__dict__.setdefault("_permissions_by_campaign", {})
    if campaign.pk not in known:
        names = Role.objects.filter(Q(campaign=campaign) | Q(campaign=None), user=user)
        known[campaign.pk] = permissions_of(names.values_list("name", flat=True))
    return known[campaign.pk]


def permissions_of(names: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*(PERMISSIONS[name] for name in names))


def may_enter(user: Account) -> bool:
    """Whether the dashboard has anything to show to them."""
    if not user.is_active or not isinstance(user, User):
        return False
    if may_view_corpus(user) or user.has_perm(VIEW) or user.has_perm(CREATE):
        return True
    known: dict[str, Any] = user.__dict__  # the guard and the frame both ask
    if "_has_a_part" not in known:
        roles = Role.objects.filter(user=user).exclude(name=Role.Name.ANNOTATOR)
        known["_has_a_part"] = roles.exists()
    return bool(known["_has_a_part"])


def visible_campaigns(user: Account) -> QuerySet[Campaign]:
    return campaigns_where(user, VIEW)


def campaigns_where(user: Account, permission: str) -> QuerySet[Campaign]:
    """Those in which the account has the permission."""
    if not user.is_active or not isinstance(user, User):
        return Campaign.objects.none()
    campaigns = Campaign.objects.all()
    if (permission == VIEW and user.is_staff) or user.has_perm(permission):
        return campaigns
    roles = _roles_with(user, permission)
    if roles.filter(campaign=None).exists():
        return campaigns
    return campaigns.filter(pk__in=roles.values("campaign"))


def may_anywhere(user: Account, permission: str) -> bool:
    """Whether the account has the permission in any campaign, even one that is still to come."""
    if not user.is_active or not isinstance(user, User):
        return False
    return user.has_perm(permission) or _roles_with(user, permission).exists()


def kept_from(user: User) -> QuerySet[Campaign]:
    """Campaigns that have annotators of their own, of whom the account is none."""
    theirs = _annotators().filter(campaign=OuterRef("pk"))
    mine = _annotators().filter(Q(campaign=None) | Q(campaign=OuterRef("pk")), user=user)
    return Campaign.objects.filter(Exists(theirs), ~Exists(mine))


def annotators_of(campaign: Campaign) -> QuerySet[Role] | None:
    """The roles of those who alone may judge; None: all members may."""
    if not _annotators().filter(campaign=campaign).exists():
        return None
    return _annotators().filter(Q(campaign=None) | Q(campaign=campaign))


def _annotators() -> QuerySet[Role]:
    return Role.objects.filter(name=Role.Name.ANNOTATOR)


def _roles_with(user: User, permission: str) -> QuerySet[Role]:
    names = [name for name, permissions in PERMISSIONS.items() if permission in permissions]
    return Role.objects.filter(user=user, name__in=names)
