"""The qualification test: a worker judges items whose answers are known, and learns why."""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access.throttle import Limit, TooMany, address_of, attempt
from annotation.analytics.quality.text_diff import Part, as_judged
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import CrowdError
from annotation.crowd.qualification_url import read_qualification_test_url
from annotation.crowd.worker_notices import whom_to_write_to, why_excluded
from annotation.models import Campaign, QualificationItem, QualificationResult
from annotation.pipeline.collecting.review import FIELD
from annotation.pipeline.manual.qualification import (
    OtherItems,
    check_open,
    exclusion_of,
    grant_at_once,
    items_of_try,
    take_test,
    tries_of,
)
from annotation.protocol.screening.qualification import TRIES, least_right
from annotation.web.annotator.judging_context import REPORT_LENGTH, WorkerItem
from annotation.web.base.guards import MemberRequest, member_page, refuse
from annotation.web.base.markdown import render_markdown
from core.errors import UserError

_WORKER_ID = re.compile(r"A[A-Z0-9]{1,63}")
POSITION = re.compile(r"[0-9]{1,3}")
TITLE = "Qualification test"
NO_ROUND = (
    "There is no qualification test at this address: open it from a task's page or list again."
)
BAD_ID = "This is no worker id. It is an A and capital letters and digits, as on your dashboard."
NO_ID = "Please give your worker id: it is how the crowd knows whom to let in."

