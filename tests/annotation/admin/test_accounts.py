"""Accounts, groups and roles in the records: who may, what is logged, what stays."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from annotation.access.audit_log import by_page, record
from annotation.models import AuditEntry, Role
from tests.annotation.support.parts import at, client_with, logged
from tests.annotation.web.stage import make_member, staff

pytestmark = pytest.mark.django_db
USERS = "/admin/auth/user/"
GROUPS = "/admin/auth/group/"
ROLES = "/admin/annotation/role/"
NEW = {"username": "bob", "password1": "violet canyon 7", "password2": "violet canyon 7"}
NEW |= {"usable_password": "true"}


@pytest.fixture
def root(db: None) -> Client:
    return at(User.objects.create_superuser("root"))


@pytest.fixture
def helper(db: None) -> Client:
    """Of the staff, with every right over accounts but no superuser."""
    return at(staff("carla", "add_user", "change_user", "delete_user", "view_user"))


def change(user: User, **values: object) -> dict[str, object]:
    form: dict[str, object] = {
        "username": user.username,
        "first_name": "",
        "last_name": "",
        "email": "",
        "is_active": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    return {key: value for key, value in (form | values).items() if value is not None}


def test_what_is_done_to_accounts_is_logged(root: Client) -> None:
    assert root.post(f"{USERS}add/", NEW).status_code == 302
    bob = User.objects.get(username="bob")
    saved = root.post(f"{USERS}{bob.pk}/change/", change(bob, is_staff="on"))
    assert saved.status_code == 302, saved.context["adminform"].errors
    words = {"password1": "another canyon 8", "password2": "another canyon 8"}
    words |= {"usable_password": "true", "set-password": "1"}
    assert root.post(f"{USERS}{bob.pk}/password/", words).status_code == 302
    assert root.post(f"{USERS}{bob.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(username="bob").exists()
    operations = [verb for who, verb, whom in logged() if (who, whom) == ("root", "bob")]
    assert operations[:2] == ["add-account", "change-account"]
    assert "change-password" in operations
    assert operations[-1] == "delete-account"
    changed = AuditEntry.objects.get(
        verb="change-account", pk=AuditEntry.objects.order_by("pk")[1].pk
    )
    assert changed.details["staff"] is True
    assert "canyon" not in "".join(str(one.details) for one in AuditEntry.objects.all())


def test_groups_are_a_superuser_s_and_logged(root: Client, helper: Client) -> None:
    right = Permission.objects.get(codename="run_campaign")
    assert (
        root.post(f"{GROUPS}add/", {"name": "runners", "permissions": [right.pk]}).status_code
        == 302
    )
    group = Group.objects.get()
    (made,) = AuditEntry.objects.all()
    assert (made.verb, made.subject) == ("add-group", "runners")
    assert made.details == {"permissions": ["annotation.run_campaign"]}
    for address in (f"{GROUPS}add/", f"{GROUPS}{group.pk}/change/", f"{GROUPS}{group.pk}/delete/"):
        assert helper.post(address, {"name": "x", "post": "yes"}).status_code == 403
    assert root.post(f"{GROUPS}{group.pk}/delete/", {"post": "yes"}).status_code == 302
    assert [verb for _, verb, _ in logged()] == ["add-group", "delete-group"]


def test_a_role_in_all_campaigns_is_given_by_a_superuser(root: Client, helper: Client) -> None:
    bob = User.objects.create_user("bob")
    form = {"user": bob.pk, "campaign": "", "name": "viewer"}
    assert helper.post(f"{ROLES}add/", form).status_code == 403
    assert root.post(f"{ROLES}add/", form).status_code == 302
    role = Role.objects.get()
    assert root.post(f"{ROLES}{role.pk}/change/", form | {"name": "manager"}).status_code == 302
    assert root.post(f"{ROLES}{role.pk}/delete/", {"post": "yes"}).status_code == 302
    entries = list(AuditEntry.objects.order_by("pk"))
    assert [one.verb for one in entries] == ["add-role", "change-role", "delete-role"]
    assert entries[1].details == {"role": "manager", "of": "all campaigns"}


def test_who_may_change_accounts_gives_nobody_rights(helper: Client) -> None:
    bob = User.objects.create_user("bob")
    group = Group.objects.create(name="runners")
    right = Permission.objects.get(codename="run_campaign")
    grab = {
        "is_superuser": "on",
        "is_staff": "on",
        "groups": [group.pk],
        "user_permissions": [right.pk],
    }
    assert (
        helper.post(f"{USERS}{bob.pk}/change/", change(bob, **grab, email="b@b.org")).status_code
        == 302
    )
    bob.refresh_from_db()
    assert bob.email == "b@b.org"
    assert (bob.is_staff, bob.is_superuser) == (False, False)
    assert not bob.groups.exists()
    assert not bob.user_permissions.exists()
    mine = User.objects.get(username="carla")
    helper.post(f"{USERS}{mine.pk}/change/", change(mine, **grab))
    mine.refresh_from_db()
    assert not mine.is_superuser
    assert mine.is_staff


def test_who_may_change_accounts_takes_over_no_stronger_one(root: Client, helper: Client) -> None:
    dan = staff("dan")
    words = {"password1": "violet canyon 7", "password2": "violet canyon 7"}
    words |= {"usable_password": "true", "set-password": "1"}
    for one in (User.objects.get(username="root"), dan):
        assert helper.post(f"{USERS}{one.pk}/password/", words).status_code == 403
        assert (
            helper.post(f"{USERS}{one.pk}/change/", change(one, is_active=None)).status_code == 403
        )
        assert helper.post(f"{USERS}{one.pk}/delete/", {"post": "yes"}).status_code == 403
        one.refresh_from_db()
        assert one.is_active
        assert not one.check_password("violet canyon 7")
    assert logged() == []


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("has", ["a role", "a permission", "a group"])
def test_who_may_change_accounts_takes_over_none_that_has_rights(
    helper: Client, has: str, closed: bool
) -> None:
    bob = User.objects.create_user("bob", is_active=not closed)
    if has == "a role":
        Role.objects.create(user=bob, campaign=None, name="owner")
    if has == "a permission":
        bob.user_permissions.add(Permission.objects.get(codename="fund_campaign"))
    if has == "a group":
        bob.groups.add(Group.objects.create(name="runners"))
    words = {"password1": "violet canyon 7", "password2": "violet canyon 7"}
    words |= {"usable_password": "true", "set-password": "1"}
    assert helper.post(f"{USERS}{bob.pk}/password/", words).status_code == 403
    assert helper.post(f"{USERS}{bob.pk}/change/", change(bob, username="eve")).status_code == 403
    bob.refresh_from_db()
    assert bob.username == "bob"
    assert not bob.check_password("violet canyon 7")
    Role.objects.all().delete()
    bob.user_permissions.clear()
    bob.groups.clear()
    Role.objects.create(user=bob, campaign=None, name="annotator")
    assert helper.post(f"{USERS}{bob.pk}/password/", words).status_code == 302


def test_an_account_that_has_acted_stays_and_the_page_says_what_to_do(root: Client) -> None:
    bob = User.objects.create_user("bob")
    record(by_page(bob), "pause")
    member = make_member("ada").user
    for user in (bob, member):
        for method in (root.get, root.post):
            response = method(f"{USERS}{user.pk}/delete/", {"post": "yes"}, follow=True)
            page = response.content.decode()
            assert f"{user} has taken part in what is recorded here" in page
            assert "close it instead" in page
        assert User.objects.filter(pk=user.pk).exists()
    assert root.post(f"{USERS}{bob.pk}/change/", change(bob, is_active=None)).status_code == 302
    bob.refresh_from_db()
    assert not bob.is_active


def test_no_accounts_are_deleted_by_the_dozen(root: Client) -> None:
    bob = User.objects.create_user("bob")
    form = {"action": "delete_selected", "_selected_action": [bob.pk], "post": "yes"}
    root.post(USERS, form)
    assert User.objects.filter(pk=bob.pk).exists()


@pytest.mark.parametrize("address", [USERS, GROUPS, ROLES, f"{USERS}add/"])
def test_others_see_no_accounts(address: str) -> None:
    assert client_with("owner", None).get(address).status_code == 403
    assert at(staff("carla")).get(address).status_code == 403
    assert at(User.objects.create_user("eve")).get(address).status_code == 302
    assert Client().get(address).status_code == 302
