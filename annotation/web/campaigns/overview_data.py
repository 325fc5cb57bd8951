"""What the overview says of a campaign, from its newest snapshot and the rows that cost nothing."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from annotation.access.roles import ADJUDICATE, GRANT, RUN
from annotation.access.roles import Account as Reader
from annotation.analytics.campaign.completion import COMPLETE, CampaignState, state_of
from annotation.analytics.campaign.plan import plan_in_words
from annotation.analytics.campaign.snapshots import FRESH, RECENT
from annotation.analytics.campaign.status import Blocker, campaign_status
from annotation.analytics.workers import worker_figures
from annotation.crowd.factory import site_of
from annotation.models import Account, Campaign, Snapshot
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.adjudicate import may_decide_open
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.screening.control import reasons_in_words
from annotation.web.workers.columns import duration
from annotation.web.workers.pairs import Pairs, pairs_of
from core.errors import UserError
from core.text.money import money
from core.text.words import plural
from retrieval.models import Job

Figures = dict[str, Any]
State = Campaign.State

DAY = timedelta(days=1)
FARTHEST = 24 * 365  # hours that are told; a rate near none ends after the last day of a calendar

ELSEWHERE = (
    "published at {}, which is not the crowd that this site is set to: no pass is made until "
    "AWS_ENDPOINT_URL_MTURK names it again"
)

STAGES = {
    "candidates": "Candidates",
    "triplets": "Packed",
    "triplets_published": "Published",
    "judged": "Judged",
    "labelled": "Labelled",
    "unresolved": "Unresolved",
}
WORK = {
    "hits_published": ("HITs published", "hits"),
    "submitted": ("Assignments submitted", "max_assignments"),
    "reviewed": ("Assignments reviewed", "submitted"),
}


@dataclass(frozen=True)
class Stage:
    """Of the way of a triplet; each is a part of the one before."""

    key: str
    title: str
    triplets: int


@dataclass(frozen=True)
class Work:
    """What the crowd was asked for and has done."""

    title: str
    done: int
    of: int
    rate: float | None  # an hour


@dataclass(frozen=True)
class Button:
    title: str
    link: str
    grave: bool


@dataclass(frozen=True)
class Trouble:
    """Something that stands still, with the buttons that mend it where the reader may."""

    reason: str
    repairs: list[Button]


@dataclass(frozen=True)
class Money:
    budget: str
    spent: str
    discarded: str  # of what is spent
    billed: str  # as well, where the crowd's bill differs from the books
    reserved: str
    left: str
    a_label: str


@dataclass(frozen=True)
class Result:
    """What a complete campaign has taken, and how its workers agree two by two."""

    cost: str
    time: str  # empty where it took no work
    dates: str
    pairs: Pairs


@dataclass(frozen=True)
class Overview:
    state: CampaignState
    mark: str  # another one when anything of it has changed
    figures: Figures | None
    snapshot: Snapshot | None
    is_late: bool
    counting: Job | None
    stages: list[Stage]
    work: list[Work]  # empty where nobody is paid by the HIT
    finish: str
    rejections: int  # assignments that failed or were rejected
    reasons: str  # with their counts
    result: Result | None  # of a complete campaign
    planned: list[str]  # of a campaign that was made from a plan
    money: Money | None  # None where none moves
    troubles: list[Trouble]
    buttons: list[Button]


def read_overview(campaign: Campaign, last: Snapshot | None, reader: Reader) -> Overview:
    figures: Figures | None = last.figures if last else None
    account = Account.objects.filter(campaign=campaign).first() or Account()
    counting = _counting(campaign)
    late = last is None or timezone.now() - last.at > FRESH
    reasons = figures["rejection_reasons"] if figures else {}
    money = _money(campaign, account, figures)
    state = state_of(campaign)
    done = state == COMPLETE
    return Overview(
        state=state,
        mark=_mark(campaign, last, account, counting, late=late),
        figures=figures,
        snapshot=last,
        is_late=late,
        counting=counting,
        stages=_stages(figures) if figures else [],
        work=_work(campaign, figures) if figures and money else [],
        finish=finish(campaign, last) if last else "",
        rejections=sum(reasons.values()),
        reasons=reasons_in_words(reasons),
        result=_result(campaign, account, figures) if figures and done else None,
        planned=plan_in_words(figures["plan"]) if figures and "plan" in figures else [],
        money=money,
        troubles=_troubles(campaign, figures, reader, done=done),
        buttons=_buttons(campaign, figures, reader, done=done),
    )


def _mark(
    campaign: Campaign,
    last: Snapshot | None,
    account: Account,
    counting: Job | None,
    *,
    late: bool,
) -> str:
    sums = account.budget_cents, account.reserved_cents, account.paid_cents, account.discarded_cents
    parts = (
        last.pk if last else 0,
        campaign.state,
        *sums,
        account.billed_cents,
        counting.pk if counting else 0,
        late,
    )
    return "-".join(map(str, parts))


def _counting(campaign: Campaign) -> Job | None:
    jobs = Job.objects.filter(kind="snapshot", subject=campaign.name)
    return jobs.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).first()


def _stages(figures: Figures) -> list[Stage]:
    return [Stage(key, title, figures[key]) for key, title in STAGES.items()]


def _work(campaign: Campaign, figures: Figures) -> list[Work]:
    said = campaign.policy.crowd_traits.said
    return [
        Work(said(title), figures[key], figures[of], figures["rates"][key])
        for key, (title, of) in WORK.items()
    ]


def _result(campaign: Campaign, account: Account, figures: Figures) -> Result:
    time, dates = time_taken(figures["began"], figures["ended"])
    return Result(
        cost=money(account.spent_cents) if account.spent_cents else "Nothing",
        time=time,
        dates=dates,
        pairs=pairs_of(campaign, worker_figures.newest(campaign)),
    )


def time_taken(began: str | None, ended: str | None) -> tuple[str, str]:
    if not began or not ended:
        return "", ""
    first, last = datetime.fromisoformat(began), datetime.fromisoformat(ended)
    days = f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}"
    return _in_fitting_units(last - first), " to ".join(dict.fromkeys(days))


def _in_fitting_units(time: timedelta) -> str:
    if time < timedelta(minutes=1):
        return "Less than a minute"
    if time < 2 * DAY:
        return duration(1000 * time.total_seconds())
    return plural(math.ceil(time / DAY), "day")


def finish(campaign: Campaign, last: Snapshot) -> str:
    """When the last triplet will have its label, in a sentence."""
    figures = last.figures
    if not figures["triplets"]:
        return "Nothing is packed yet."
    if not figures["open"]:
        return (
            f"Every triplet is decided: {figures['labelled']:,} with a label, "
            f"{figures['unresolved']:,} unresolved."
        )
    if campaign.state in (State.PAUSED, State.CANCELLED):
        return f"{figures['open']:,} triplets are open and stay so: nothing more is bought."
    if campaign.first_batch is not None:
        return (
            f"{figures['open']:,} triplets are open, and {campaign.policy.crowd_traits.hit}s wait "
            "behind the first batch: once the rest is published, the rate tells when all are "
            "decided."
        )
    if not _is_served(campaign):
        return f"{figures['open']:,} triplets are open, and nobody is asked at its crowd."
    if figures["stranded"]["assignments"]:
        decides = campaign.policy.adjudication == "decide"
        instead = " or an expert decides them" if decides else ""
        return (
            f"{figures['open']:,} triplets are open. They cannot all be labelled until more people "
            f"join{instead}."
        )
    if (ahead := figures["eta"]) is None:
        hours = RECENT // timedelta(hours=1)
        return f"{figures['open']:,} triplets are open; none was decided in the last {hours} hours."
    return f"At the rate of the last hours the {figures['open']:,} open triplets are decided " + (
        _range(last, ahead)
    )


def _range(last: Snapshot, ahead: Mapping[str, float | None]) -> str:
    def at(hours: float | None) -> str:
        return f"{last.at + timedelta(hours=hours or 0):%Y-%m-%d %H:%M} UTC"

    around = f"around {at(ahead['hours'])}"
    if ahead["most"] is None or ahead["most"] > FARTHEST:
        return f"{around}; the rate is too uneven to say when at the latest."
    return f"{around}, between {at(ahead['least'])} and {at(ahead['most'])}."


def _money(campaign: Campaign, account: Account, figures: Figures | None) -> Money | None:
    if is_free(campaign.policy) and not account.budget_cents:
        return None
    labels = figures["labelled"] if figures else 0
    return Money(
        budget=money(account.budget_cents),
        spent=money(account.spent_cents),
        discarded=money(account.discarded_cents),
        billed=_billed(account.billed_cents),
        reserved=money(account.reserved_cents),
        left=money(account.available_cents),
        a_label=money(account.spent_cents / labels, decimals=3) if labels else "",
    )


def _billed(cents: int) -> str:
    more = "more" if cents > 0 else "less"
    return f"{money(abs(cents))} {more} by the crowd's own bill" if cents else ""


def troubles_of(campaign: Campaign, figures: Figures | None, reader: Reader) -> list[Trouble]:
    """What a campaign waits for, with the buttons that help and that the reader may press."""
    done = state_of(campaign) == COMPLETE
    return _troubles(campaign, figures, reader, done=done)


def _troubles(
    campaign: Campaign, figures: Figures | None, reader: Reader, *, done: bool
) -> list[Trouble]:
    holding = None if done else _holding(campaign, figures)
    troubles = [holding] if holding else []
    if not _is_served(campaign):
        troubles.append(Blocker(ELSEWHERE.format(campaign.endpoint)).to_dict())
    troubles += figures["blockers"] if figures else []
    return [Trouble(one["reason"], _repairs(campaign, one, reader)) for one in troubles]


def _repairs(campaign: Campaign, blocker: Figures, reader: Reader) -> list[Button]:
    other = blocker["alternative"]
    if other == "open" and not may_decide_open(campaign, cast(User, reader)):
        other = None  # who judged them leaves them to another
    buttons = (
        _button(campaign, blocker["operation"], reader, blocker["options"]),
        _button(campaign, other, reader) if other != blocker["operation"] else None,
    )
    return [button for button in buttons if button]


def _is_served(campaign: Campaign) -> bool:
    """Whether this site calls the crowd at which it was published, if it was."""
    if not campaign.endpoint:
        return True
    try:
        return campaign.endpoint == site_of(campaign.policy.crowd).endpoint
    except UserError:
        return False


def _holding(campaign: Campaign, figures: Figures | None) -> Figures | None:
    """What follows from its state, which may have turned since the figures were counted."""
    if campaign.state == State.ACTIVE:
        return None
    if figures and figures["state"] == campaign.state:
        return dict(figures["status"])
    if campaign.state == State.CAPPED:
        return Blocker(
            "at its budget: the next count says what waits", operation="budget"
        ).to_dict()
    return campaign_status(campaign).to_dict()


def _is_alive(campaign: Campaign, _: Figures) -> bool:
    return campaign.state != State.CANCELLED


def _is_out(campaign: Campaign, figures: Figures) -> bool:
    """At the crowd, with votes missing or assignments that somebody may still take."""
    left = figures["open"] or figures["outlook"]["open_assignments"]
    return _is_alive(campaign, figures) and bool(campaign.endpoint) and left > 0


def _to_page(campaign: Campaign, page: "Page", reader: Reader) -> Button | None:
    if page.of_campaign:
        may, of = reader.has_perm(page.permission, campaign), [campaign.name]
    else:
        may, of = reader.is_staff and reader.has_perm(page.permission), []
    link = reverse(page.name, args=of) + page.place
    return Button(page.title, link, grave=False) if may else None


@dataclass(frozen=True)
class Page:
    """Where something is mended that is no operation on a campaign."""

    title: str
    name: str
    permission: str
    of_campaign: bool = True
    place: str = ""  # on the page


PAGES: Mapping[str, Page] = {
    "publish": Page(
        "Publish the rest", "campaign-milestones", RUN
    ),  # with its preview and its price
    "reconcile": Page("Reconcile", "campaign-reconcile", RUN),
    "invite": Page("Invite people", "team", "inhouse.add_invitation", of_campaign=False),
    "roles": Page("Give roles", "campaign-roles", GRANT),
    "review": Page("See them", "campaign-review", ADJUDICATE, place="#waiting"),
    "open": Page("Decide them", "adjudicate", ADJUDICATE, place="?what=open"),
}
# In this order; of the others each has its own place.
_FITTING: Mapping[str, Callable[[Campaign, Figures], bool]] = {
    "resume": lambda campaign, _: campaign.state == State.PAUSED,
    "pause": lambda campaign, _: campaign.state in (State.ACTIVE, State.CAPPED),
    "budget": lambda campaign, _: _is_alive(campaign, _) and not is_free(campaign.policy),
    "extend": lambda campaign, figures: (
        figures["open"] > 0 and _is_out(campaign, figures) and campaign.state != State.PAUSED
    ),
    "expire": _is_out,
    "retry": lambda _, figures: any(one["operation"] == "retry" for one in figures["blockers"]),
    "reconcile": lambda campaign, _: bool(campaign.endpoint),
    "cancel": _is_alive,
}


# The others would change nothing.
_OF_COMPLETE = ("expire", "retry", "reconcile")


def _buttons(
    campaign: Campaign, figures: Figures | None, reader: Reader, *, done: bool
) -> list[Button]:
    known = figures or {"open": 0, "outlook": {"open_assignments": 0}, "blockers": []}
    fitting = [name for name, fits in _FITTING.items() if fits(campaign, known)]
    if done:
        fitting = [name for name in fitting if name in _OF_COMPLETE]
    buttons = [_button(campaign, name, reader) for name in fitting]
    return [button for button in buttons if button]


def _button(
    campaign: Campaign,
    name: str | None,
    reader: Reader,
    options: Mapping[str, object] | None = None,
) -> Button | None:
    if (page := PAGES.get(name or "")) is not None:
        return _to_page(campaign, page, reader)
    operation = OPERATIONS.get(name or "")
    if operation is None or not reader.has_perm(operation.permission, campaign):
        return None
    link = reverse("operation", args=[campaign.name, operation.name])
    given = f"?{urlencode(options)}" if options else ""
    return Button(operation.words, link + given, operation.irreversible)
