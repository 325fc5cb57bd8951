"""A HIT in a member's hands: take it, judge it, submit it or give it back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.assignments import Refused
from annotation.crowd.inhouse.ids import is_id
from annotation.crowd.inhouse.models import HANDED_IN, Assignment, Queue
from annotation.crowd.inhouse.visits import is_full, open_visit
from annotation.models import Hit, HitItem
from annotation.models.campaign import policy_of
from annotation.pipeline.collecting.review import FIELD
from annotation.pipeline.controls.own_controls import hits_put_off
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.behaviour import (
    BEHAVIOUR,
    BEHAVIOUR_LENGTH,
    CANNOT_JUDGE,
    REASONS,
    REPORT,
    REPORT_TEXT,
)
from annotation.web.annotator.eligibility import (
    NOT_CHOSEN,
    NOT_OPEN,
    UNKNOWN,
    closed_queues,
    hit_of,
    queues_of_others,
    why_not_member,
)
from annotation.web.annotator.judging_context import WorkerItem, judging_context
from annotation.web.base.guards import MemberRequest, member_page, refuse
from annotation.web.base.middleware import wants_json
from core.files.prepared import TEXT, Prepared

NOTHING_LEFT = "There are no more tasks of this kind at the moment. Thank you!"
NO_KIND = "There are no tasks of this kind: start from your own page."
NOT_YOURS = "You have no such task: open it from your own page."


_SUBMITTED = Prepared(
    lambda name: Assignment.objects.filter(assignment_id=name).values_list(
        "member_id", "status", "posted_hit__annotation", "posted_hit__queue__queue_id"
    ),
    TEXT,
)
_ITEMS = Prepared(
    lambda hit: (
        HitItem.objects.filter(hit__key=hit)
        .order_by("position")
        .values_list("key", "hit__campaign__policy_data")
    ),
    TEXT,
)


class SeeOther(HttpResponseRedirect):
    """After a form: the answer lies at another address, to be read there."""

    status_code = 303


@require_POST
@member_page
def take_next(request: MemberRequest) -> HttpResponse:
    queue_id = request.POST.get("hit_type", "")
    if queue_id and not is_id(queue_id):
        return refuse(request, 404, "No such tasks", NO_KIND)
    return SeeOther(go_on(request, queue_id=queue_id))


@require_http_methods(["GET", "HEAD", "POST"])
@member_page
def assignment(request: MemberRequest, assignment_id: str) -> HttpResponse:
    """The page of a HIT; a POST submits its answers and goes on to the next one."""
    try:
        if request.method == "POST":
            return _submit(request, assignment_id)
        assignment = assignments.revive(request.member, assignment_id, now=timezone.now())
    except Refused as refused:
        return _over(request, refused)
    hit = hit_of(assignment.posted_hit.annotation)
    if (sentences := why_not_member(request.member, hit)) or hit is None:
        return _not_open(request, assignment, sentences)
    return _page(request, assignment, hit)


@require_POST
@member_page
def give_back(request: MemberRequest, assignment_id: str) -> HttpResponse:
    """Skip it: somebody else gets it."""
    now = timezone.now()
    try:
        assignment = _own(request, assignment_id)
        assignments.give_back(request.member, assignment_id, now=now)
    except Refused as refused:
        return _over(request, refused)
    queue_id = assignment.posted_hit.queue.queue_id
    return SeeOther(go_on(request, queue_id=queue_id, skipped=assignment.posted_hit_id))


@require_POST
@member_page
def renew(request: MemberRequest, assignment_id: str) -> JsonResponse:
    """More time for who is still at it."""
    now = timezone.now()
    try:
        deadline = assignments.renew(request.member, assignment_id, now=now)
    except Refused as refused:
        return JsonResponse({"error": str(refused)}, status=refused.status)
    return JsonResponse({"seconds": int((deadline - now).total_seconds())})


def _submit(request: MemberRequest, assignment_id: str) -> HttpResponse:
    """What was submitted before stays as it was, and is success. Raises Refused."""
    now = timezone.now()
    mine = _SUBMITTED.rows(assignment_id)
    if not mine or mine[0][0] != request.member.pk:
        raise Refused(404, NOT_YOURS)
    _, status, hit_key, queue_id = mine[0]
    items = _ITEMS.rows(hit_key)
    if not items:
        raise Refused(409, UNKNOWN)
    keys = [key for key, _ in items]
    sheet = _sheet(request.POST, keys, policy_of(json.loads(items[0][1])))
    if (fault := _lacking(sheet, keys)) and status not in HANDED_IN:
        if (hit := hit_of(hit_key)) is None:
            raise Refused(409, UNKNOWN)
        assignment = assignments.revive(request.member, assignment_id, now=now)
        return _incomplete(request, assignment, hit, fault)
    assignments.submit(request.member, assignment_id, sheet, now=now)
    goal = go_on(request, queue_id=queue_id)
    return JsonResponse({"next": goal}) if wants_json(request) else SeeOther(goal)


def _own(request: MemberRequest, assignment_id: str) -> Assignment:
    """Raises Refused."""
    mine = Assignment.objects.select_related("posted_hit__queue").filter(member=request.member)
    if (assignment := mine.filter(assignment_id=assignment_id).first()) is None:
        raise Refused(404, NOT_YOURS)
    return assignment


def _sheet(sent: Mapping[str, str], keys: Sequence[str], policy: Policy) -> dict[str, str]:
    """The fields that the page has; what a browser adds to them stays outside."""
    items = {FIELD + key: sent.get(FIELD + key, "") for key in keys}
    names = [BEHAVIOUR, *(prefix + key for key in keys for prefix in (REPORT, REPORT_TEXT))]
    rest = {name: sent.get(name, "")[:BEHAVIOUR_LENGTH] for name in names}
    answers = {"0", "1", *([CANNOT_JUDGE] if policy.cannot_judge_limit else [])}
    return {name: value for name, value in items.items() if value in answers} | {
        name: value for name, value in rest.items() if value
    }


def _lacking(sheet: Mapping[str, str], keys: Sequence[str]) -> str:
    """What is to be done before it can be submitted; empty: nothing."""
    unanswered, unexplained = [], []
    for number, key in enumerate(keys, start=1):
        given = sheet.get(FIELD + key)
        if given is None:
            unanswered.append(number)
        elif given == CANNOT_JUDGE and sheet.get(REPORT + key) not in REASONS:
            unexplained.append(number)
    sentences = []
    if unanswered:
        sentences.append(f"No answer yet to item {_listed(unanswered)}: choose one for each")
    if unexplained:
        sentences.append(f"No reason yet for item {_listed(unexplained)}: say why you can't judge")
    return f"{'. '.join(sentences)}, then submit again." if sentences else ""


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def go_on(request: MemberRequest, *, queue_id: str, skipped: int | None = None) -> str:
    """Takes the next HIT; where to find it, or the personal page when there is none."""
    now = timezone.now()
    if (visit := open_visit(request.member, queue_id)) and is_full(visit):
        return reverse("visit", args=[visit.pk])
    assignment = assignments.take(
        request.member,
        hit_type=queue_id,
        closed=closed_queues(request.member),
        avoided=hits_put_off(request.member),
        now=now,
    )
    if assignment is not None and assignment.posted_hit_id == skipped:  # the crowd has nothing else
        assignments.give_back(request.member, assignment.assignment_id, now=now)
        assignment = None
    if assignment is None and not request.member.is_of_team:
        return reverse("visit", args=[visit.pk]) if visit else reverse("work")
    if assignment is None:
        others = queues_of_others(request.member)
        is_closed = Queue.objects.filter(queue_id=queue_id, pk__in=others).exists()
        messages.info(request, NOT_CHOSEN if is_closed else NOTHING_LEFT)
        return reverse("work")
    return reverse("assignment", args=[assignment.assignment_id])


def _page(
    request: MemberRequest, assignment: Assignment, hit: Hit, *, fault: str = "", status: int = 200
) -> HttpResponse:
    """The judging page, with the answers that were sent where something is wrong with them."""
    key = [assignment.assignment_id]
    context = judging_context(
        hit, assignment_id=assignment.assignment_id, worker_id=request.member.worker_id
    )
    items = cast(list[WorkerItem], context["items"])
    context |= {
        "items": [_kept(item, request.POST) for item in items],
        "member_page": True,
        "action": reverse("assignment", args=key),
        "deadline": assignment.deadline,
        "renew_url": reverse("renew", args=key),
        "return_url": reverse("return", args=key),
        "fault": fault,
    }
    return render(request, "annotation/judging/judging.html", context, status=status)


def _kept(item: WorkerItem, sent: Mapping[str, str]) -> WorkerItem:
    return replace(
        item,
        given=sent.get(FIELD + item.key, ""),
        report=sent.get(REPORT + item.key, ""),
        report_text=sent.get(REPORT_TEXT + item.key, ""),
    )


def _incomplete(
    request: MemberRequest, assignment: Assignment, hit: Hit, sentence: str
) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": sentence}, status=422)
    return _page(request, assignment, hit, fault=sentence, status=422)


def _over(request: HttpRequest, refused: Refused) -> HttpResponse:
    """Said in place of the HIT: submitted, given back, run out, or never the reader's."""
    if wants_json(request):
        return JsonResponse({"error": str(refused)}, status=refused.status)
    words = {"title": "You no longer have this task", "sentences": [str(refused)]}
    more = {"action": reverse("next"), "button": "Take another one"}
    return render(request, "annotation/annotator/notice.html", words | more, status=refused.status)


def _not_open(
    request: MemberRequest, assignment: Assignment, sentences: Sequence[str]
) -> HttpResponse:
    action = reverse("return", args=[assignment.assignment_id])
    words = {"title": NOT_OPEN, "sentences": sentences, "action": action, "button": "Return it"}
    return render(request, "annotation/annotator/notice.html", words, status=403)
