"""Money of requesters' accounts at the site's Turk: put in, and paid out to the workers."""

from collections.abc import Sequence

from annotation.crowd.turk.accounts import named_account
from annotation.crowd.turk.payments import deposit, new_payout, owed
from annotation.operations.operation import Argument, Operation, Options, Result, tried
from core.errors import UserError
from core.text.money import cents_of, money

DEPOSIT = "turk.add_accountdeposit"
PAY_OUT = "turk.add_payout"
ACCOUNT = Argument("requester", "name", "Requester", "name of the account")
AMOUNT = Argument("amount", "money", "Amount", "added to what its HITs can spend")


def _deposit(database: None, options: Options) -> Result:
    cents = cents_of(options["amount"])
    deposit(named_account(options["requester"]), cents)
    return {"cents": cents}


def _preview_deposit(database: None, options: Options) -> Sequence[str]:
    more = money(cents_of(options["amount"]))
    return tried(_deposit, f"{{requester}} can spend {more} more, at once.")(database, options)


def _preview_payout(database: None, options: Options) -> list[str]:
    account = named_account(options["requester"])
    lines = owed(account)
    if not lines:
        raise UserError(f"Nobody is owed anything by {account}: all approved work is paid out.")
    total = money(sum(line.cents for line in lines))
    people = f"{len(lines):,} worker{'s' * (len(lines) != 1)}"
    return [
        f"{people} get {total} of {account}, for what was approved since the last pay-out.",
        "The list is kept under a number, and what is in it is in no later one.",
    ]


def _pay_out(database: None, options: Options) -> Result:
    payout = new_payout(named_account(options["requester"]))
    return {"payout": payout.number, "cents": payout.cents}


def _get_list(database: None, options: Options) -> str:
    return f"quorum turk payouts {options['requester']} --csv FILE"


OPERATIONS = (
    Operation(
        "turk-deposit",
        "give a requester's account money, which its HITs in production can spend",
        DEPOSIT,
        _preview_deposit,
        _deposit,
        (ACCOUNT, AMOUNT),
        noun="turk",
        verb="deposit",
        subject="requester",
        calls_crowd=False,
        spends=True,
        title="Deposit",
        button="Deposit",
    ),
    Operation(
        "turk-pay-out",
        "list what a requester's workers have earned since the last list, for whoever pays them",
        PAY_OUT,
        _preview_payout,
        _pay_out,
        (ACCOUNT,),
        noun="turk",
        verb="pay-out",
        subject="requester",
        calls_crowd=False,
        spends=True,
        hint=_get_list,
        title="Pay out",
        button="Pay out",
    ),
)
