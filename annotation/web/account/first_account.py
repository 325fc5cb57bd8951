"""The first account, by the link that the site prints when it starts."""

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page, record
from annotation.access.first_account import require_key
from annotation.web.base.guards import refuse
from core.errors import UserError


class FirstAccountForm(UserCreationForm):  # type: ignore[type-arg]
    class Meta(UserCreationForm.Meta):
        model = User
        fields = ("username", "email")
        help_texts = {
            "username": "Letters, digits and @ . + - _ only.",
            "email": "Optional: where Quorum writes to, for instance when a campaign is complete.",
        }


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def first_account(request: HttpRequest, key: str) -> HttpResponse:
    try:
        require_key(key)
    except UserError as error:
        return refuse(request, 404, "This link does not work", str(error))
    form = FirstAccountForm(request.POST or None)
    if form.is_valid():
        try:
            login(request, _create(form), backend=settings.AUTHENTICATION_BACKENDS[0])
            return redirect("dashboard")
        except IntegrityError:  # sent twice at once
            form.add_error("username", "This name was taken a moment ago: choose another one.")
    status = 422 if form.errors else 200
    return render(request, "annotation/account/first_account.html", {"form": form}, status=status)


@transaction.atomic
def _create(form: FirstAccountForm) -> User:
    user: User = form.save(commit=False)
    user.is_superuser = user.is_staff = True
    user.save()
    record(by_page(user), "first-account", subject=user.get_username())
    return user
