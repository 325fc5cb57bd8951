"""Who may do what: by a role in a campaign, by one in all of them, by a permission of one's own."""

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User

from annotation.access.roles import (
    ADJUDICATE,
    BUILD,
    CHANGE_CONTROLS,
    DOWNLOAD,
    FUND,
    GRANT,
    MANAGE_WORKERS,
    RUN,
    SEE_VOTES,
    VIEW,
    WRITE_INSTRUCTIONS,
    may_enter,
    visible_campaigns,
)
from annotation.models import Campaign, Role
from tests.worlds.small_campaign import Stage

ALL = {
    VIEW, SEE_VOTES, RUN, FUND, MANAGE_WORKERS, WRITE_INSTRUCTIONS, ADJUDICATE, CHANGE_CONTROLS,
    GRANT, DOWNLOAD, BUILD,
}  # fmt: skip
MANAGER = ALL - {FUND, GRANT}


def of(name: str, campaign: Campaign | None) -> User:
    user = User.objects.create_user(f"{name}-of-{campaign}")
    Role.objects.create(user=user, campaign=campaign, name=name)
    return user


def may(user: User, campaign: Campaign) -> set[str]:
    return {permission for permission in ALL if user.has_perm(permission, campaign)}


@pytest.mark.parametrize(
    ("role", "permissions"),
    [
        ("owner", ALL),
        ("manager", MANAGER),
        ("adjudicator", {VIEW, ADJUDICATE}),
        ("viewer", {VIEW, SEE_VOTES, DOWNLOAD}),
        ("annotator", set()),
    ],
)
def test_a_role_holds_in_its_campaign_alone(
    stage: Stage, other: Stage, role: str, permissions: set[str]
) -> None:
    user = of(role, stage.campaign)
    assert may(user, stage.campaign) == permissions
    assert may(user, other.campaign) == set()
    assert not user.has_perm(VIEW)  # of all campaigns
    seen = [stage.campaign] if permissions else []
    assert list(visible_campaigns(user)) == seen
    assert may_enter(user) == bool(permissions)


def test_a_role_in_all_campaigns_holds_in_each(stage: Stage, other: Stage) -> None:
    user = of("manager", None)
    assert may(user, stage.campaign) == may(user, other.campaign) == MANAGER
    assert set(visible_campaigns(user)) == {stage.campaign, other.campaign}


def test_two_roles_add_up(stage: Stage) -> None:
    user = of("viewer", None)
    Role.objects.create(user=user, campaign=stage.campaign, name="adjudicator")
    assert may(user, stage.campaign) == {VIEW, SEE_VOTES, DOWNLOAD, ADJUDICATE}


def test_a_permission_of_ones_own_holds_in_every_campaign(stage: Stage) -> None:
    user = User.objects.create_user("ada")
    user.user_permissions.add(Permission.objects.get(codename="run_campaign"))
    assert may(user, stage.campaign) == {RUN}
    assert not visible_campaigns(user).exists()


def test_staff_read_every_campaign_and_may_do_nothing_by_that(stage: Stage) -> None:
    user = User.objects.create_user("bob", is_staff=True)
    assert may(user, stage.campaign) == {VIEW, SEE_VOTES}
    assert list(visible_campaigns(user)) == [stage.campaign]


def test_a_superuser_may_all(stage: Stage) -> None:
    assert may(User.objects.create_superuser("root"), stage.campaign) == ALL


def test_an_account_that_is_ended_may_nothing(stage: Stage) -> None:
    user = of("owner", stage.campaign)
    user.is_active = False
    user.save()
    assert may(user, stage.campaign) == set()
    assert not visible_campaigns(user).exists()
    assert not may_enter(user)


def test_who_is_not_signed_in_sees_nothing(stage: Stage) -> None:
    assert not visible_campaigns(AnonymousUser()).exists()
    assert not may_enter(AnonymousUser())
    assert not AnonymousUser().has_perm(VIEW, stage.campaign)


def test_a_stranger_cannot_enter(db: None) -> None:
    assert not may_enter(User.objects.create_user("eve"))


@pytest.fixture
def other(stage: Stage) -> Stage:
    """A second campaign beside the first."""
    query_set = stage.campaign.query_set
    query_set.pk, query_set.name = None, "other"
    query_set.save()
    campaign = Campaign.objects.create(name="other", query_set=query_set, policy_data={}, seed=1)
    return Stage(campaign, stage.mturk)
