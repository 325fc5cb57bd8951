"""A member's own page: what can be done now, what is in hand, what has been done."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, F, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.access.roles import kept_from
from annotation.crowd.accounts import campaigns_of, workers_of
from annotation.crowd.inhouse import assignments
from annotation.crowd.inhouse.assignments import MOST_COUNTED, OpenQueue
from annotation.crowd.inhouse.models import (
    SUBMITTED_OR_DECIDED,
    Assignment,
    HitType,
    Member,
    Notice,
    Queue,
)
from annotation.crowd.inhouse.visits import visits_of
from annotation.crowd.qualification_url import qualification_test_url
from annotation.crowd.turk.earnings import earnings_of
from annotation.crowd.turk.stores import Environment, is_in_use
from annotation.crowd.turk.workers import worker_id_of
from annotation.crowd.worker_notices import AT_THE_TURK, what_is_kept, why_excluded
from annotation.models import Assignment as Submitted
from annotation.models import Campaign, Exclusion, QualificationResult
from annotation.pipeline.ledger.pay import MEASURED, pay_an_hour
from annotation.protocol.screening.control import RejectionReason
from annotation.protocol.screening.qualification import TRIES
from annotation.web.annotator.eligibility import other_conditions
from annotation.web.annotator.eta import Stretch, eta, last_work, wants_break
from annotation.web.annotator.rejected_work import last_rejections, rejected
from annotation.web.base.guards import MemberRequest, member_page, refuse
from annotation.web.base.markdown import render_markdown
from core.text.money import money

MOST_SHOWN = 5
NO_VISIT = "You have no study here: open it from the panel's own page."


@dataclass(frozen=True)
class Line:
    """A kind of HIT that the member can take now."""

    hit_type: str
    title: str
    campaign: str  # its name; empty: it is no longer here
    description: str
    done: int
    of: str  # what is done, in hand, or still open to the member
    pay: str  # empty: nothing is paid by the piece
    an_hour: str  # what that is, in words
    eta: str  # of those left; empty: not known yet
    instructions: str


class Counts(NamedTuple):
    """Of a member's assignments in one queue."""

    done: int = 0
    in_hand: int = 0
    today: int = 0  # of those that are done


@dataclass(frozen=True)
class Held:
    """A HIT in hand; one of a campaign that the member is excluded from can only be given back."""

    assignment: Assignment
    campaign: str
    is_open: bool


@dataclass(frozen=True)
class QualificationTest:
    """A campaign that opens after its qualification test."""

    title: str
    tries_left: int
    url: str
    instructions: str


@dataclass(frozen=True)
class Closed:
    title: str
    sentences: Sequence[str]


def _last_visit(request: MemberRequest) -> HttpResponse:
    visit = visits_of(request.member).first()
    if visit is None:
        return refuse(request, 404, "No study here", NO_VISIT)
    return redirect("visit", visit.pk)


@require_safe
@member_page
def work(request: MemberRequest) -> HttpResponse:
    member, now = request.member, timezone.now()
    if not member.is_of_team:
        return _last_visit(request)
    ours = campaigns_of(member).select_related("pilot_with_the_answer")
    figures = {
        "timed": F("workforce__figures__timed"),
        "took_ms": F("workforce__figures__median_ms"),
    }
    campaigns = list(ours.annotate(**figures).order_by("pk"))
    exclusions = exclusions_of(member)
    others = kept_from(member.user).values_list("pk", flat=True)
    pilots = [getattr(one, "pilot_with_the_answer", None) for one in campaigns]
    conditions = [(pilot.shown_id, pilot.hidden_id) for pilot in pilots if pilot]
    closed = {*others, *other_conditions(member, conditions)}
    closed |= {one.campaign_id for one in exclusions}
    opened = [campaign for campaign in campaigns if campaign.pk not in closed]
    owners = _campaigns_by_queue(campaigns)
    tally = assignments.tally(member)
    earned = tally.earned_cents + tally.bonus_cents
    reasons = _reasons(member)
    in_hand = _in_hand(member, owners, closed=closed, now=now)
    counts = _counts(member, since=now - timedelta(days=1))
    queues = assignments.queues_of(member, now=now)
    done = last_work(member)
    lines = _lines(member, queues, owners, counts, done, closed=closed, now=now)
    content = {
        "in_hand": in_hand,
        "queues": lines,
        "for_others": [] if in_hand or lines else _for_others(queues, owners, closed, now),
        "qualification_tests": _qualification_tests(member, opened),
        "exclusions": [Closed(one.campaign.policy.title, why_excluded(one)) for one in exclusions],
        "tally": tally,
        "submitted": tally.submitted + tally.approved + tally.rejected,
        "wants_break": wants_break(done, now),
        "today": sum(one.today for one in counts.values()),
        "earned": money(earned) if earned else "",
        "pending": money(tally.pending_cents) if tally.pending_cents else "",
        "notices": notices_of(member),
        "rejections": last_rejections(member, MOST_SHOWN) if tally.rejected else [],
        "reasons": reasons,
        "other_reasons": tally.rejected - sum(count for _, count in reasons),
        "contact": _contact(),
        "at_the_turk": _at_the_turk(member) if is_in_use() else None,
    }
    return render(request, "annotation/annotator/work.html", content)


