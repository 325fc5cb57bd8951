"""The page of a HIT inside the crowd's frame: an ExternalQuestion."""

from collections.abc import Sequence

from django.conf import settings
from django.core.signing import BadSignature
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from annotation.crowd.hit_url import BadVisit, Visit, read_hit_key, read_visit
from annotation.crowd.mturk.endpoints import (
    MTURK_SANDBOX_SITE,
    MTURK_SITE,
    SUBMIT_PATH,
    site_of,
    spellings,
)
from annotation.models import Assignment, Campaign, Hit
from annotation.web.annotator.eligibility import NOT_OPEN, RETURN_IT, hit_of, why_not
from annotation.web.annotator.judging_context import judging_context
from annotation.web.base.middleware import AWAY_SECONDS

# Where Amazon's workers and requesters see our page, and where a submit may lead them on to.
_MTURK_SITES = (
    MTURK_SITE,
    MTURK_SANDBOX_SITE,
    "https://worker.mturk.com",
    "https://requester.mturk.com",
    "https://requestersandbox.mturk.com",
)


@require_safe
@xframe_options_exempt
def hit_page(request: HttpRequest, signed: str) -> HttpResponse:
    """The ExternalQuestion: reads, never writes; the crowd's record is the source of votes."""
    try:
        return _answer(request, signed)
    except (OperationalError, InterfaceError):
        sentence = (
            "The site is unavailable for a moment: keep the task open and reload it in a minute."
        )
        away = _refusal(503, "Away for a moment", [sentence])
        away["Retry-After"] = str(AWAY_SECONDS)
        return away


def _answer(request: HttpRequest, signed: str) -> HttpResponse:
    hit = _find_hit(signed)
    if hit is None:
        sentence = "There is no task at this address. Please return it and take another one."
        return _refusal(404, "No such task", [sentence])
    try:
        visit = read_visit(request.GET)
    except BadVisit as error:
        return _refusal(400, "This page cannot be shown", [str(error)])
    response = _why_not(hit, visit) or _hit_form(hit, visit)
    if not visit.assignment_id:
        # A preview has no form: people who plan the campaign see it within the dashboard too.
        response["Content-Security-Policy"] += " 'self'"
    return response


def _find_hit(signed: str) -> Hit | None:
    try:
        return hit_of(read_hit_key(signed))
    except BadSignature:
        return None


def _why_not(hit: Hit, visit: Visit) -> HttpResponse | None:
    """Said before the work: afterwards it would have been for nothing."""
    if _is_submitted(hit, visit):
        sentence = (
            "Your answers have arrived, and nothing is left to do here: continue with another task."
        )
        return _refusal(409, "This task is submitted", [sentence], done=visit.assignment_id)
    if hit.closed_at or hit.gone or (_is_cancelled(hit) and not visit.assignment_id):
        return _refusal(410, "This task is over", ["It takes no more answers.", RETURN_IT])
    # The worker's id is only claimed: a lie excludes nobody but the liar.
    if not (visit.assignment_id and visit.worker_id):
        return None
    if sentences := why_not(hit, visit.worker_id):
        return _refusal(403, NOT_OPEN, sentences)
    return None


def _is_submitted(hit: Hit, visit: Visit) -> bool:
    if not visit.assignment_id:
        return False
    return Assignment.objects.filter(hit=hit, crowd_id=visit.assignment_id).exists()


def _is_cancelled(hit: Hit) -> bool:
    return hit.campaign.state == Campaign.State.CANCELLED


def _hit_form(hit: Hit, visit: Visit) -> HttpResponse:
    context = judging_context(hit, assignment_id=visit.assignment_id, worker_id=visit.worker_id) | {
        "member_page": False,
        "team": hit.campaign.policy.crowd_traits.has_accounts,
        "action": visit.submit_origin + SUBMIT_PATH,
        # What is in hand is still paid: to refuse it now would waste the work begun.
        "cancelled": _is_cancelled(hit),
    }
    page = render_to_string("annotation/judging/judging.html", context)
    return _framed(HttpResponse(page), submit_origin=visit.submit_origin)


def _refusal(status: int, title: str, sentences: Sequence[str], *, done: str = "") -> HttpResponse:
    """`done`: the assignment whose answers the browser need not keep any longer."""
    context = {"title": title, "sentences": sentences, "done": done}
    page = render_to_string("annotation/annotator/refusal.html", context)
    return _framed(HttpResponse(page, status=status), submit_origin=None)


def _framed(response: HttpResponse, *, submit_origin: str | None) -> HttpResponse:
    """Headers of a page in the crowd's frame: it loads our own files and posts to the crowd."""
    frames = (*_MTURK_SITES, *spellings(site_of(settings.MTURK_ENDPOINT)))
    targets = [submit_origin] if submit_origin else ["'none'"]
    if submit_origin in _MTURK_SITES:
        # A browser applies form-action to the redirects after the submit too.
        targets += [site for site in _MTURK_SITES if site != submit_origin]
    response["Content-Security-Policy"] = "; ".join(
        [
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            f"form-action {' '.join(targets)}",
            f"frame-ancestors {' '.join(frames)}",  # the last: a preview adds to it
        ]
    )
    # The address names the worker: the crowd learns our origin, nobody else anything.
    response["Referrer-Policy"] = "strict-origin"
    response["Cache-Control"] = "no-store"
    return response
