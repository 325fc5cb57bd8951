"""Links by which panels send people to a campaign, and people who want to be forgotten."""

from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from annotation.access.roles import MANAGE_WORKERS, campaigns_where
from annotation.crowd.factory import PROVIDERS, studies_of
from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.models import Member, PanelLink, Queue
from annotation.models import Campaign, OutboxMessage
from annotation.operations.campaign.worker_names import worker_of
from annotation.operations.operation import Argument, Operation, Options, Result, tried
from annotation.pipeline.ledger.pay import minutes_of, underpaid
from annotation.pipeline.outbox.claims import UNSENT
from annotation.protocol.policy.crowds import CROWDS, CrowdTraits
from annotation.protocol.policy.panels import PANELS
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from core.text.money import cents_of, money

MOST_MINUTES = 600
STUDIES = " and ".join(each.title for each in CROWDS.values() if each.by_study)
OPEN = (
    Argument("panel", "choice", "Panel", choices=tuple(PANELS)),
    Argument(
        "minutes",
        "count",
        "Minutes of a visit",
        f"as {STUDIES} shows them to participants; there alone",
        optional=True,
        maximum=MOST_MINUTES,
    ),
    Argument(
        "screen_out",
        "money",
        "Screen-out payment",
        f"for participants who find no task; at {STUDIES} alone, where the workspace has "
        "screen-outs",
        optional=True,
    ),
    Argument(
        "known",
        "name",
        "Known participants of",
        f"a campaign: only participants whose work in it was approved; at {STUDIES} alone",
        optional=True,
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
    Argument(
        "note",
        "name",
        "Note",
        "for yourself: it tells apart the links to one panel",
        optional=True,
    ),
)
RETURN_REASON = Argument(
    "reason",
    "text",
    "Reason",
    f"participants read it in the request of {STUDIES}",
    default=f"{STUDIES} says that you have completed this study, but no finished tasks of yours "
    "are here. Please return the study, or write to us if that is wrong.",
)
LINK = Argument("link", "name", "Link", "its key, as the page of the panels shows it")
WORKER = Argument("worker", "worker", "Participant", "worker ID, or the panel's ID")
OF_STUDIES = ("minutes", "screen_out", "known")
NO_CONTACT = (
    "QUORUM_CONTACT is not set: participants read no address where they can ask, complain, or have "
    "their ID deleted."
)


def url_of(link: PanelLink) -> str:
    """What the panel is given as the study's address."""
    url: str = settings.PUBLIC_URL + reverse("panel", args=[link.key])
    placeholder = PANELS[link.panel].placeholder
    return f"{url}?{link.parameter}={placeholder}" if placeholder else url


def _open(campaign: Campaign, options: Options) -> Result:
    traits, panel = campaign.policy.crowd_traits, options["panel"]
    if not traits.by_link:
        raise UserError(
            f"People of {campaign} do not come by a link: create a campaign with --crowd "
            f"{' or '.join(each.kind for each in CROWDS.values() if each.by_link)}."
        )
    if PANELS[panel].crowd != traits:
        raise UserError(f"The people of {campaign} come from {traits.title}, not from {panel}.")
    if not campaign.hit_type_id:
        raise UserError(f"Publish {campaign} first: there are no tasks to send people to.")
    note = (options["note"] or "").strip()
    alike = visits.links_to(campaign.hit_type_id).filter(panel=panel, note=note, closed_at=None)
    if alike.exists():
        raise UserError(
            f"{campaign} has an open link to {PANELS[panel].title} already: close it first, or "
            "give this one a note that tells them apart."
        )
    open_link = partial(
        visits.open_link,
        campaign.hit_type_id,
        panel,
        tasks=options["tasks"],
        note=note,
        now=timezone.now(),
    )
    if panel == "sona" and "{person}" not in (options["return_url"] or ""):
        raise UserError(
            "SONA credits people by its completion URL: give it as the return link, with {person} "
            "in place of XXX."
        )
    if traits.by_study:
        link = _open_study(campaign, options, open_link)
    else:
        if any(options[name] for name in OF_STUDIES):
            raise UserError(
                f"Minutes, screen-outs, and known participants are for a study at {STUDIES}: leave "
                "them out."
            )
        link = open_link(
            parameter=options["parameter"] or "",
            code=options["code"] or "",
            return_url=(options["return_url"] or "").strip(),
        )
    warnings = _warnings(campaign, options)
    warned = {"warning": " ".join(warnings)} if warnings else {}
    return {"link": link.key, "url": url_of(link), **warned}


def _what_to_do_there(campaign: Campaign, options: Options) -> str:
    panel = PANELS[options["panel"]]
    return f"at {panel.title}: {panel.advice}"


def _preview_open(campaign: Campaign, options: Options) -> list[str]:
    return [*_try_open(campaign, options), *_warnings(campaign, options)]


def _warnings(campaign: Campaign, options: Options) -> list[str]:
    warnings = [] if settings.CONTACT else [NO_CONTACT]
    taken = minutes_of(campaign, options["tasks"])
    if taken and taken > options["minutes"]:
        warnings.append(
            f"By the campaign's other links, visits of {options['tasks']} tasks would take {taken} "
            f"minutes, not {options['minutes']}. Give the minutes that visits really take."
        )
    return [*warnings, *underpaid(campaign)]


_try_open = tried(_open, "People who come by the link do {tasks} tasks, then get their code.")


def _open_study(
    campaign: Campaign, options: Options, open_link: Callable[..., PanelLink]
) -> PanelLink:
    """The next pass makes the study at the crowd, and publishes it."""
    policy, tasks, minutes = campaign.policy, options["tasks"], options["minutes"]
    traits = policy.crowd_traits
    if any(options[name] for name in ("parameter", "code", "return_url")):
        raise UserError(
            f"The link of {traits.title} has all it needs: leave out the others' options."
        )
    if not minutes or not 1 <= minutes <= MOST_MINUTES:
        raise UserError(
            f"Say how many minutes a visit takes, 1 to {MOST_MINUTES}: {traits.title} shows them."
        )
    if tasks > 1 and policy.on_failed_control == "reject":
        raise UserError(
            f"{traits.title} rejects {traits.rejects}. Choose one task a visit, or a campaign "
            "whose policy pays for tasks that fail a control and discards them "
            '("on_failed_control": "pay_and_discard").'
        )
    hourly = tasks * policy.reward_cents * 60 // minutes
    if hourly < policy.minimum.hourly_cents:
        raise UserError(
            f"{tasks} tasks in {minutes} minutes pay {money(hourly)} an hour. "
            f"{traits.title} asks for {money(policy.minimum.hourly_cents)} at least: choose fewer "
            "minutes or more tasks, or pay more for a task in another campaign."
        )
    screen_out = _screen_out_cents(options["screen_out"], tasks * policy.reward_cents, policy)
    user = options["by"].user
    known = _known_from(options["known"], user, traits) if options["known"] else None
    studies = PROVIDERS[traits.kind].studies
    return studies.open(open_link, minutes=minutes, screen_out_cents=screen_out, known_from=known)


def _known_from(name: str, user: User | None, crowd: CrowdTraits) -> Queue:
    """UserError where nobody would be let in, or whom the actor has no say about."""
    theirs = campaigns_where(user, MANAGE_WORKERS) if user else Campaign.objects.all()
    types = theirs.filter(name=name).values("hit_type_id")
    queue = Queue.objects.filter(hit_types__type_id__in=types).first()
    if queue is None or not PROVIDERS[crowd.kind].studies.has_known(queue):
        raise UserError(
            f"There is no campaign {name!r} whose workers you manage and in which work of "
            f"{crowd.people} was approved: choose another one."
        )
    return queue


def _screen_out_cents(given: str | None, reward_cents: int, policy: Policy) -> int:
    cents = cents_of(given) if given else 0
    if given and not policy.minimum.screen_out_cents <= cents < reward_cents:
        least = money(policy.minimum.screen_out_cents)
        raise UserError(
            f"{policy.crowd_traits.title} takes a screen-out payment from {least} to less than the "
            f"{money(reward_cents)} of a visit, not {money(cents)}."
        )
    return cents


def _close(campaign: Campaign, options: Options) -> Result:
    link = _link(campaign, options)
    visits.close_link(link, now=timezone.now())
    studies_of(link).closed(link)
    return {"closed": link.key}


def _link(campaign: Campaign, options: Options) -> PanelLink:
    key = options["link"].replace("\0", "")  # which no database can be asked for
    link = visits.links_to(campaign.hit_type_id).filter(key=key).first()
    if link is None:
        raise UserError(f"{campaign} has no such link: see the page of its panels.")
    return link


def _request_returns(campaign: Campaign, options: Options) -> Result:
    """The next pass asks them there, each once."""
    link = _link(campaign, options)
    asked = studies_of(link).ask_back(link, options["reason"])
    if not asked:
        raise UserError(
            f"Nobody who came by the link {link} has a submission at {STUDIES} that waits without "
            "a finished visit here, and was not asked yet."
        )
    return {"link": link.key, "asked": asked}


def _forget(campaign: Campaign, options: Options) -> Result:
    name = worker_of(campaign, options["worker"]).replace("\0", "")
    members = Member.objects.filter(participant__isnull=False, worker_id=name)
    here = members.filter(visits__link__in=visits.links_to(campaign.hit_type_id)).first()
    if here is None:
        raise UserError(f"No participant of {campaign} has the ID {name!r}.")
    mine = Q(worker__worker_id=name) | Q(assignment__worker__worker_id=name)
    if OutboxMessage.objects.filter(mine, state__in=UNSENT).exists():
        raise UserError(
            f"{name} is still to be paid or written to, which takes the ID. Delete it after that."
        )
    visits.forget(here)
    return {"worker": name}


OPERATIONS = (
    Operation(
        "open-panel",
        "make a link by which a panel sends people to the campaign",
        MANAGE_WORKERS,
        _preview_open,
        _open,
        OPEN,
        hint=_what_to_do_there,
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
        title="Close",
        button="Close the link",
    ),
    Operation(
        "request-returns",
        f"ask participants of {STUDIES} whose submissions have no finished visit to return them",
        MANAGE_WORKERS,
        tried(
            _request_returns,
            f"Each gets the request of {STUDIES} with the reason, once. Participants who return "
            "the study are not paid and not rejected, and the place is free again.",
        ),
        _request_returns,
        (LINK, RETURN_REASON),
        subject="link",
        calls_crowd=False,
        title="Ask for returns of",
        button="Ask them",
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
