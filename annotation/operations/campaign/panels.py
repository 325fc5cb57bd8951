"""Links by which panels send people to a campaign, and people who want to be forgotten."""

from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from annotation.access.roles import MANAGE_WORKERS
from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import Member, PanelLink
from annotation.crowd.inhouse.models.panels import new_code
from annotation.crowd.inhouse.visits import PANELS
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.studies import LEAVE, shut
from annotation.models import Campaign, OutboxMessage
from annotation.operations.operation import Argument, Operation, Options, Result, tried
from annotation.pipeline.ledger.dollars import dollars
from annotation.pipeline.outbox.claims import UNSENT
from annotation.protocol.policy.crowds import PROLIFIC
from core.errors import UserError

MOST_MINUTES = 600
OPEN = (
    Argument("panel", "choice", "Panel", choices=tuple(PANELS)),
    Argument(
        "minutes",
        "count",
        "Minutes of a visit",
        "as Prolific shows them to participants; of Prolific alone",
        optional=True,
        maximum=MOST_MINUTES,
    ),
    Argument(
        "tasks",
        "count",
        "Tasks of a visit",
        "after so many, the participant gets the completion code",
        default=5,
        maximum=visits.MOST_TASKS,
    ),
    Argument(
        "parameter",
        "name",
        "Parameter of the link",
        "it holds the participant's ID; if left out, the panel's own",
        optional=True,
    ),
    Argument(
        "code",
        "name",
        "Completion code",
        "one for everybody; each participant gets one of their own if left out",
        optional=True,
    ),
    Argument(
        "return_url",
        "text",
        "Return link",
        "where participants go afterwards; {person} and {code} stand for their ID and code",
        optional=True,
    ),
)
LINK = Argument("link", "name", "Link", "its key, as the page of the panels shows it")
WORKER = Argument("worker", "worker", "Participant", "worker ID")


LEAST_HOURLY_CENTS = 800  # Prolific's minimum in dollars; in pounds it is 600


def url_of(link: PanelLink) -> str:
    """What the panel is given as the study's address."""
    url: str = settings.PUBLIC_URL + reverse("panel", args=[link.key])
    placeholder = PANELS[link.panel].placeholder
    return f"{url}?{link.parameter}={placeholder}" if placeholder else url


def _open(campaign: Campaign, options: Options) -> Result:
    traits, panel = campaign.policy.crowd_traits, options["panel"]
    if not traits.by_link:
        raise UserError(
            f"People of {campaign} do not come by a link: create a campaign with --crowd panel or "
            "prolific."
        )
    if (traits is PROLIFIC) != (panel == PROLIFIC.kind):
        raise UserError(f"The people of {campaign} come from {traits.title}, not from {panel}.")
    if not campaign.hit_type_id:
        raise UserError(f"Publish {campaign} first: there are no tasks to send people to.")
    open_link = partial(
        visits.open_link, campaign.hit_type_id, panel, tasks=options["tasks"], now=timezone.now()
    )
    if panel == "sona" and "{person}" not in (options["return_url"] or ""):
        raise UserError(
            "SONA credits people by its completion URL: give it as the return link, with {person} "
            "in place of XXX."
        )
    if traits is PROLIFIC:
        link = _open_study(campaign, options, open_link)
    else:
        if options["minutes"]:
            raise UserError("Minutes are for a study at Prolific: leave them out.")
        link = open_link(
            parameter=options["parameter"] or "",
            code=options["code"] or "",
            return_url=(options["return_url"] or "").strip(),
        )
    return {"link": link.key, "url": url_of(link)}


def _open_study(
    campaign: Campaign, options: Options, open_link: Callable[..., PanelLink]
) -> PanelLink:
    """The next pass makes the study at Prolific, and publishes it."""
    policy, tasks, minutes = campaign.policy, options["tasks"], options["minutes"]
    if any(options[name] for name in ("parameter", "code", "return_url")):
        raise UserError("Prolific's link has all it needs: leave out the others' options.")
    if not minutes or not 1 <= minutes <= MOST_MINUTES:
        raise UserError(
            f"Say how many minutes a visit takes, 1 to {MOST_MINUTES}: Prolific shows them."
        )
    if tasks > 1 and policy.on_failed_control == "reject":
        raise UserError(
            "Prolific pays or rejects a visit as a whole. Choose one task a visit, or a campaign "
            "whose policy pays for tasks that fail a control and discards them "
            '("on_failed_control": "pay_and_discard").'
        )
    hourly = tasks * policy.reward_cents * 60 // minutes
    if hourly < LEAST_HOURLY_CENTS:
        raise UserError(
            f"{tasks} tasks in {minutes} minutes pay {dollars(hourly)} an hour. Prolific asks for "
            f"{dollars(LEAST_HOURLY_CENTS)} at least: choose fewer minutes or more tasks, or pay "
            "more for a task in another campaign."
        )
    link = open_link(code=new_code(), return_url=LEAVE)
    Study.objects.create(link=link, minutes=minutes)
    return link


def _close(campaign: Campaign, options: Options) -> Result:
    key = options["link"].replace("\0", "")  # which no database can be asked for
    link = visits.links_to(campaign.hit_type_id).filter(key=key).first()
    if link is None:
        raise UserError(f"{campaign} has no such link: see the page of its panels.")
    shut(link, now=timezone.now())
    return {"closed": link.key}


def _forget(campaign: Campaign, options: Options) -> Result:
    name = options["worker"].replace("\0", "")
    members = Member.objects.filter(participant__isnull=False, worker_id=name)
    here = members.filter(visits__link__in=visits.links_to(campaign.hit_type_id)).first()
    if here is None:
        raise UserError(f"No participant of {campaign} has the worker ID {name!r}.")
    mine = Q(worker__worker_id=name) | Q(assignment__worker__worker_id=name)
    if OutboxMessage.objects.filter(mine, state__in=UNSENT).exists():
        raise UserError(
            f"{name} is still to be paid or written to, which takes the ID. Delete it after that."
        )
    visits.forget(here)
    return {}


OPERATIONS = (
    Operation(
        "open-panel",
        "make a link by which a panel sends people to the campaign",
        MANAGE_WORKERS,
        tried(_open, "People who come by the link do {tasks} tasks, then get their code."),
        _open,
        OPEN,
        calls_crowd=False,
        confirms=False,
        title="Open a panel link to",
        button="Make the link",
    ),
    Operation(
        "close-panel",
        "close a panel's link: nobody new can enter, people at work may finish",
        MANAGE_WORKERS,
        tried(_close, "Nobody new can enter by the link. People at work may finish."),
        _close,
        (LINK,),
        subject="link",
        calls_crowd=False,
        confirms=False,
        title="Close the link",
        button="Close the link",
    ),
    Operation(
        "forget-participant",
        "delete a participant's ID at the panel, on their request; the judgments stay",
        MANAGE_WORKERS,
        tried(
            _forget,
            "The panel's ID is deleted permanently. {worker} gets no more tasks in any campaign. "
            "Whoever comes by that ID later counts as somebody new.",
        ),
        _forget,
        (WORKER,),
        subject="worker",
        calls_crowd=False,
        irreversible=True,
        title="Forget",
        button="Delete the ID",
    ),
)
