"""The first account of a site: for whoever can read what the site prints when it starts."""

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse

from core.errors import UserError

SALT = "quorum.first-account"
LASTS = 24 * 60 * 60  # seconds


def is_wanted() -> bool:
    """Until somebody can let others in."""
    return not User.objects.filter(is_superuser=True, is_active=True).exists()


def link() -> str:
    return settings.PUBLIC_URL + reverse("first-account", args=[signing.dumps("", salt=SALT)])


def require_key(key: str) -> None:
    """UserError where the link is not this site's, is old, or has been used."""
    if not is_wanted():
        raise UserError("The first account exists: sign in, or ask who has it for an account.")
    try:
        signing.loads(key, salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        raise UserError(
            "Start the site again and open the link that it prints: each works for a day."
        ) from None
