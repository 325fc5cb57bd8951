"""Signing in and out: Django's own views and forms, with an end to the trying of passwords."""

import unicodedata
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from annotation.access.audit_log import Via, by_page, record
from annotation.access.lockouts import record_lockouts
from annotation.access.throttle import Limit, TooMany, address_of, attempt, forget, reached
from annotation.crowd.inhouse.members import member_of
from annotation.models import Attempt
from core.frame import framed_for_reader

MINUTES = 15
WAIT = (
    f": wait {MINUTES} minutes and try again, or ask the people who run this site for a new"
    " password."
)
# Somebody who has forgotten a password needs no more; from one address nobody can keep a
# named member from signing in elsewhere.
BOTH = Limit(
    "sign-in",
    10,
    MINUTES,
    f"This name was tried with 10 wrong passwords from your address{WAIT}",
)
# With many addresses: 9,600 guesses a day at a name. It takes ten addresses to keep
# a member out by it.
NAME = Limit("sign-in name", 100, MINUTES, f"This name was tried with 100 wrong passwords{WAIT}")
# One password on many names. A whole team in a house has one address: right passwords count
# nothing, and ten people may use up all of their tries.
ADDRESS = Limit(
    "sign-in address", 100, MINUTES, f"100 wrong passwords were tried from your address{WAIT}"
)


class SignInForm(AuthenticationForm):
    """Counts each attempt before the password is looked at; `via` is the door for the log."""

    via = Via.PAGE

    def clean(self) -> dict[str, Any]:
        typed = self.cleaned_data.get("username", "")
        name, address = _folded(typed), address_of(self.request)
        keys = [BOTH.of(name, address), NAME.of(name), ADDRESS.of(address)]
        try:
            made = attempt(keys)
        except TooMany as error:
            raise ValidationError(str(error), code="too_many") from error
        try:
            cleaned = super().clean()
        finally:
            if self.get_user() is None:
                full = reached(keys, made)
                record_lockouts(full, username=typed, address=address, via=self.via)
        if self.get_user() is not None:
            # The other two counts stay: an account of one's own must not clear the address's.
            forget([*made, *Attempt.objects.filter(digest=keys[0].digest)])
        return cleaned


class SignIn(LoginView):
    template_name = "annotation/account/sign_in.html"
    authentication_form = SignInForm

    def get_default_redirect_url(self) -> str:
        return first_page(self.request)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        status = 429 if form.has_error("__all__", "too_many") else 200
        return self.render_to_response(self.get_context_data(form=form), status=status)


@method_decorator(never_cache, name="dispatch")
class ChangePassword(PasswordChangeView):
    def render_to_response(self, context: dict[str, Any], **options: Any) -> HttpResponse:
        template = "annotation/account/password.html"
        shown = {"form": context["form"]}
        return framed_for_reader(self.request, template, shown, title="Change your password")

    @transaction.atomic
    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        user = cast(User, self.request.user)
        record(by_page(user), "change-password", subject=user.get_username())
        return super().form_valid(form)

    def get_success_url(self) -> str:
        messages.success(self.request, "Your password is changed.")
        return first_page(self.request)


def first_page(request: HttpRequest) -> str:
    """Where somebody begins who has asked for no page."""
    user = request.user
    if user.is_authenticated and not user.is_staff and member_of(user) is not None:
        return reverse("work")
    return reverse("home")


def _folded(username: str) -> str:
    """Other spellings of a name do not begin again."""
    return unicodedata.normalize("NFKC", username).casefold()
