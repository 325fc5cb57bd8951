"""A new password ends all tokens, however it is set: who knew the old one may have made some.

Where the hash alone is renewed, as at a sign-in, there is no new password.
"""

from typing import Any

from django.contrib.auth.models import User
from django.db.models.signals import post_save
from django.dispatch import receiver
from knox.models import AuthToken


@receiver(post_save, sender=User)
def end_tokens(instance: User, **_: Any) -> None:
    if getattr(instance, "_password", None) is not None:  # Django's own sign of a new one
        AuthToken.objects.filter(user=instance).delete()
