"""MTurk's operation on the requester's account."""

from annotation.crowd.emulator.dispatch import Answer, Call, Operation
from annotation.crowd.emulator.state import money


def get_account_balance(call: Call) -> Answer:
    balance = money.balance(call.session)
    return {
        "AvailableBalance": money.dollars(balance["available"]),
        "OnHoldBalance": money.dollars(balance["on_hold"]),
    }


OPERATIONS = {"GetAccountBalance": Operation(get_account_balance, writes=False)}
