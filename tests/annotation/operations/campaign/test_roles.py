"""Roles given and taken: to whom, and that a campaign keeps an owner."""

import pytest
from django.contrib.auth.models import User

from annotation.access.audit_log import by_command
from annotation.models import AuditEntry, Campaign, Role
from annotation.operations.operation import perform
from annotation.operations.registry import OPERATIONS
from core.errors import UserError
from tests.annotation.support.hits import make_campaign
from tests.annotation.support.parts import logged, with_role

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    """With one owner, ada."""
    campaign = make_campaign()
    with_role("ada", "owner", campaign)
    return campaign


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


def give(campaign: Campaign, username: str, role: str) -> None:
    options = {"username": username, "role": role}
    perform(OPERATIONS["give-role"], campaign, options, by=by_command())


def take(campaign: Campaign, username: str) -> None:
    perform(OPERATIONS["take-role"], campaign, {"username": username}, by=by_command())


def roles() -> set[tuple[str, str]]:
    return set(Role.objects.values_list("user__username", "name"))


@pytest.mark.usefixtures("bob")
def test_a_role_is_given_changed_and_taken_and_each_operation_is_logged(campaign: Campaign) -> None:
    give(campaign, "bob", "viewer")
    give(campaign, "bob", "manager")
    assert roles() == {("ada", "owner"), ("bob", "manager")}
    take(campaign, "bob")
    assert roles() == {("ada", "owner")}
    entries = AuditEntry.objects.order_by("pk").values_list("verb", "subject", "details")
    assert list(entries) == [
        ("give-role", "bob", {"role": "viewer", "before": None}),
        ("give-role", "bob", {"role": "manager", "before": "viewer"}),
        ("take-role", "bob", {"before": "manager"}),
    ]


def test_one_of_two_owners_may_go_and_then_the_other_stays(campaign: Campaign, bob: User) -> None:
    give(campaign, "bob", "owner")
    take(campaign, "ada")
    with pytest.raises(UserError, match="bob is the last owner of faq"):
        give(campaign, "bob", "viewer")
    # Nor does an owner elsewhere count, or one whose account is closed.
    with_role("cleo", "owner", make_campaign("other"))
    with_role("dan", "owner", None)
    give(campaign, "ada", "owner")
    User.objects.filter(username="ada").update(is_active=False)
    with pytest.raises(UserError, match="bob is the last owner of faq"):
        take(campaign, "bob")
    take(campaign, "ada")  # a closed account loses its role like any other


def test_what_changes_nothing_is_refused_and_not_logged(campaign: Campaign, bob: User) -> None:
    with pytest.raises(UserError, match="ada is owner of faq already"):
        give(campaign, "ada", "owner")
    with pytest.raises(UserError, match="bob has no role in faq"):
        take(campaign, "bob")
    assert logged() == []


def test_an_account_is_found_by_its_name_and_a_closed_one_takes_no_role(
    campaign: Campaign, bob: User
) -> None:
    for name in ("eve", "BOB", "bo\0b", ""):
        with pytest.raises(UserError, match="There is no account"):
            give(campaign, name, "viewer")
    User.objects.filter(pk=bob.pk).update(is_active=False)
    with pytest.raises(UserError, match="The account bob is closed"):
        give(campaign, "bob", "viewer")
