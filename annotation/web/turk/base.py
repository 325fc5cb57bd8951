"""What the worker's pages of the site's Turk have in common."""

from collections.abc import Mapping
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.question.answers import Fields
from annotation.crowd.turk.stores import Environment
from annotation.crowd.turk.workers import TurkWorker
from annotation.web.base.guards import MemberRequest, View, member_page, refuse
from annotation.web.base.middleware import CONTENT_SECURITY_POLICY

PAGE_SIZE = 50
TITLE = "This is not possible"
FOR_THE_TEAM = "These HITs are for members of the team, and a panel has sent you here."
# The question, its pictures and sounds may come from anywhere.
QUESTION_POLICY = "; ".join(
    [
        CONTENT_SECURITY_POLICY.replace("img-src 'self'", "img-src http: https:"),
        "media-src http: https:",
        "frame-src http: https:",
    ]
)


class TurkRequest(MemberRequest):
    worker: TurkWorker


def worker_page(view: View) -> View:
    """For active members of the team; the view finds the reader in request.worker."""

    @member_page
    @wraps(view)
    def guarded(request: TurkRequest, environment: Environment, **kwargs: str) -> HttpResponse:
        if not request.member.is_of_team:
            return refuse(request, 403, "For the team", FOR_THE_TEAM)
        try:
            request.worker = TurkWorker(request.member, environment)
            return view(request, **kwargs)
        except Refused as refused:
            return refuse(request, refused.status, TITLE, str(refused))

    return guarded


def posted_fields(request: HttpRequest) -> Fields:
    return [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in ("", "assignmentId", "csrfmiddlewaretoken")
    ]


def has_words(request: HttpRequest, text: str) -> bool:
    """All that the reader searches for."""
    folded = text.casefold()
    return all(word in folded for word in request.GET.get("q", "").casefold().split())


def render_page(
    request: TurkRequest, name: str, content: Mapping[str, object], *, status: int = 200
) -> HttpResponse:
    environment = request.worker.environment
    others = [one for one in Environment if one != environment]
    whole = {
        "environment": environment,
        "is_sandbox": environment == Environment.SANDBOX,
        "worker_id": request.worker.worker_id,
        "elsewhere": reverse("turk-hits", args=others),
        **content,
    }
    return render(request, f"annotation/turk/{name}.html", whole, status=status)