# Ten workers of one address at all of their tries; nobody proves the id that they claim.
FROM_AN_ADDRESS = Limit(
    "qualification-test",
    30,
    60,
    "This test was tried 30 times from your address within an hour: please come back in an hour."
    " Nothing was counted.",
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TestPage:
    """A campaign's test for one worker. No id: nobody has said yet who takes it."""

    campaign: Campaign
    worker_id: str = ""
    typed: str = ""  # what is no id

    @cached_property
    def before(self) -> list[QualificationResult]:
        """The tries before this one."""
        return list(tries_of(self.campaign, self.worker_id))

    @cached_property
    def items(self) -> list[QualificationItem]:
        return items_of_try(self.campaign, len(self.before))

    @property
    def has_account(self) -> bool:
        return self.campaign.policy.crowd_traits.has_accounts


@dataclass(frozen=True)
class AnsweredItem:
    """One item as it was answered; `why` and `expected` are shown with the feedback alone."""

    number: int
    key: str
    query: list[Part]
    question: list[Part]
    answer: str
    expected: int
    why: str
    given: int | None

    @property
    def is_right(self) -> bool:
        return self.given == self.expected


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def qualification_test(request: HttpRequest, signed: str) -> HttpResponse:
    response = _answer(request, signed)
    # Opened from the crowd's frame, a tab inherits its sandbox: browsers show no page in it that
    # asks for a group of its own.
    response["Cross-Origin-Opener-Policy"] = "unsafe-none"
    return response


def _answer(request: HttpRequest, signed: str) -> HttpResponse:
    campaign = _campaign(signed)
    if campaign is None or not campaign.qualification_items.exists():
        return refuse(request, 404, "No such qualification test", NO_ROUND)
    try:
        check_open(campaign)
    except UserError as error:
        return refuse(request, 409, TITLE, str(error))
    here = TestPage(campaign)
    return _for_member(request, here) if here.has_account else _for_claimed(request, here)


def _campaign(signed: str) -> Campaign | None:
    try:
        return Campaign.objects.filter(uid=read_qualification_test_url(signed)).first()
    except BadSignature:
        return None


@member_page
def _for_member(request: MemberRequest, here: TestPage) -> HttpResponse:
    return _round(request, replace(here, worker_id=request.member.worker_id))


def _for_claimed(request: HttpRequest, here: TestPage) -> HttpResponse:
    """The id is claimed, not proven. Who passes in another's name gives them what they could have
    had themselves and gains nothing: a control that is missed counts against its own worker all
    the same. Who fails in another's name must know that id, which only requesters learn.
    """
    sent = request.POST if request.method == "POST" else request.GET
    claimed = sent.get("workerId", "").strip().upper()
    if claimed and not _WORKER_ID.fullmatch(claimed):
        return _form(request, replace(here, typed=claimed[:64]), status=422)
    return _round(request, replace(here, worker_id=claimed))


def _round(request: HttpRequest, here: TestPage) -> HttpResponse:
    if exclusion := exclusion_of(here.campaign, here.worker_id):
        return refuse(request, 403, "Not open to you", " ".join(why_excluded(exclusion)))
    if request.method == "POST":
        return _take(request, here)
    if here.before and (here.before[-1].passed or len(here.before) >= TRIES):
        return _outcome(request, here, here.before[-1], feedback=False)
    return _form(request, here)


def _take(request: HttpRequest, here: TestPage) -> HttpResponse:
    answers = _answers(request)
    if not here.worker_id or not _may_be_taken(here, answers):
        return _form(request, here, status=422)
    try:
        if not here.has_account:
            attempt([FROM_AN_ADDRESS.of(address_of(request))])
        result = take_test(here.campaign, here.worker_id, answers)
    except OtherItems:  # another tab was quicker
        return _form(request, replace(here), status=422)
    except TooMany as error:
        return refuse(request, 429, TITLE, str(error))
    except UserError as error:
        return refuse(request, 503, TITLE, str(error))
    if result is None:
        last = tries_of(here.campaign, here.worker_id).last()
        assert last is not None
        return _outcome(request, here, last, feedback=False)
    if result.passed and here.has_account:
        _open_queue(result)
    return _outcome(request, here, result, feedback=True)


def _open_queue(result: QualificationResult) -> None:
    try:
        grant_at_once(result, open_crowd(result.campaign.policy.crowd, live=True))
    except CrowdError:
        log.warning("%s waits for the next pass to be let in", result.worker, exc_info=True)


def _may_be_taken(here: TestPage, answers: dict[int, int]) -> bool:
    """All items of this try, or an earlier try that is sent once more: the pipeline knows it."""
    given = {str(position): value for position, value in answers.items()}
    is_whole = answers.keys() == {item.position for item in here.items}
    return is_whole or any(one.answers == given for one in here.before)


def _answers(request: HttpRequest) -> dict[int, int]:
    """Position -> 0 or 1; anything else that a browser may have sent is no answer."""
    sent = {name.removeprefix(FIELD): value for name, value in request.POST.items()}
    return {
        int(position): int(value)
        for position, value in sent.items()
        if POSITION.fullmatch(position) and value in ("0", "1")
    }


def _items(
    here: TestPage, items: Iterable[QualificationItem], given: dict[int, int]
) -> list[AnsweredItem]:
    return [
        _answered(here, number, item, given.get(item.position))
        for number, item in enumerate(items, start=1)
    ]


def _answered(
    here: TestPage, number: int, item: QualificationItem, given: int | None
) -> AnsweredItem:
    policy = here.campaign.policy
    query, question = as_judged(item.query, item.question, marked=policy.mark_differences)
    return AnsweredItem(
        number=number,
        key=str(item.position),
        query=query,
        question=question,
        answer=item.answer if policy.show_answer else "",
        expected=item.expected,
        why=item.why,
        given=given,
    )


def _form(request: HttpRequest, here: TestPage, *, status: int = 200) -> HttpResponse:
    answers = _answers(request)
    items = _items(here, here.items, answers)
    is_sent = request.method == "POST"
    number = len(here.before) + 1
    context = _context(here) | {
        "items": [_to_judge(item) for item in items],
        "show_answer": all(item.answer.strip() for item in items),
        "instructions": render_markdown(here.campaign.instructions.latest("version").text),
        "id_fault": _id_fault(here, is_sent=is_sent),
        "missing": [item for item in items if item.given is None] if is_sent else [],
        "is_of_another_try": not answers.keys() <= {item.position for item in here.items},
        "number": number,
        "attempt": f"test {here.campaign.uid} {here.worker_id} {number}{' again' * is_sent}",
        "reasons": (),
        "report_length": REPORT_LENGTH,
    }
    return render(request, "annotation/annotator/qualification_test.html", context, status=status)


def _to_judge(item: AnsweredItem) -> WorkerItem:
    """As the judging page has it."""
    return WorkerItem(
        key=item.key,
        query=item.query,
        question=item.question,
        answer=item.answer,
        folds_query=False,
        folds_question=False,
        folds_answer=False,
        given="" if item.given is None else str(item.given),
    )


def _id_fault(here: TestPage, *, is_sent: bool) -> str:
    if here.typed:
        return BAD_ID
    return NO_ID if is_sent and not here.worker_id else ""


def _outcome(
    request: HttpRequest, here: TestPage, result: QualificationResult, *, feedback: bool
) -> HttpResponse:
    given = {int(position): value for position, value in result.answers.items()}
    left = TRIES - tries_of(here.campaign, here.worker_id).count()
    asked = here.campaign.qualification_items.filter(position__in=given).order_by("position")
    context = _context(here) | {
        "result": result,
        "items": _items(here, asked, given) if feedback else [],
        "left": left,
        "are_others": not given.keys()
        & {one.position for one in items_of_try(here.campaign, TRIES - left)},
        "contact": whom_to_write_to(here.campaign.policy.crowd_traits),
    }
    return render(request, "annotation/annotator/qualification_result.html", context)


def _context(here: TestPage) -> dict[str, object]:
    percent = here.campaign.policy.qualification_pass_percent
    count = here.campaign.policy.qualification_items
    return {
        "task": here.campaign.policy.task_type,
        "has_account": here.has_account,
        "worker_id": here.worker_id or here.typed,
        "count": count,
        "least": least_right(count, percent),
        "tries": TRIES,
    }
