"""The worker's qualifications at the site's Turk: find, ask for, and be tested for them."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from annotation.crowd.emulator.state.assignments import WrongAnswers
from annotation.crowd.turk.qualifications import (
    Qualification,
    ask,
    open_test,
    qualification,
    qualifications_of,
    submit_test,
)
from annotation.web.turk.base import (
    PAGE_SIZE,
    QUESTION_POLICY,
    TurkRequest,
    has_words,
    posted_fields,
    render_page,
    worker_page,
)

GRANTED = "You have the qualification now."
PENDING = "The requester has your request now."


@require_safe
@worker_page
def turk_qualifications(request: TurkRequest) -> HttpResponse:
    known = qualifications_of(request.worker)
    others = [one for one in known if not one.is_mine and has_words(request, _text(one))]
    content = {
        "mine": [one for one in known if one.is_mine],
        "others": Paginator(others, PAGE_SIZE).get_page(request.GET.get("page")),
        "search": request.GET.get("q", ""),
    }
    return render_page(request, "qualifications", content)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def turk_qualification(request: TurkRequest, requester: str, type_id: str) -> HttpResponse:
    """A POST asks for it."""
    worker = request.worker
    if request.method != "POST":
        content = {"qualification": qualification(worker, requester, type_id)}
        return render_page(request, "qualification", content)
    asked = ask(worker, requester, type_id)
    if asked["status"] == "Started":
        request_id = asked["qualification_request_id"]
        return redirect("turk-test", worker.environment, requester, request_id)
    return _done(request, requester, type_id, asked["status"])


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def turk_test(request: TurkRequest, requester: str, request_id: str) -> HttpResponse:
    worker, wrong = request.worker, None
    if request.method == "POST":
        fields = posted_fields(request)
        try:
            done = submit_test(worker, requester, request_id, fields)
        except WrongAnswers as error:
            wrong = fields, error.faults
        else:
            return _done(request, requester, done["qualification_type_id"], done["status"])
    content = {
        "test": open_test(worker, requester, request_id, wrong=wrong),
        "requester": requester,
    }
    response = render_page(request, "test", content, status=400 if wrong else 200)
    response["Content-Security-Policy"] = QUESTION_POLICY
    return response


def _done(request: TurkRequest, requester: str, type_id: str, status: str) -> HttpResponse:
    messages.success(request, GRANTED if status == "Granted" else PENDING)
    return redirect("turk-qualification", request.worker.environment, requester, type_id)


def _text(one: Qualification) -> str:
    return f"{one.name} {one.description} {one.keywords} {one.requester}"
