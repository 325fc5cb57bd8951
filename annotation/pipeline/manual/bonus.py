"""Pay a worker extra for an assignment: a message and its money, in one transaction."""

from dataclasses import dataclass

from django.db import transaction

from annotation.models import Assignment, Campaign, OutboxMessage
from annotation.pipeline.ledger.reservations import OverBudget, account_of, locked
from annotation.pipeline.ledger.settlements import release_bonuses, reserve_bonus
from annotation.pipeline.outbox.messages import cancel_messages, token
from annotation.protocol.estimates.cost import bonus_price_cents
from core.errors import UserError
from core.text.money import money

MOST_CENTS = 1_000_000  # the crowd pays no higher bonus


@dataclass(frozen=True)
class Bonus:
    """What is to be paid to whom, the crowd's fee included in `cents`; `new` if it is not yet."""

    worker: str
    assignment: str
    cents: int
    new: bool


def preview_bonus(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> Bonus:
    """Raises UserError where it cannot be paid, whatever the budget."""
    if not 1 <= cents <= MOST_CENTS:
        raise UserError(f"A bonus is from {money(1)} to {money(MOST_CENTS)}, not {money(cents)}.")
    if not reason.strip():
        raise UserError("The worker sees the reason for the bonus: add --reason.")
    assignments = Assignment.objects.filter(hit__campaign=campaign).select_related("worker")
    rewarded = assignments.filter(crowd_id=assignment).first()
    if rewarded is None:
        raise UserError(f"Campaign {campaign} has no assignment {assignment!r}.")
    asked = campaign.outbox.filter(token=_token(assignment, cents, reason))
    new = not asked.exclude(state=OutboxMessage.State.CANCELLED).exists()
    price = bonus_price_cents(cents, campaign.policy)
    return Bonus(rewarded.worker.worker_id, assignment, price, new)


def give_bonus(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> Bonus:
    """Asked for once, however often this is called: another reason makes another bonus."""
    try:
        with transaction.atomic():
            campaign = locked(campaign)
            bonus = preview_bonus(campaign, assignment, cents=cents, reason=reason)
            if bonus.new:
                _ask_for(campaign, assignment, cents=cents, reason=reason)
    except OverBudget as error:
        raise _over_budget(campaign, bonus) from error
    return bonus


def check_covered(campaign: Campaign, bonus: Bonus) -> None:
    """Raises UserError where the budget does not reach now."""
    if bonus.new and bonus.cents > account_of(campaign).available_cents:
        raise _over_budget(campaign, bonus)


def _over_budget(campaign: Campaign, bonus: Bonus) -> UserError:
    left = account_of(campaign).available_cents
    return UserError(
        f"The bonus costs {money(bonus.cents)} in all, but the budget of {campaign} "
        f"has {money(left)} left: raise it by `quorum campaign budget`."
    )


@transaction.atomic
def withdraw_bonus(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> int:
    """The cents that are free again; UserError where it has been paid or is on its way."""
    campaign = locked(campaign)
    bonuses = campaign.outbox.filter(kind=OutboxMessage.Kind.BONUS)
    asked = bonuses.filter(token=_token(assignment, cents, reason))
    if free := release_bonuses(campaign, cancel_messages(asked)):
        return free
    bonus = asked.first()
    if bonus is None:
        raise UserError(
            f"Campaign {campaign} has no bonus of {money(cents)} for assignment {assignment!r} "
            "with this reason."
        )
    why = {
        OutboxMessage.State.DONE: "has been paid and cannot be taken back",
        OutboxMessage.State.CANCELLED: "has been taken back already",
    }.get(OutboxMessage.State(bonus.state), "is on its way: whether it was paid is not known yet")
    raise UserError(f"The bonus of {money(cents)} for assignment {assignment!r} {why}.")


def withdraw_refused(campaign: Campaign) -> None:
    """Bonuses that the crowd refuses to pay give their money back; the campaign is locked."""
    bonuses = campaign.outbox.filter(kind=OutboxMessage.Kind.BONUS)
    release_bonuses(campaign, cancel_messages(bonuses.filter(state=OutboxMessage.State.FAILED)))


def _ask_for(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> None:
    rewarded = Assignment.objects.get(crowd_id=assignment)
    message, _ = OutboxMessage.objects.update_or_create(
        token=_token(assignment, cents, reason),
        defaults={"state": OutboxMessage.State.PENDING, "error": "", "retry_at": None},
        create_defaults={
            "campaign": campaign,
            "kind": OutboxMessage.Kind.BONUS,
            "assignment": rewarded,
            "worker_id": rewarded.worker_id,
            "cents": cents,
            "reason": reason,
        },
    )
    reserve_bonus(campaign, message)


def _token(assignment: str, cents: int, reason: str) -> str:
    return token("bonus", assignment, cents, reason)