@require_safe
@member_page
def read_instructions(request: MemberRequest, name: str) -> HttpResponse:
    theirs = campaigns_of(request.member).exclude(
        pk__in=kept_from(request.member.user).values("pk")
    )
    campaign = get_object_or_404(theirs, name=name)
    # What the published HITs show: a newer version may hold for none of them.
    shown = campaign.instructions.filter(hit__crowd_id__isnull=False).order_by("-version").first()
    text = (shown or campaign.instructions.latest("version")).text
    content = {"title": campaign.policy.title, "instructions": render_markdown(text)}
    return render(request, "annotation/annotator/read_instructions.html", content)


@require_safe
@member_page
def kept(request: MemberRequest) -> HttpResponse:
    is_of_turk = request.member.is_of_team and is_in_use()
    content = {
        "kept": what_is_kept(request.member.crowd_traits),
        "at_the_turk": AT_THE_TURK if is_of_turk else (),
    }
    return render(request, "annotation/annotator/kept.html", content)


def exclusions_of(member: Member) -> list[Exclusion]:
    """In force, from campaigns whose people work here."""
    workers = workers_of(member.worker_id)
    exclusions = Exclusion.objects.filter(worker__in=workers, restored_at=None)
    return list(exclusions.select_related("campaign").order_by("pk"))


def _in_hand(
    member: Member, owners: Mapping[str, Campaign], *, closed: Collection[int], now: datetime
) -> list[Held]:
    held = []
    for assignment in assignments.in_hand(member, now=now):
        campaign = owners.get(assignment.posted_hit.queue.queue_id)
        is_open = campaign is None or campaign.pk not in closed
        held.append(Held(assignment, campaign.name if campaign else "", is_open=is_open))
    return held


def _lines(
    member: Member,
    queues: Sequence[Queue],
    owners: Mapping[str, Campaign],
    counts: Mapping[str, Counts],
    done: Sequence[Stretch],
    *,
    closed: Collection[int],
    now: datetime,
) -> list[Line]:
    """What the crowd offers, but for campaigns that the member is excluded from."""
    lines = []
    for offered in assignments.open_queues(member, queues, now=now):
        campaign = owners.get(offered.hit_type)
        if campaign is not None and campaign.pk in closed:
            continue  # the crowd learns of an exclusion a moment later
        mine = counts.get(offered.hit_type, Counts())
        lines.append(
            Line(
                hit_type=offered.hit_type,
                title=offered.title,
                campaign=campaign.name if campaign else "",
                description=offered.description,
                done=mine.done,
                of=f"{mine.done + mine.in_hand + offered.count:,}"
                f"{'+' if offered.count >= MOST_COUNTED else ''}",
                pay=money(offered.reward_cents) if offered.reward_cents else "",
                an_hour=_an_hour(offered, campaign),
                eta=eta(done, offered.hit_type, offered.count),
                instructions=_instructions_url(campaign) if campaign else "",
            )
        )
    return lines


