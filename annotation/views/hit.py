"""The page of a HIT inside the crowd's frame: an ExternalQuestion."""

from dataclasses import dataclass

from django.conf import settings
from django.core.signing import BadSignature
from django.db import InterfaceError, OperationalError
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from annotation.crowd.mturk_sites import (
    MTURK_SANDBOX_SITE,
    MTURK_SITE,
    SUBMIT_PATH,
    site_of,
    spellings,
)
from annotation.hit_url import BadVisit, Visit, read_hit_key, read_visit
from annotation.markdown import render_markdown
from annotation.models import Assignment, Exclusion, Hit, HitItem

# Where Amazon's workers and requesters see our page, and where a submit may lead them on to.
_MTURK_SITES = (
    MTURK_SITE,
    MTURK_SANDBOX_SITE,
    "https://worker.mturk.com",
    "https://requester.mturk.com",
    "https://requestersandbox.mturk.com",
)

AWAY_SECONDS = 60


@dataclass(frozen=True)
class ShownItem:
    """What a worker sees of an item: nothing else of it may reach the page."""

    key: str
    query: str
    question: str
    answer: str


@require_safe
@xframe_options_exempt
def hit_page(request: HttpRequest, signed: str) -> HttpResponse:
    """The ExternalQuestion: reads, never writes; the crowd's record is the source of votes."""
    try:
        return _answer(request, signed)
    except (OperationalError, InterfaceError):
        sentence = (
            "The site is away for a moment: keep the HIT open and load this page again in a minute."
        )
        away = _refusal(503, "Away for a moment", sentence)
        away["Retry-After"] = str(AWAY_SECONDS)
        return away


def _answer(request: HttpRequest, signed: str) -> HttpResponse:
    hit = _find_hit(signed)
    if hit is None:
        sentence = "There is no HIT at this address. Please return it and take another one."
        return _refusal(404, "No such HIT", sentence)
    try:
        visit = read_visit(request.GET)
    except BadVisit as error:
        return _refusal(400, "This page cannot be shown", str(error))
    if _is_excluded(hit, visit):
        sentence = (
            "You can take no more HITs of this kind: too many of those that you handed in had"
            " missed a check question. Please return this HIT, which costs you nothing; work that"
            " was already approved stays paid."
        )
        return _refusal(403, "This HIT is not open to you", sentence)
    if _has_judged(hit, visit):
        sentence = (
            "You have judged some of these questions before, and each of them needs another pair"
            " of eyes. Please return this HIT, which costs you nothing, and take another one."
        )
        return _refusal(403, "You know these questions already", sentence)
    return _hit_form(hit, visit)


def _find_hit(signed: str) -> Hit | None:
    try:
        key = read_hit_key(signed)
        return Hit.objects.select_related("campaign", "instructions").get(key=key)
    except (BadSignature, Hit.DoesNotExist):
        return None


def _is_excluded(hit: Hit, visit: Visit) -> bool:
    # The worker's id is only claimed: a lie shuts out nobody but the liar.
    if not (visit.assignment_id and visit.worker_id):
        return False
    return Exclusion.objects.filter(
        campaign=hit.campaign_id, worker__worker_id=visit.worker_id, restored_at=None
    ).exists()


def _has_judged(hit: Hit, visit: Visit) -> bool:
    """Whether the worker has had one of the HIT's triplets before, in another HIT."""
    if not (visit.assignment_id and visit.worker_id):
        return False
    triplets = hit.items.exclude(triplet=None).values("triplet")
    others = HitItem.objects.filter(triplet__in=triplets).exclude(hit=hit)
    return Assignment.objects.filter(
        hit__in=others.values("hit"), worker__worker_id=visit.worker_id
    ).exists()


def _hit_form(hit: Hit, visit: Visit) -> HttpResponse:
    items = _items(hit)
    # An answer missing from one item alone would set it apart from the others.
    show_answer = hit.campaign.policy.show_answer and all(item.answer.strip() for item in items)
    page = render_to_string(
        "annotation/hit.html",
        {
            "items": items,
            "show_answer": show_answer,
            "instructions": render_markdown(hit.instructions.text),
            "assignment_id": visit.assignment_id,
            "action": visit.submit_origin + SUBMIT_PATH,
        },
    )
    return _framed(HttpResponse(page), submit_origin=visit.submit_origin)


def _items(hit: Hit) -> list[ShownItem]:
    """In the order of the page; one query that reads the texts alone."""
    rows = hit.items.order_by("position").values_list(
        "key",
        Coalesce("control__query", "triplet__candidate__query__text"),
        Coalesce("control__question", "triplet__candidate__pair__question"),
        Coalesce("control__answer", "triplet__candidate__pair__answer"),
    )
    return [ShownItem(*row) for row in rows]


def _refusal(status: int, title: str, sentence: str) -> HttpResponse:
    page = render_to_string("annotation/refusal.html", {"title": title, "sentence": sentence})
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
            "base-uri 'none'",
            f"form-action {' '.join(targets)}",
            f"frame-ancestors {' '.join(frames)}",
        ]
    )
    # The address names the worker: the crowd learns our origin, nobody else anything.
    response["Referrer-Policy"] = "strict-origin"
    response["Cache-Control"] = "no-store"
    return response
