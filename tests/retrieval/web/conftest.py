"""Who looks at the database: by one permission each, by none, and the staff."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

PERMISSIONS = {
    "looker": "view_qapair",
    "importer": "add_qapair",
    "withdrawer": "change_qapair",
    "builder": "add_indexversion",
}

As = Callable[[str], Client]


def account(name: str) -> User:
    """By what they may do, as the table says; `staff`, `root`, or a stranger."""
    if name == "root":
        return User.objects.create_superuser(name)
    user = User.objects.create_user(name, is_staff=name == "staff")
    if name in PERMISSIONS:
        user.user_permissions.add(Permission.objects.get(codename=PERMISSIONS[name]))
    return user


@pytest.fixture
def as_(db: None) -> As:
    """A browser of somebody's; the same person each time."""

    def signed_in(name: str) -> Client:
        client = Client()
        if name != "nobody":
            client.force_login(User.objects.filter(username=name).first() or account(name))
        return client

    return signed_in
