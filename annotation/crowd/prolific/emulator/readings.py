"""Where Prolific's documentation contradicts itself or is silent: the reading that holds.

The defaults are those of its newest OpenAPI file, or the plainest where that says nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, Literal, get_args, get_type_hints


@dataclass(frozen=True)
class Readings:
    # Errors and addresses.
    error_shape: Literal["declared", "wrapped", "bare"] = "declared"  # `{"error": E}`, or E alone
    illegal_transition: int = 400  # the HTTP status
    no_funds: int = 400  # the HTTP status
    slashes: Literal["both", "redirect"] = "both"  # of an address that lacks its slash

    # Studies.
    required: Literal["declared", "described"] = "declared"  # the list of fields, or its text
    publishing_seconds: float = 2.0
    stop_with_open_reviews: Literal["COMPLETED", "AWAITING REVIEW"] = "COMPLETED"
    rejection_when_full: Literal["AWAITING REVIEW", "PAUSED", "ACTIVE"] = "AWAITING REVIEW"
    start_after_review: bool = False  # START takes AWAITING REVIEW to ACTIVE
    stop_is_final: bool = False  # else more places make a completed study active again
    reward_can_change: bool = False  # of a paused study of which nothing is approved
    longest_minutes: int = 1_439  # the highest maximum_allowed_time
    low_pay: Literal["allowed", "create", "publish"] = "allowed"  # else where it is refused
    # Of workspaces that lack what only some have: what becomes of a study that asks for it.
    secured_links: Literal["enabled", "refused", "ignored"] = "enabled"
    screen_outs: Literal["enabled", "refused"] = "enabled"
    audience_of_links: Literal["url", "domain"] = "url"

    # Accounts.
    currency: Literal["USD", "GBP"] = "USD"  # of the workspace that it starts with
    vat_permille: int = 0  # of the fee

    # Submissions.
    approve_ended: bool = False  # APPROVE of what timed out or was returned
    undo: bool = False  # UNREJECT and UNRETURN
    late_completion: bool = False  # of what timed out, while its place is free
    rejection_limit: int | None = None  # rejections of a study
    asynchronous_seconds: float = 60.0  # until a bulk approval or a bonus is carried out

    # Messages and webhooks.
    message_limit: int | None = None  # characters
    subscription_shape: Literal["object", "list"] = "object"
    unconfirmed_hooks: bool = False  # whether they get events
    loopback_hooks: bool = False  # http://127.0.0.1 as a target, which Prolific cannot reach
    hook_attempts: int = 12
    hook_timeout_seconds: float = 10.0


NAMES = tuple(Readings.__dataclass_fields__)


def parsed(options: Iterable[str]) -> Readings:
    """Of options such as `undo=true`; ValueError says which one is none."""
    hints = get_type_hints(Readings)
    chosen: dict[str, Any] = {}
    for option in options:
        name, _, text = option.partition("=")
        if name not in hints:
            raise ValueError(f"{option!r} names none of the readings {', '.join(NAMES)}")
        chosen[name] = _value(name, hints[name], text)
    return replace(Readings(), **chosen)


def _value(name: str, hint: Any, text: str) -> object:
    if hint is bool:
        values: dict[str, object] = {"true": True, "false": False}
    elif NoneType in get_args(hint) and text == "none":
        return None
    elif get_args(hint) and NoneType not in get_args(hint):
        values = {value: value for value in get_args(hint)}
    else:
        return _number(name, float if hint is float else int, text)
    if text not in values:
        raise ValueError(f"{name} is one of {', '.join(values)}, not {text!r}")
    return values[text]


def _number(name: str, kind: type[int] | type[float], text: str) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 1_000_000:
        raise ValueError(f"{name} is a number from 0 to 1000000, not {text!r}")
    return value
