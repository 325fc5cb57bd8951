"""Who comes from a panel: the page that the panel's link opens, and the one that they leave by."""

from typing import cast

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access.throttle import Limit, TooMany, address_of, attempt
from annotation.crowd.accounts import campaigns_with_accounts
from annotation.crowd.inhouse import assignments, visits
from annotation.crowd.inhouse.models import PanelLink, Visit
from annotation.crowd.inhouse.visits import PANELS
from annotation.crowd.worker_notices import whom_to_write_to, why_excluded
from annotation.models import Campaign
from annotation.pipeline.ledger.dollars import dollars
from annotation.protocol.policy.crowds import CROWDS, INHOUSE, CrowdKind
from annotation.web.annotator.inhouse_judging import go_on
from annotation.web.annotator.task_list import exclusions_of, notices_of
from annotation.web.base.guards import MemberRequest, member_page, refuse
from annotation.web.base.markdown import render_markdown
from annotation.web.base.middleware import PARTICIPANT
from core.errors import UserError

TITLE = "This link does not work"
SIGNED_IN = (
    "You are signed in as {}. To come in as a participant, open the link in a private window, or "
    "sign out first."
)
HAS_RIGHTS = "Whose link this is has an account with rights on this site: sign in to it instead."
# Each of them gets an account, and is sent by a panel: hardly a whole room in an hour.
NEW = Limit(
    "new participant",
    200,
    60,
    "Too many new participants have come from your network in the last hour: try again later.",
)
SECONDS = 24 * 3600  # that a browser stays signed in


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def panel_page(request: HttpRequest, key: str) -> HttpResponse:
    """What the study is about; a POST begins it, or goes on with it."""
    link = get_object_or_404(PanelLink.objects.select_related("queue"), key=key)
    campaign = _campaign(link)
    try:
        person = visits.person_in(link, request.GET)
        known = visits.known_visit(link, person)
        if request.user.is_authenticated and not _is_participant(request.user):
            sentence = SIGNED_IN.format(request.user)
            return refuse(request, 409, "You are signed in already", sentence)
        if request.method != "POST":
            return _welcome(request, link, campaign, known)
        if known is None:
            attempt([NEW.of(address_of(request))])
        visit = visits.arrive(link, person, now=timezone.now())
    except TooMany as error:
        return refuse(request, 429, TITLE, str(error))
    except UserError as error:
        return refuse(request, 404, TITLE, str(error))
    if has_rights(visit.member.user):
        return refuse(request, 403, TITLE, HAS_RIGHTS)
    login(request, visit.member.user, backend=settings.AUTHENTICATION_BACKENDS[0])
    request.session.set_expiry(SECONDS)
    request.session[PARTICIPANT] = True
    if visit.finished_at:
        return redirect("visit", visit.pk)
    return redirect(_first_task(request, visit))


def has_rights(user: User) -> bool:
    """Whoever knows a participant's id comes in by it: that must open nothing but tasks."""
    given = user.roles, user.groups, user.user_permissions
    rights = user.is_staff or user.is_superuser or user.has_usable_password()
    return rights or any(some.exists() for some in given)


def _first_task(request: HttpRequest, visit: Visit) -> str:
    asked = cast(MemberRequest, request)
    asked.member = visit.member
    return go_on(asked, queue_id=visit.link.queue.queue_id)


def _is_participant(user: object) -> bool:
    """Who may be somebody else by now, at a computer that many use."""
    member = getattr(user, "member", None)
    return member is not None and member.crowd != INHOUSE.kind


def _campaign(link: PanelLink) -> Campaign:
    types = link.queue.hit_types.values("type_id")
    return get_object_or_404(campaigns_with_accounts(), hit_type_id__in=types)


def _welcome(
    request: HttpRequest, link: PanelLink, campaign: Campaign, known: Visit | None
) -> HttpResponse:
    if link.closed_at and known is None:
        raise UserError("This study has closed. Return it on the panel's own page.")
    content = {
        "title": campaign.policy.title,
        "description": campaign.policy.description,
        "tasks": link.tasks,
        "items": campaign.policy.hit_size,
        "rejects": campaign.policy.on_failed_control == "reject",
        "pay": dollars(link.tasks * campaign.policy.reward_cents),
        "is_paid": campaign.policy.reward_cents > 0,
        "instructions": render_markdown(campaign.instructions.latest("version").text),
        "panel": PANELS[link.panel].title,
        "known": known,
        "whole": bool(PANELS[link.panel].session),
        "contact": whom_to_write_to(campaign.policy.crowd_traits, "To have your ID deleted"),
    }
    return render(request, "annotation/panels/arrival.html", content)


@require_http_methods(["GET", "HEAD", "POST"])
@member_page
def visit_page(request: MemberRequest, pk: int) -> HttpResponse:
    """How far a visit is, and its code; a POST ends it with what is done."""
    mine = visits.with_done(visits.visits_of(request.member))
    visit = get_object_or_404(mine, pk=pk)
    now, queue = timezone.now(), visit.link.queue
    done = visits.done_of(visit)
    left = max(0, visit.link.tasks - done.handed_in)
    has_work = queue in assignments.queues_of(request.member, now=now) and bool(
        assignments.open_queues(request.member, [queue], now=now)
    )
    # Some panels pay a visit as a whole: then it is over when it is full, or nothing is left.
    may_stop = not (PANELS[visit.link.panel].session and has_work)
    over = not left or (may_stop and request.method == "POST")
    if not visit.finished_at and over and visits.finish(visit, now=now):
        return redirect("visit", visit.pk)
    content = {
        "visit": visit,
        "title": queue.title,
        "panel": PANELS[visit.link.panel].title,
        "done": done,
        "left": left,
        "in_hand": assignments.in_hand(request.member, now=now),
        "has_work": has_work,
        "may_stop": may_stop,
        "way_back": visits.way_back(visit) if visit.finished_at else "",
        "reasons": [why_excluded(one) for one in exclusions_of(request.member)],
        "notices": notices_of(request.member),
        "contact": whom_to_write_to(
            CROWDS[cast(CrowdKind, request.member.crowd)], "If you have a question"
        ),
    }
    return render(request, "annotation/panels/visit.html", content)
