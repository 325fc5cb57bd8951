"""Accounts by their part in a campaign, signed in."""

from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.models import Campaign, Role


def at(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def root() -> Client:
    found = User.objects.filter(username="root").first()
    return at(found or User.objects.create_superuser("root"))


def plays(role: str, campaign: Campaign | None, name: str = "") -> Client:
    """Somebody with this role, in one campaign or in all."""
    user = User.objects.create_user(name or f"{role}-of-{campaign or 'all'}")
    Role.objects.create(user=user, campaign=campaign, name=role)
    return at(user)


def with_permission(codename: str, client_of: str) -> Client:
    """A member of the staff with one permission of their own."""
    user = User.objects.create_user(client_of, is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename=codename))
    return at(user)
