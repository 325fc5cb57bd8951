"""Pay a worker extra for an assignment: an intent and its money, in one transaction."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Account, Assignment, Campaign, Entry, Intent
from annotation.pipeline.ledger import OverBudget, account_of, book, locked
from annotation.pipeline.money import dollars
from annotation.pipeline.publish import token
from annotation.pipeline.withdraw import withdraw
from annotation.protocol.cost import bonus_price_cents
from retrieval.errors import UserError

MOST_CENTS = 1_000_000  # the crowd pays no higher bonus

Place = Entry.Place


@dataclass(frozen=True)
class Bonus:
    """What is to be paid to whom, the crowd's fee included in `cents`; `new` if it is not yet."""

    worker: str
    assignment: str
    cents: int
    new: bool


def foresee_bonus(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> Bonus:
    """Raises UserError where it cannot be paid, whatever the budget."""
    if not 1 <= cents <= MOST_CENTS:
        raise UserError(f"A bonus is from $0.01 to {dollars(MOST_CENTS)}, not {dollars(cents)}.")
    if not reason.strip():
        raise UserError("The worker is told why there is a bonus: give the --reason.")
    works = Assignment.objects.filter(hit__campaign=campaign).select_related("worker")
    work = works.filter(crowd_id=assignment).first()
    if work is None:
        raise UserError(f"Campaign {campaign} has no assignment {assignment!r}.")
    asked = campaign.intents.filter(token=_token(assignment, cents, reason))
    new = not asked.exclude(state=Intent.State.WITHDRAWN).exists()
    return Bonus(work.worker.worker_id, assignment, bonus_price_cents(cents), new)


def give_bonus(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> Bonus:
    """Asked for once, however often this is called: another reason makes another bonus."""
    try:
        with transaction.atomic():
            campaign = locked(campaign)
            bonus = foresee_bonus(campaign, assignment, cents=cents, reason=reason)
            if bonus.new:
                _ask_for(campaign, assignment, cents=cents, reason=reason)
    except OverBudget as error:
        left = account_of(campaign).available_cents
        raise UserError(
            f"The bonus costs {dollars(bonus.cents)} with the fee, but the budget of {campaign} "
            f"has {dollars(left)} left: raise it by `manage.py campaign budget`."
        ) from error
    return bonus


@transaction.atomic
def withdraw_bonus(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> int:
    """Where it has not been paid and is not on its way; the cents that are free again."""
    campaign = locked(campaign)
    bonuses = campaign.intents.filter(kind=Intent.Kind.BONUS)
    return _withdraw(campaign, bonuses.filter(token=_token(assignment, cents, reason)))


def withdraw_refused(campaign: Campaign) -> None:
    """Bonuses that the crowd refuses to pay give their money back; the campaign is locked."""
    bonuses = campaign.intents.filter(kind=Intent.Kind.BONUS)
    _withdraw(campaign, bonuses.filter(state=Intent.State.FAILED))


def _withdraw(campaign: Campaign, bonuses: QuerySet[Intent]) -> int:
    account = account_of(campaign)
    moves = [
        _move(account, intent, "release", source=Place.RESERVED, target=Place.AVAILABLE)
        for intent in withdraw(bonuses)
    ]
    book(moves)
    return sum(move.cents for move in moves)


def _ask_for(campaign: Campaign, assignment: str, *, cents: int, reason: str) -> None:
    work = Assignment.objects.get(crowd_id=assignment)
    intent, _ = Intent.objects.update_or_create(
        token=_token(assignment, cents, reason),
        defaults={"state": Intent.State.PENDING, "error": "", "retry_at": None},
        create_defaults={
            "campaign": campaign,
            "kind": Intent.Kind.BONUS,
            "assignment": work,
            "worker_id": work.worker_id,
            "cents": cents,
            "reason": reason,
        },
    )
    account = account_of(campaign)
    book([_move(account, intent, "reserve", source=Place.AVAILABLE, target=Place.RESERVED)])


def _move(account: Account, intent: Intent, what: str, *, source: Place, target: Place) -> Entry:
    return Entry(
        account=account,
        # A bonus taken back may be given after all: each time is an effect of its own.
        key=f"{what}:{intent.token}:{intent.entries.count()}",
        source=source,
        target=target,
        cents=bonus_price_cents(intent.cents),
        assignment=intent.assignment,
        intent=intent,
    )


def _token(assignment: str, cents: int, reason: str) -> str:
    return token("bonus", assignment, cents, reason)
