"""Roles given and taken: whose, by whom, and that a campaign keeps an owner."""

import pytest
from django.contrib.auth.models import User

from annotation.access.audit_log import by_command
from annotation.models import AuditEntry, Campaign, Role
from annotation.operations.roles import account_called, give_role, take_role
from core.errors import UserError
from tests.annotation.support.hits import make_campaign
from tests.annotation.support.parts import acting, logged, with_role

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def ada(campaign: Campaign) -> User:
    return with_role("ada", "owner", campaign)


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


def roles() -> set[tuple[str, str]]:
    return set(Role.objects.values_list("user__username", "name"))


def test_a_role_is_given_changed_and_taken_and_each_operation_is_logged(
    campaign: Campaign, ada: User, bob: User
) -> None:
    give_role(campaign, bob, "viewer", by=acting(ada))
    give_role(campaign, bob, "manager", by=acting(ada))
    assert roles() == {("ada", "owner"), ("bob", "manager")}
    take_role(campaign, bob, by=acting(ada))
    assert roles() == {("ada", "owner")}
    operations = [("ada", verb, "bob") for verb in ("give-role", "change-role", "take-role")]
    assert logged() == operations
    assert [one.details for one in AuditEntry.objects.order_by("pk")] == [
        {"role": "viewer"},
        {"role": "manager", "from": "viewer"},
        {"role": "manager"},
    ]


def test_the_last_owner_stays_one_whoever_asks(campaign: Campaign, ada: User, bob: User) -> None:
    with_role("bob", "manager", campaign)
    for operation in (
        lambda: take_role(campaign, ada, by=acting(ada)),
        lambda: give_role(campaign, ada, "viewer", by=acting(bob)),
        lambda: take_role(campaign, ada, by=by_command()),
    ):
        with pytest.raises(UserError, match="ada is the last owner of faq"):
            operation()
    assert ("ada", "owner") in roles()
    assert logged() == []


def test_one_of_two_owners_may_go_and_then_the_other_stays(
    campaign: Campaign, ada: User, bob: User
) -> None:
    give_role(campaign, bob, "owner", by=acting(ada))
    take_role(campaign, ada, by=acting(ada))
    with pytest.raises(UserError, match="last owner"):
        take_role(campaign, bob, by=acting(bob))


def test_an_owner_whose_account_is_closed_does_not_count(
    campaign: Campaign, ada: User, bob: User
) -> None:
    give_role(campaign, bob, "owner", by=acting(ada))
    User.objects.filter(pk=bob.pk).update(is_active=False)
    with pytest.raises(UserError, match="last owner"):
        take_role(campaign, ada, by=acting(ada))


def test_an_owner_of_another_campaign_does_not_count(campaign: Campaign, ada: User) -> None:
    with_role("bob", "owner", make_campaign("other"))
    with_role("cleo", "owner", None)
    with pytest.raises(UserError, match="last owner"):
        take_role(campaign, ada, by=acting(ada))


def test_a_superuser_may_take_even_that(campaign: Campaign, ada: User) -> None:
    root = User.objects.create_superuser("root")
    take_role(campaign, ada, by=acting(root))
    assert roles() == set()


@pytest.mark.parametrize("name", ["king", "", "Owner"])
def test_there_are_no_other_roles(campaign: Campaign, ada: User, bob: User, name: str) -> None:
    with pytest.raises(UserError, match="A role is one of owner, manager, adjudicator"):
        give_role(campaign, bob, name, by=acting(ada))
    assert logged() == []


def test_what_changes_nothing_is_refused_and_not_logged(
    campaign: Campaign, ada: User, bob: User
) -> None:
    with pytest.raises(UserError, match="ada is owner of faq already"):
        give_role(campaign, ada, "owner", by=acting(ada))
    with pytest.raises(UserError, match="bob has no role in faq any more"):
        take_role(campaign, bob, by=acting(ada))
    assert logged() == []


def test_an_account_is_found_by_its_name_and_a_closed_one_is_not_taken(bob: User) -> None:
    assert account_called("bob") == bob
    for name in ("eve", "BOB", "bo\0b", ""):
        with pytest.raises(UserError, match="There is no account"):
            account_called(name)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    with pytest.raises(UserError, match="The account bob is closed"):
        account_called("bob")
