"""Who may see a page, and the page that says why not."""

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache

from annotation.access.roles import ROLE_TOO_SMALL, VIEW, may_enter, visible_campaigns
from annotation.crowd.inhouse.members import member_of
from annotation.crowd.inhouse.models import Member
from annotation.crowd.inhouse.visits import NO_FURTHER_PART
from annotation.crowd.worker_notices import whom_to_write_to
from annotation.models import Campaign
from annotation.protocol.policy.crowds import INHOUSE
from annotation.web.base.middleware import wants_json
from core.frame import notice
from core.log_context import also_about

View = Callable[..., HttpResponse]

NOT_FOUND = "Check the link, or go to the home page."
FORBIDDEN = "Your account does not have permission for this page. Ask an administrator for access."
FOR_THE_STAFF = (
    "This page is for the people who run the campaigns: an administrator can give your account"
    " that right."
)
SIGNED_OUT = (
    "You are signed out. Sign in again in another tab, then continue here."
    " Your answers are kept in this browser."
)
NO_MEMBER = (
    "Your account is not a member of the team of annotators: ask the people who run it for an "
    "invitation link."
)
RUNS_CAMPAIGNS = (
    "Your account is not a member of the team of annotators. The milestones of a campaign preview "
    "its tasks. To judge some yourself, open an invitation link of the team."
)
STALE = (
    "Nothing was saved, because the page was opened before you last signed in, or on another"
    " site. Go back, reload the page, and send it again."
)
NO_ENDPOINT = (
    "This address is no endpoint for MTurk's operations: end it with /turk, for real money, or "
    "with /turk/sandbox, to try them."
)
STALE_TO_SCRIPTS = "The site did not take it: load this page again. Your answers are kept here."


class MemberRequest(HttpRequest):
    """A request of somebody who may work."""

    member: Member


def refuse(request: HttpRequest, status: int, title: str, sentence: str) -> HttpResponse:
    """A page of the site with one sentence; for a script of ours the sentence alone."""
    if wants_json(request):
        return JsonResponse({"error": sentence}, status=status)
    return notice(request, sentence, title=title, status=status)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 404, "Page not found", NOT_FOUND)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 403, "You do not have access", FORBIDDEN)


def refuse_role(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """For a reader whose role in the campaign does not include what they asked for."""
    sentence = ROLE_TOO_SMALL.format(campaign)
    return refuse(request, 403, "Your role does not allow it", sentence)


def refuse_account(request: HttpRequest, permission: str) -> HttpResponse:
    """For what no role includes."""
    sentence = f"Your account can't do this. Ask an administrator for the permission {permission}."
    return refuse(request, 403, "Not allowed", sentence)


def permitted(request: HttpRequest, permission: str, campaign: Campaign | None = None) -> bool:
    """Whether the reader has a permission: everywhere, or at least in the campaign."""
    return bool(request.user.has_perm(permission, campaign))


def staff_page(view: View) -> View:
    """For the people who run campaigns."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        if not request.user.is_staff:
            return refuse(request, 403, "For the staff", FOR_THE_STAFF)
        return view(request, *args, **kwargs)

    return cast(View, guarded)


def dashboard_page(view: View) -> View:
    """For people who have a part in any campaign, or may create one."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        if not may_enter(request.user):
            return refuse(request, 403, "For the staff", FOR_THE_STAFF)
        return view(request, *args, **kwargs)

    return cast(View, guarded)


def campaign_page(permission: str = VIEW) -> Callable[[View], View]:
    """For people who may do this in the campaign; the view gets the campaign in place of its name.

    A campaign that the reader may not even see does not exist for them.
    """

    def decorated(view: View) -> View:
        @dashboard_page
        @wraps(view)
        def guarded(request: HttpRequest, name: str, **kwargs: object) -> HttpResponse:
            campaigns = visible_campaigns(request.user).select_related("query_set__corpus")
            campaign = get_object_or_404(campaigns, name=name)
            also_about(campaign=campaign)
            if not request.user.has_perm(permission, campaign):
                return refuse_role(request, campaign)
            return view(request, campaign, **kwargs)

        return guarded

    return decorated


def member_page(view: View) -> View:
    """For active members of the in-house crowd: the view finds the reader's in request.member."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        member = member_of(request.user)
        if member is None:
            sentence = RUNS_CAMPAIGNS if may_enter(request.user) else NO_MEMBER
            return refuse(request, 403, "For members", sentence)
        if not member.active and not member.is_of_team:
            return refuse(request, 403, "No further tasks", NO_FURTHER_PART)
        if not member.active:
            sentence = (
                "Your membership has been ended by the people who run this site: work that was"
                f" approved stays so. {whom_to_write_to(INHOUSE)}"
            )
            return refuse(request, 403, "Your membership has ended", sentence)
        asked = cast(MemberRequest, request)
        asked.member = member
        return view(asked, *args, **kwargs)

    return cast(View, guarded)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's own page speaks to developers, and `reason` too."""
    if "X-Amz-Target" in request.headers:
        return JsonResponse({"__type": "NoEndpoint", "message": NO_ENDPOINT}, status=404)
    sentence = STALE_TO_SCRIPTS if wants_json(request) else STALE
    return refuse(request, 403, "This page is out of date", sentence)


def to_sign_in(request: HttpRequest) -> HttpResponse:
    if wants_json(request):
        answer = {"error": SIGNED_OUT, "sign_in": settings.LOGIN_URL}
        return JsonResponse(answer, status=403)
    if "HX-Request" in request.headers:  # a part of a page: the whole of it leads to the form
        return HttpResponse(status=403, headers={"HX-Refresh": "true"})
    if request.method in {"GET", "HEAD"}:
        return redirect_to_login(request.get_full_path())
    # The way back is taken by GET, which an address that only takes forms does not answer.
    return redirect(settings.LOGIN_URL)
