"""The account behind a request, with what nearly every page asks of it."""

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User


class AccountBackend(ModelBackend):
    def get_user(self, user_id: int) -> User | None:
        """With its membership, in the same query."""
        user = User.objects.select_related("member").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None
