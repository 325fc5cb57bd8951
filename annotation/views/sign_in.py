"""Signing in and out: Django's own views and forms, with an end to the trying of passwords."""

import hashlib
import unicodedata
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from annotation.crowd.inhouse.members import member_of
from annotation.models import SignInAttempt

MOST_ATTEMPTS = 10
WINDOW_MINUTES = 15
TOO_MANY = (
    f"This name was tried with {MOST_ATTEMPTS} wrong passwords from your address: wait"
    f" {WINDOW_MINUTES} minutes and try again, or ask the people who run this site for a new"
    " password."
)


class SignInForm(AuthenticationForm):
    """Counts each attempt before the password is looked at, so that none slips in beside it."""

    def clean(self) -> dict[str, Any]:
        digest = _digest(self.cleaned_data.get("username", ""), _address(self.request))
        if not _admit(digest):
            raise ValidationError(TOO_MANY, code="too_many")
        cleaned = super().clean()
        if self.get_user() is not None:
            SignInAttempt.objects.filter(digest=digest).delete()
        return cleaned


class SignIn(LoginView):
    template_name = "annotation/sign_in.html"
    authentication_form = SignInForm

    def get_default_redirect_url(self) -> str:
        return first_page(self.request)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        status = 429 if form.has_error("__all__", "too_many") else 200
        return self.render_to_response(self.get_context_data(form=form), status=status)


class ChangePassword(PasswordChangeView):
    template_name = "annotation/password.html"

    def get_success_url(self) -> str:
        messages.success(self.request, "Your password is changed.")
        return first_page(self.request)


def first_page(request: HttpRequest) -> str:
    """Where somebody begins who has asked for no page."""
    user = request.user
    if user.is_authenticated and not user.is_staff and member_of(user) is not None:
        return reverse("work")
    return reverse("home")


def _admit(digest: str) -> bool:
    """Whether a password may be tried; the attempt is written down."""
    now = timezone.now()
    window = now - timedelta(minutes=WINDOW_MINUTES)
    SignInAttempt.objects.filter(at__lt=window).delete()
    attempt = SignInAttempt.objects.create(digest=digest, at=now)
    if SignInAttempt.objects.filter(digest=digest).count() <= MOST_ATTEMPTS:
        return True
    # A refused attempt does not make the wait longer.
    attempt.delete()
    return False


def _digest(username: str, address: str) -> str:
    name = unicodedata.normalize("NFKC", username).casefold()
    return hashlib.sha256(f"{name}\n{address}".encode()).hexdigest()


def _address(request: HttpRequest | None) -> str:
    """Of the browser: behind a proxy that speaks TLS for us, as that proxy tells it."""
    if request is None:
        return ""
    if settings.PUBLIC_URL.startswith("https://"):
        told = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        if told:
            return told
    return str(request.META["REMOTE_ADDR"])
