"""What a campaign may cost."""

from annotation.access.roles import FUND
from annotation.models import Account, Campaign
from annotation.operations.campaign.cached_outlook import status_of
from annotation.operations.operation import Argument, Operation, Options, Result
from annotation.pipeline.ledger.reservations import OverBudget, account_of, set_budget
from annotation.pipeline.publishing import lifecycle
from annotation.pipeline.publishing.outlook import undecided
from core.errors import UserError
from core.text.money import cents_of, money


def _preview_budget(campaign: Campaign, options: Options) -> list[str]:
    cents, account = _fundable(campaign, options)
    left = cents - account.spent_cents - account.reserved_cents
    return [
        f"{campaign} may cost {money(cents)} at most, until now {money(account.budget_cents)}.",
        f"{money(account.spent_cents)} is spent and {money(account.reserved_cents)} reserved: "
        f"{money(left)} is left for unpublished work.",
    ]


def _execute_budget(campaign: Campaign, options: Options) -> Result:
    cents, account = _fundable(campaign, options)
    try:
        set_budget(campaign, cents)
    except OverBudget as error:  # bought since
        raise _too_low(campaign, account_of(campaign)) from error
    account = account_of(campaign)
    return {
        "budget_cents": account.budget_cents,
        "reserved_cents": account.reserved_cents,
        "spent_cents": account.spent_cents,
        "available_cents": account.available_cents,
        "status": status_of(campaign),
    }


def _fundable(campaign: Campaign, options: Options) -> tuple[int, Account]:
    """The cents wanted, and the account, to which they can be given."""
    # What was submitted may still have to be paid.
    if campaign.state == Campaign.State.CANCELLED and not undecided(campaign).exists():
        lifecycle.check_living(campaign)
    cents, account = cents_of(options["amount"]), account_of(campaign)
    if cents < account.spent_cents + account.reserved_cents:
        raise _too_low(campaign, account)
    return cents, account


def _too_low(campaign: Campaign, account: Account) -> UserError:
    needed = account.spent_cents + account.reserved_cents
    return UserError(
        f"Campaign {campaign} has spent {money(account.spent_cents)} and reserved "
        f"{money(account.reserved_cents)}: its budget cannot be less than {money(needed)}."
    )


OPERATIONS = (
    Operation(
        "budget",
        "set the maximum total cost; a campaign that waits for a higher budget continues with the "
        "next pass",
        FUND,
        _preview_budget,
        _execute_budget,
        (Argument("amount", "money", "Budget", "maximum total cost"),),
        spends=True,
        calls_crowd=False,
        confirms=False,
        title="Budget of",
        button="Set the budget",
    ),
)
