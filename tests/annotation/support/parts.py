"""People with a part in a campaign, signed in."""

from django.contrib.auth.models import User
from django.test import Client

from annotation.models import AuditEntry, Campaign, Role


def with_role(name: str, role: str, campaign: Campaign | None) -> User:
    user, _ = User.objects.get_or_create(username=name)
    Role.objects.create(user=user, campaign=campaign, name=role)
    return user


def at(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def client_with(role: str, campaign: Campaign | None, name: str = "") -> Client:
    return at(with_role(name or f"a-{role}", role, campaign))


def logged() -> list[tuple[str, str, str]]:
    """Operations in order: who, what, to whom."""
    return list(AuditEntry.objects.order_by("pk").values_list("actor", "verb", "subject"))
