"""The first page: what Quorum is; people who have a part in campaigns are led to them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access.first_account import is_wanted
from annotation.access.roles import DOWNLOAD, may_anywhere, may_enter


@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if may_enter(request.user):
        return redirect("dashboard")
    context = {"first_account_wanted": is_wanted()}
    return render(request, "annotation/account/landing.html", context)


def entrance(request: HttpRequest) -> dict[str, object]:
    """For templates: where the reader may go, asked only where one wants to know."""
    return {
        "may_enter": lambda: may_enter(request.user),
        "may_download": lambda: may_anywhere(request.user, DOWNLOAD),
    }
