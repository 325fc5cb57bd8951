"""Buying off and on."""

from collections.abc import Callable

from annotation.access.roles import RUN
from annotation.models import Campaign
from annotation.operations.campaign.cached_outlook import known_outlook, status_of
from annotation.operations.operation import Operation, Options, Result
from annotation.pipeline.publishing import lifecycle
from annotation.pipeline.publishing.outlook import Outlook
from annotation.protocol.estimates.cost import is_free
from core.errors import UserError
from core.text.money import clause, money

State = Campaign.State


def _preview_pause(campaign: Campaign, options: Options) -> list[str]:
    lifecycle.check_living(campaign)
    if campaign.state == State.PAUSED:
        raise UserError(f"Campaign {campaign} is paused already.")
    known = known_outlook(campaign)
    now = known.outlook
    may_cost = now.open_cents + now.undecided_cents
    return [
        f"Nothing more is bought for {campaign}: {now.waiting_hits:,} HITs and "
        f"{now.waiting_assignments:,} further assignments that are planned wait"
        f"{clause(', with {} reserved for them', now.waiting_cents)}"
        f"{_left_out(campaign, now)}.",
        f"Published work continues: {now.open_assignments:,} open assignments and "
        f"{now.undecided:,} submissions without a decision"
        f"{clause(' may still cost {}', may_cost)}.",
        f"{now.open_triplets:,} triplets have no label yet; those that need more votes wait until "
        "the campaign is resumed.",
        *known.note,
    ]


def _preview_resume(campaign: Campaign, options: Options) -> list[str]:
    lifecycle.check_living(campaign)
    if campaign.state != State.PAUSED:
        raise UserError(f"Campaign {campaign} is not paused.")
    known = known_outlook(campaign)
    now = known.outlook
    words = [
        f"{campaign} buys again with the next pass: {now.waiting_hits:,} HITs and "
        f"{now.waiting_assignments:,} further assignments that are planned"
        f"{clause(', at {} reserved already', now.waiting_cents)}{_left_out(campaign, now)}.",
    ]
    if not is_free(campaign.policy):
        words.append(
            f"Unpublished work may cost up to {money(now.available_cents)} more, "
            "which the budget has left."
        )
    return [*words, *known.note]


def _left_out(campaign: Campaign, now: Outlook) -> str:
    if not now.left_out_hits:
        return ""
    if not campaign.endpoint:
        return f"; {now.left_out_hits:,} more HITs are not published yet"
    return f"; the budget leaves out {now.left_out_hits:,} more HITs so far"


def _turning(
    preview: Callable[[Campaign, Options], list[str]], turn: Callable[[Campaign], None]
) -> Callable[[Campaign, Options], Result]:
    """Buying on or off: no call to the crowd is needed for it."""

    def execute(campaign: Campaign, options: Options) -> Result:
        preview(campaign, options)
        seen = known_outlook(campaign)
        turn(campaign)
        return {**seen.facts, "status": status_of(campaign)}

    return execute


OPERATIONS = (
    Operation(
        "pause",
        "stop requesting new work; work already at the crowd continues",
        RUN,
        _preview_pause,
        _turning(_preview_pause, lifecycle.pause),
        calls_crowd=False,
    ),
    Operation(
        "resume",
        "continue to request work",
        RUN,
        _preview_resume,
        _turning(_preview_resume, lifecycle.resume),
        spends=True,
        calls_crowd=False,
    ),
)
