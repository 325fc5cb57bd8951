"""Who may do what in a campaign, in Django's permissions.

A role gives its permissions in one campaign, or in all of them. A permission that an account has of
its own or by a group holds in every campaign. Accounts with staff status read all campaigns.

Who adjudicates and has no other part is blind: nothing shows them what the crowd said of a triplet
before they have labelled it. Their labels of the random sample measure the crowd's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import AuditEntry, Campaign, ExpertLabel, Role, Triplet
from retrieval.web.access import may_view_corpus

VIEW = "annotation.view_campaign"
SEE_VOTES = "annotation.view_judgment"
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
VIEW_ACCOUNTS = "turk.view_requesteraccount"
CHANGE_ACCOUNTS = "turk.change_requesteraccount"

ROLE_TOO_SMALL = (
    "Your role in {} does not include this: ask an owner of the campaign for another role."
)

_VIEWER = frozenset({VIEW, SEE_VOTES, DOWNLOAD})
_MANAGER = _VIEWER | {
    RUN, MANAGE_WORKERS, WRITE_INSTRUCTIONS, ADJUDICATE, CHANGE_CONTROLS, BUILD,
}  # fmt: skip
# An annotator's work is in-house assignments: the role shows nothing of the campaign. Where a
# campaign has any, its HITs are theirs alone.
PERMISSIONS: Mapping[str, frozenset[str]] = {
    Role.Name.OWNER: _MANAGER | {FUND, GRANT},
    Role.Name.MANAGER: _MANAGER,
    Role.Name.ADJUDICATOR: frozenset({VIEW, ADJUDICATE}),
    Role.Name.VIEWER: _VIEWER,
    Role.Name.ANNOTATOR: frozenset(),
}

BY_MODEL = "django.contrib.auth.backends.ModelBackend"
# Each shows labels or votes: in a release, as a control that all agreed on, in the tables by hand.
TELLS_LABELS = (SEE_VOTES, DOWNLOAD, CHANGE_CONTROLS, "annotation.view_triplet")

Account = User | AnonymousUser


class RoleBackend(BaseBackend):
    """Answers `user.has_perm(permission, campaign)`; superusers never come here."""

    def has_perm(self, user_obj: Any, perm: str, obj: object = None) -> bool:
        if not (isinstance(obj, Campaign) and user_obj.is_active):
            return False
        if perm == VIEW and user_obj.is_staff:
            return True
        if perm in _of_roles(user_obj, obj) or user_obj.has_perm(perm):
            return True
        # The staff reads everything, but for its experts.
        reads = perm == SEE_VOTES and user_obj.is_staff
        return reads and not user_obj.has_perm(ADJUDICATE, obj)


def _of_roles(user: User, campaign: Campaign) -> frozenset[str]:
    return permissions_of(name for of, name in _roles(user) if of in (campaign.pk, None))


def _roles(user: User) -> Sequence[tuple[int | None, str]]:
    """Campaign, or None for all, and name; asked once a request, in which many permissions are."""
    known: dict[str, Any] = user.__dict__
    if "_roles" not in known:
        known["_roles"] = list(Role.objects.filter(user=user).values_list("campaign", "name"))
    return cast(Sequence[tuple[int | None, str]], known["_roles"])


def permissions_of(names: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*(PERMISSIONS[name] for name in names))


def is_blind(user: Account, campaign: Campaign) -> bool:
    """Whether it is hidden from them what the crowd said of a triplet that they may label."""
    return not any(user.has_perm(permission, campaign) for permission in TELLS_LABELS)


def triplets_seen_by(user: Account, campaign: Campaign) -> QuerySet[Triplet]:
    """Those of which they may know label and votes: all, or for a blind expert their own."""
    triplets = Triplet.objects.filter(campaign=campaign)
    if user.has_perm(SEE_VOTES, campaign):
        return triplets
    mine = ExpertLabel.objects.filter(triplet=OuterRef("pk"), expert=user.get_username())
    return triplets.filter(Exists(mine))


def may_enter(user: Account) -> bool:
    """Whether the dashboard has anything to show to them."""
    if not user.is_active or not isinstance(user, User):
        return False
    if may_view_corpus(user) or user.has_perm(VIEW) or user.has_perm(CREATE):
        return True
    return any(name != Role.Name.ANNOTATOR for _, name in _roles(user))


def visible_campaigns(user: Account) -> QuerySet[Campaign]:
    return campaigns_where(user, VIEW)


def campaigns_where(user: Account, permission: str) -> QuerySet[Campaign]:
    """Those in which the account has the permission."""
    if not user.is_active or not isinstance(user, User):
        return Campaign.objects.none()
    campaigns = Campaign.objects.all()
    if (permission == VIEW and user.is_staff) or user.has_perm(permission):
        return campaigns
    theirs = _campaigns_of_roles(user, permission)
    if None in theirs:
        return campaigns
    given = campaigns.filter(pk__in=[of for of in theirs if of])
    if permission == SEE_VOTES and user.is_staff:
        return given | campaigns.exclude(pk__in=campaigns_where(user, ADJUDICATE))
    return given


def entries_seen_by(user: User) -> QuerySet[AuditEntry]:
    """What belongs to no campaign is for the staff.

    A blind expert sees none of their campaign: some name triplets that all agreed on.
    """
    of_staff = user.is_staff or user.is_superuser
    if of_staff and (user.has_perm(SEE_VOTES) or not may_anywhere(user, ADJUDICATE)):
        return AuditEntry.objects.all()
    seen = Q(campaign__in=campaigns_where(user, SEE_VOTES))
    return AuditEntry.objects.filter(seen | Q(campaign=None) if of_staff else seen)


def may_anywhere(user: Account, permission: str) -> bool:
    """Whether the account has the permission in any campaign, even one that is still to come."""
    if not user.is_active or not isinstance(user, User):
        return False
    return user.has_perm(permission) or bool(_campaigns_of_roles(user, permission))


def kept_from(user: User | int) -> QuerySet[Campaign]:
    """Campaigns that have annotators of their own, of whom the account is none."""
    theirs = _annotators().filter(campaign=OuterRef("pk"))
    mine = _annotators().filter(Q(campaign=None) | Q(campaign=OuterRef("pk")), user=user)
    return Campaign.objects.filter(Exists(theirs), ~Exists(mine))


def adjudicators_of(campaign: Campaign) -> QuerySet[User]:
    """Accounts that may adjudicate, by a role or by the site's own permissions."""
    names = [name for name, permissions in PERMISSIONS.items() if ADJUDICATE in permissions]
    roles = Role.objects.filter(Q(campaign=campaign) | Q(campaign=None), name__in=names)
    everywhere = User.objects.with_perm(ADJUDICATE, backend=BY_MODEL)
    either = Q(pk__in=roles.values("user")) | Q(pk__in=everywhere.values("pk"))
    return User.objects.filter(either, is_active=True)


def annotators_of(campaign: Campaign) -> QuerySet[Role] | None:
    """The roles of those who alone may judge; None: all members may."""
    if not _annotators().filter(campaign=campaign).exists():
        return None
    return _annotators().filter(Q(campaign=None) | Q(campaign=campaign))


def _annotators() -> QuerySet[Role]:
    return Role.objects.filter(name=Role.Name.ANNOTATOR)


def _campaigns_of_roles(user: User, permission: str) -> set[int | None]:
    """In which a role gives the permission; None: in all."""
    return {of for of, name in _roles(user) if permission in PERMISSIONS[name]}
