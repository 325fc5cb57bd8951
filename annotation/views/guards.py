"""Who may see a page, and the page that says why not."""

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from annotation.crowd.inhouse.members import member_of
from annotation.crowd.inhouse.models import Member
from annotation.exclusion_words import whom_to_write_to
from annotation.middleware import wants_json

View = Callable[..., HttpResponse]

SIGNED_OUT = (
    "You are not signed in any more: sign in again in another tab, then go on here."
    " Your answers are kept in this browser."
)
STALE = (
    "What you sent was not taken, because its page was opened before you last signed in, or on"
    " another site: go back, load the page again and send it once more."
)
STALE_TO_SCRIPTS = "The site did not take it: load this page again. Your answers are kept here."


class MemberRequest(HttpRequest):
    """A request of somebody who may work."""

    member: Member


def refuse(request: HttpRequest, status: int, title: str, sentence: str) -> HttpResponse:
    """A page of the site with one sentence; for a script of ours the sentence alone."""
    if wants_json(request):
        return JsonResponse({"error": sentence}, status=status)
    words = {"title": title, "sentences": [sentence]}
    return render(request, "annotation/notice.html", words, status=status)


def permitted(request: HttpRequest, permission: str) -> bool:
    """Whether the reader has a model's permission, such as "annotation.add_instructions"."""
    return bool(request.user.has_perm(permission))


def staff_page(view: View) -> View:
    """For the people who run campaigns."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        if not request.user.is_staff:
            sentence = (
                "This page is for the people who run the campaigns: an administrator can give your"
                " account that right."
            )
            return refuse(request, 403, "For the staff", sentence)
        return view(request, *args, **kwargs)

    return cast(View, guarded)


def member_page(view: View) -> View:
    """For active members of the in-house crowd: the view finds the reader's in request.member."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        member = member_of(request.user)
        if member is None:
            sentence = (
                "Your account is not a member of the team of annotators: ask the people who run it"
                " for an invitation link."
            )
            return refuse(request, 403, "For members", sentence)
        if not member.active:
            sentence = (
                "Your membership has been ended by the people who run this site: work that was"
                f" approved stays so. {whom_to_write_to('inhouse')}"
            )
            return refuse(request, 403, "Your membership has ended", sentence)
        asked = cast(MemberRequest, request)
        asked.member = member
        return view(asked, *args, **kwargs)

    return cast(View, guarded)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's own page speaks to developers, and `reason` too."""
    sentence = STALE_TO_SCRIPTS if wants_json(request) else STALE
    return refuse(request, 403, "This page is out of date", sentence)


def to_sign_in(request: HttpRequest) -> HttpResponse:
    if wants_json(request):
        answer = {"error": SIGNED_OUT, "sign_in": settings.LOGIN_URL}
        return JsonResponse(answer, status=403)
    if request.method in {"GET", "HEAD"}:
        return redirect_to_login(request.get_full_path())
    # The way back is taken by GET, which an address that only takes forms does not answer.
    return redirect(settings.LOGIN_URL)