def _an_hour(offered: OpenQueue, campaign: Campaign | None) -> str:
    timed, took_ms = (getattr(campaign, name, None) for name in ("timed", "took_ms"))
    measured = took_ms / 1000 if took_ms and timed and timed >= MEASURED else None
    return pay_an_hour(offered.reward_cents, measured=measured, limit=offered.seconds)


def _counts(member: Member, *, since: datetime) -> dict[str, Counts]:
    """By queue."""
    mine = Assignment.objects.filter(member=member).order_by()
    rows = mine.values_list("posted_hit__queue__queue_id").annotate(
        done=Count("pk", filter=Q(status__in=SUBMITTED_OR_DECIDED)),
        in_hand=Count("pk", filter=Q(status=Assignment.Status.ACCEPTED)),
        today=Count("pk", filter=Q(submitted_at__gte=since)),
    )
    return {queue: Counts(*counts) for queue, *counts in rows}


def _for_others(
    queues: Sequence[Queue],
    owners: Mapping[str, Campaign],
    closed: Collection[int],
    now: datetime,
) -> list[str]:
    """Titles of what the member has judged all of that they may, while other people are needed."""
    titles = []
    for queue in assignments.queues_with_work(queues, now=now):
        campaign = owners.get(queue.queue_id)
        if campaign is None or campaign.pk not in closed:
            titles.append(queue.title)
    return titles


def _campaigns_by_queue(campaigns: Sequence[Campaign]) -> Mapping[str, Campaign]:
    by_type = {campaign.hit_type_id: campaign for campaign in campaigns if campaign.hit_type_id}
    rows = HitType.objects.filter(type_id__in=by_type).values_list("queue__queue_id", "type_id")
    return {queue: by_type[hit_type] for queue, hit_type in rows}


def _qualification_tests(member: Member, campaigns: Sequence[Campaign]) -> list[QualificationTest]:
    """Rounds that the member has neither passed nor used up the tries of."""
    waiting = [
        campaign
        for campaign in campaigns
        if campaign.qualified_id and campaign.state != Campaign.State.CANCELLED
    ]
    tries: dict[int, list[bool]] = {campaign.pk: [] for campaign in waiting}
    workers = workers_of(member.worker_id)
    results = QualificationResult.objects.filter(campaign__in=waiting, worker__in=workers)
    for campaign, passed in results.values_list("campaign", "passed"):
        tries[campaign].append(passed)
    return [
        QualificationTest(
            title=campaign.policy.title,
            tries_left=TRIES - len(tries[campaign.pk]),
            # Of this very host: another name of it would not know who is signed in.
            url=urlsplit(qualification_test_url(campaign)).path,
            instructions=_instructions_url(campaign),
        )
        for campaign in waiting
        if not any(tries[campaign.pk]) and len(tries[campaign.pk]) < TRIES
    ]


def _instructions_url(campaign: Campaign) -> str:
    return reverse("read-instructions", args=[campaign.name])


def notices_of(member: Member) -> list[Notice]:
    """The last messages of the people who run the campaigns."""
    return list(Notice.objects.filter(member=member).order_by("-sent_at", "-pk")[:MOST_SHOWN])


def _reasons(member: Member) -> list[tuple[str, int]]:
    """With their counts, the most frequent first."""
    ids = rejected(member).values("assignment_id")
    ours = Submitted.with_rejection(Submitted.objects.filter(crowd_id__in=ids))
    counts = Counter(row["rejection"] for row in ours.values("rejection"))
    reasons = [(reason.label, counts[reason.key]) for reason in RejectionReason]
    return sorted(((label, count) for label, count in reasons if count), key=lambda one: -one[1])


def _at_the_turk(member: Member) -> Mapping[str, str]:
    """What a member has been given, and may be, for the HITs of requesters."""
    earned = earnings_of(worker_id_of(member), Environment.PRODUCTION, headings=())
    paid = earned.total("reward_cents") + earned.total("bonus_cents")
    return {"earned": money(paid), "pending": money(earned.total("pending_cents"))}


def _contact() -> str:
    contact = settings.CONTACT
    if " " in contact:  # a sentence
        return str(contact)
    return f"Questions? Write to {contact or 'the people who invited you'}."
