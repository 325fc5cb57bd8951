"""Who comes from a panel: the page that the panel's link opens, and the one that they leave by."""

import logging
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
from annotation.crowd.factory import studies_of
from annotation.crowd.inhouse import assignments, visits
from annotation.crowd.inhouse.models import PanelLink, Visit
from annotation.crowd.inhouse.visits import Done, Person
from annotation.crowd.port import CrowdError, NotSent, Terms
from annotation.crowd.worker_notices import whom_to_write_to, why_excluded
from annotation.models import Campaign
from annotation.pipeline.ledger.pay import pay_an_hour
from annotation.protocol.policy.panels import PANELS
from annotation.protocol.policy.policy import Policy
from annotation.web.annotator.inhouse_judging import go_on
from annotation.web.annotator.judging_context import kept_in
from annotation.web.annotator.task_list import exclusions_of, notices_of
from annotation.web.base.guards import MemberRequest, member_page, refuse
from annotation.web.base.markdown import render_markdown
from annotation.web.base.middleware import PARTICIPANT
from core.errors import UserError
from core.text.money import money

TITLE = "This link does not work"
VISIT = "annotation/panels/visit.html"
SIGNED_IN = (
    "You are signed in as {}. To come in as a participant, open the link in a private window, or "
    "sign out first."
)
HAS_RIGHTS = "Whose link this is has an account with rights on this site: sign in to it instead."
# The ids of some panels are short numbers, and a known one opens its person's tasks and code: who
# tries them out is slowed down, whichever of them exist. Hardly a whole room comes in an hour.
ARRIVALS = Limit(
    "participant",
    200,
    60,
    "Too many participants have come from your network in the last hour: try again later.",
)
SECONDS = 24 * 3600  # that a browser stays signed in
SENT = "sent"  # in the session: whom the panel has sent, by which link
NOT_SENT = "{0} has not sent you by this link, or too long ago. Open the study from {0}'s own page."
CANNOT_TELL = (
    "Whether {0} sent you cannot be checked at the moment. Nothing is lost: open the study from "
    "{0}'s page again in a minute."
)

log = logging.getLogger(__name__)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def panel_page(request: HttpRequest, key: str) -> HttpResponse:
    """What the study is about; a POST begins it, or goes on with it."""
    link = get_object_or_404(PanelLink.objects.select_related("queue"), key=key)
    campaign, panel = _campaign(link), PANELS[link.panel].title
    try:
        person = visits.person_in(link, request.GET)
        _check_arrival(request, link, person)
        known = visits.known_visit(link, person)
        if request.user.is_authenticated and not _is_participant(request.user):
            sentence = SIGNED_IN.format(request.user)
            return refuse(request, 409, "You are signed in already", sentence)
        if request.method != "POST":
            return _welcome(request, link, campaign, known)
        visit = visits.arrive(link, person, now=timezone.now())
    except TooMany as error:
        return refuse(request, 429, TITLE, str(error))
    except UserError as error:
        return refuse(request, 404, TITLE, str(error))
    except NotSent as error:
        log.info("link %s refused: %s", key, error)
        return refuse(request, 403, TITLE, NOT_SENT.format(panel))
    except CrowdError as error:
        log.warning("link %s: %s", key, error)
        return refuse(request, 503, "Please try again in a minute", CANNOT_TELL.format(panel))
    if has_rights(visit.member.user):
        return refuse(request, 403, TITLE, HAS_RIGHTS)
    sent = request.session.get(SENT)
    # It takes the session from who was signed in before.
    login(request, visit.member.user, backend=settings.AUTHENTICATION_BACKENDS[0])
    request.session[SENT] = sent
    request.session.set_expiry(SECONDS)
    request.session[PARTICIPANT] = True
    if visit.finished_at:
        return redirect("visit", visit.pk)
    return redirect(_first_task(request, visit))


def _check_arrival(request: HttpRequest, link: PanelLink, person: Person) -> None:
    """Once in a browser: the page is read for longer than a signature of the panel's holds."""
    who = [link.key, person.id, person.session]
    if request.session.get(SENT) == who:
        return
    attempt([ARRIVALS.of(address_of(request))])
    studies_of(link).check_sent(link, request.GET, timezone.now())
    request.session[SENT] = who


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
    return member is not None and not member.is_of_team


def _campaign(link: PanelLink) -> Campaign:
    types = link.queue.hit_types.values("type_id")
    return get_object_or_404(campaigns_with_accounts(), hit_type_id__in=types)


def _welcome(
    request: HttpRequest, link: PanelLink, campaign: Campaign, known: Visit | None
) -> HttpResponse:
    if known is not None and known.finished_at:
        return render(request, VISIT, _about(known, visits.done_in(known)))
    if link.closed_at and known is None:
        raise UserError("This study has closed. Return it on the panel's own page.")
    content = {
        "title": campaign.policy.title,
        "description": campaign.policy.description,
        "tasks": link.tasks,
        "items": campaign.policy.hit_size,
        "rejects": campaign.policy.on_failed_control == "reject",
        "pay": money(link.tasks * campaign.policy.reward_cents),
        "an_hour": _an_hour(link, campaign.policy),
        "instructions": render_markdown(campaign.instructions.latest("version").text),
        "panel": PANELS[link.panel].title,
        "screen_out": _screen_out(link),
        "known": known,
        "whole": campaign.policy.crowd_traits.by_study,
        "kept": kept_in(campaign.policy, panel=PANELS[link.panel].title),
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
    may_stop = not (request.member.crowd_traits.by_study and has_work)
    over = not left or (may_stop and request.method == "POST")
    if not visit.finished_at and over and _ends(visit):
        return redirect("visit", visit.pk)
    content = {
        **_about(visit, done),
        "left": left,
        "in_hand": assignments.in_hand(request.member, now=now),
        "has_work": has_work,
        "may_stop": may_stop,
        "reasons": [why_excluded(one) for one in exclusions_of(request.member)],
        "notices": notices_of(request.member),
    }
    return render(request, VISIT, content)


def _an_hour(link: PanelLink, policy: Policy) -> str:
    minutes = _terms(link).minutes
    return pay_an_hour(
        link.tasks * policy.reward_cents,
        measured=link.median_seconds,
        estimated=minutes and minutes * 60,
        limit=link.tasks * policy.assignment_minutes * 60,
    )


def _screen_out(link: PanelLink) -> str:
    """What who finds no task is paid; empty: nothing."""
    cents = _terms(link).screen_out_cents
    return money(cents) if cents else ""


def _terms(link: PanelLink) -> Terms:
    return studies_of(link).terms([link]).get(link.pk, Terms())


def _ends(visit: Visit) -> bool:
    """With what is done; or without a task, where the panel pays something for coming."""
    now = timezone.now()
    return visits.finish(visit, now=now) or studies_of(visit.link).leave(visit, now)


def _about(visit: Visit, done: Done) -> dict[str, object]:
    is_screened = visit.code == _terms(visit.link).screen_out_code
    is_paid_for_coming = is_screened and visit.outcome == Visit.Outcome.SCREENED
    return {
        "visit": visit,
        "is_screened": is_screened,
        "is_void": visit.is_unpaid and not is_paid_for_coming,
        "title": visit.link.queue.title,
        "panel": PANELS[visit.link.panel].title,
        "done": done,
        "way_back": visits.way_back(visit) if visit.finished_at else "",
        "screen_out": _screen_out(visit.link),
        "contact": whom_to_write_to(visit.member.crowd_traits, "If you have a question"),
    }
