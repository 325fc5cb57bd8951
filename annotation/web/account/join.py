"""An invitation link: who opens it becomes a member of the in-house crowd."""

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page, record
from annotation.crowd.inhouse.members import find_invitation, join, member_of
from annotation.crowd.worker_notices import what_is_kept
from annotation.protocol.policy.crowds import INHOUSE
from annotation.web.base.guards import refuse
from annotation.web.notifications.preferences import ask_to_confirm
from core.errors import UserError

TITLE = "This invitation no longer works"


class AccountForm(UserCreationForm):  # type: ignore[type-arg]
    """Django's own, with its validators of passwords."""

    email = forms.EmailField(
        label="E-mail (optional)",
        max_length=254,
        required=False,
        help_text="For news of tasks, and if you forget your password. We mail a link to confirm.",
    )

    class Meta(UserCreationForm.Meta):
        help_texts = {"username": "Letters, digits and @ . + - _ only. Owners of campaigns see it."}


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join_page(request: HttpRequest, code: str) -> HttpResponse:
    if request.user.is_authenticated and member_of(request.user) is not None:
        return redirect("work")
    try:
        find_invitation(code, now=timezone.now())
        if request.method != "POST":
            return _page(request, AccountForm())
        if request.user.is_authenticated:
            _join(code, request.user)
            return redirect("work")
        return _make_account(request, code)
    except UserError as error:
        return refuse(request, 404, TITLE, str(error))


def _make_account(request: HttpRequest, code: str) -> HttpResponse:
    """UserError when the invitation was used up meanwhile: then there is no account either."""
    form = AccountForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        with transaction.atomic():
            user = form.save()
            _join(code, user)
    except IntegrityError:  # somebody took the name in this very moment
        form.add_error("username", "This name was taken a moment ago: choose another one.")
        return _page(request, form, status=422)
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    if (email := form.cleaned_data["email"]) and email != user.email:
        ask_to_confirm(request, user, email)
    return redirect("work")


@transaction.atomic
def _join(code: str, user: User) -> None:
    member = join(code, user, now=timezone.now())
    details = {"worker": member.worker_id}
    record(by_page(user), "join", subject=user.get_username(), details=details)


def _page(request: HttpRequest, form: AccountForm, *, status: int = 200) -> HttpResponse:
    content = {"form": form, "kept": what_is_kept(INHOUSE)}
    return render(request, "annotation/account/join.html", content, status=status)
