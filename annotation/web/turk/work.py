"""The worker's side of the site's Turk: find HITs, try, accept, do and return them."""

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.question import html_page
from annotation.crowd.emulator.state.assignments import AlreadySubmitted, WrongAnswers
from annotation.crowd.turk.earnings import earnings_of
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.turk.workers import Group, Question, TurkWorker, html_question, submit
from annotation.crowd.wire.session import Row
from annotation.web.base.guards import refuse
from annotation.web.base.middleware import CONTENT_SECURITY_POLICY
from annotation.web.turk.base import (
    PAGE_SIZE,
    QUESTION_POLICY,
    TurkRequest,
    has_words,
    posted_fields,
    render_page,
    worker_page,
)

SORTS: dict[str, Callable[[Group], float]] = {
    "newest": lambda group: -group.newest,
    "reward": lambda group: -group.cents,
}
NONE_LEFT = "No HIT of this group is left for you."
NO_GROUP = "Its requester has deleted it, or the link is of another site."
NO_MORE = "You have done all HITs of this kind that you can. Thank you!"
# A page in the question's frame, which may itself hold frames; it says nothing about anybody.
SUBMITTED_POLICY = CONTENT_SECURITY_POLICY.replace(
    "frame-ancestors 'none'", "frame-ancestors http: https:"
)

LEAVING = {"ExternalQuestion", "QuestionForm"}  # whose frames may be left by a link


@require_safe
@worker_page
def turk_hits(request: TurkRequest) -> HttpResponse:
    worker = request.worker
    sort = request.GET.get("sort", "")
    groups = [group for group in worker.groups() if has_words(request, _text(group))]
    groups.sort(key=SORTS.get(sort, SORTS["newest"]))
    pages = Paginator(groups, PAGE_SIZE)
    content = {
        "in_hand": worker.in_hand(),
        "messages_of_requesters": worker.messages(),
        "groups": pages.get_page(request.GET.get("page")),
        "search": request.GET.get("q", ""),
        "sort": sort if sort in SORTS else "newest",
    }
    return render_page(request, "hits", content)


@require_safe
@worker_page
def turk_group(request: TurkRequest, group_id: str = "") -> HttpResponse:
    """Where programs for Amazon's site link to. Such a link names no environment."""
    group_id = group_id or request.GET.get("groupId", "")
    for worker in (request.worker, TurkWorker(request.member, Environment.SANDBOX)):
        if group := worker.find_group(group_id):
            requester, hit_id = group
            if hit_id:
                return redirect("turk-hit", worker.environment, requester, hit_id)
            messages.info(request, NONE_LEFT)
            return redirect("turk-hits", worker.environment)
    return refuse(request, 404, "There is no such group of HITs", NO_GROUP)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def turk_hit(request: TurkRequest, requester: str, hit_id: str) -> HttpResponse:
    """A preview; a POST accepts an assignment."""
    if request.method != "POST":
        site = _site(request.worker.environment, requester)
        return _question(request, requester, request.worker.preview(requester, hit_id, site=site))
    assignment_id = request.worker.accept(requester, hit_id)
    return redirect("turk-assignment", request.worker.environment, requester, assignment_id)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def turk_assignment(request: TurkRequest, requester: str, assignment_id: str) -> HttpResponse:
    """The question; a POST returns the assignment, or submits the form that is on our page."""
    try:
        return _assignment(request, requester, assignment_id)
    except AlreadySubmitted as error:
        content = {"requester": requester, "assignment": error.assignment}
        return render_page(request, "already_submitted", content, status=error.status)


def _assignment(request: TurkRequest, requester: str, assignment_id: str) -> HttpResponse:
    worker, site = request.worker, _site(request.worker.environment, requester)
    if "return" in request.POST:
        worker.give_back(requester, assignment_id)
        messages.info(request, "Returned: somebody else gets it.")
        return redirect("turk-hits", worker.environment)
    wrong = None
    if request.method == "POST":
        fields = posted_fields(request)
        try:
            hit_id = worker.submit(requester, assignment_id, fields)
        except WrongAnswers as error:
            wrong = fields, error.faults
        else:
            return redirect("turk-next", worker.environment, requester, hit_id)
    question = worker.question(requester, assignment_id, site=site, wrong=wrong)
    return _question(request, requester, question, status=400 if wrong else 200)


@require_safe
@worker_page
def turk_next(request: TurkRequest, requester: str, hit_id: str) -> HttpResponse:
    following = request.worker.next_hit(requester, hit_id)
    if following is None:
        messages.info(request, NO_MORE)
        return redirect("turk-hits", request.worker.environment)
    return redirect("turk-hit", request.worker.environment, requester, following)


@require_safe
@worker_page
def turk_earnings(request: TurkRequest) -> HttpResponse:
    earned = earnings_of(request.worker.worker_id, request.worker.environment)
    totals = {name: earned.total(name) for name in ("reward_cents", "bonus_cents", "pending_cents")}
    return render_page(request, "earnings", {"earnings": earned, **totals})


@csrf_exempt
@require_POST
@xframe_options_exempt
def external_submit(request: HttpRequest, environment: Environment, requester: str) -> HttpResponse:
    """From a question's own site, so without a session: the assignment's id is the authority."""
    account = RequesterAccount.objects.filter(name=requester).first()
    content: dict[str, object] = {"environment": environment, "requester": requester}
    status = 200
    try:
        if account is None:
            raise Refused(404, "There is no such requester.")
        assignment_id = request.POST.get("assignmentId", "")
        assignment = submit(store_of(account, environment), assignment_id, posted_fields(request))
        content |= _way_on(assignment)
    except AlreadySubmitted as error:
        status = error.status
        content |= {"is_repeated": True, **_way_on(error.assignment)}
    except Refused as refused:
        status = refused.status
        content["refusal"] = str(refused)
    response = render(request, "annotation/turk/submitted.html", content, status=status)
    response["Content-Security-Policy"] = SUBMITTED_POLICY
    return response


@require_safe
@xframe_options_exempt
def html_question_page(
    request: HttpRequest, environment: Environment, requester: str, hit_id: str
) -> HttpResponse:
    """In an origin of its own, whoever opens it and wherever."""
    account = get_object_or_404(RequesterAccount, name=requester)
    try:
        text = html_question(store_of(account, environment), hit_id)
    except Refused as refused:
        raise Http404 from refused
    page = html_page.page(
        text,
        submit_url=_site(environment, requester) + "/mturk/externalSubmit",
        script_url=f"{settings.PUBLIC_URL}{reverse('external-hit-script')}",
    )
    return HttpResponse(page, headers=html_page.HEADERS)


@require_safe
def external_hit_script(request: HttpRequest) -> HttpResponse:
    headers = {"Cross-Origin-Resource-Policy": "cross-origin"}
    return HttpResponse(html_page.EXTERNAL_HIT, content_type="text/javascript", headers=headers)


def _site(environment: Environment, requester: str) -> str:
    """Where the pages of questions send their answers: `/mturk/externalSubmit` below it."""
    return f"{settings.PUBLIC_URL}/turk/{environment}/{requester}"


def _way_on(assignment: Row) -> dict[str, object]:
    return {"hit_id": assignment["hit_id"], "may_leave": assignment["kind"] in LEAVING}


def _text(group: Group) -> str:
    return f"{group.title} {group.description} {group.keywords} {group.requester}"


def _question(
    request: TurkRequest, requester: str, question: Question, *, status: int = 200
) -> HttpResponse:
    content = {"question": question, "requester": requester}
    response = render_page(request, "question", content, status=status)
    response["Content-Security-Policy"] = QUESTION_POLICY
    return response
