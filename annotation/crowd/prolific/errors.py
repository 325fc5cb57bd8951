"""What can go wrong on the way to Prolific and back, as CrowdErrors of one sentence each."""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import httpx

from annotation.crowd.port import CrowdError

MOST_SHOWN = 500  # characters of what a server says
TOO_MANY = 429
_TOO_LATE = 408
_REPAIRS = {
    401: "check the API token",
    402: "top up the balance of the workspace",
    403: "check what the API token may do",
}
_NOT_TEXT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class OutcomeUnknown(CrowdError):
    """A payment was sent and no answer came: it may have been made.

    Permanent, because to send it again may pay it again: look at the bonuses first.
    """

    def __init__(self, call: str, endpoint: str, reason: str) -> None:
        super().__init__(
            f"Nobody knows whether Prolific at {endpoint} carried out {call} ({reason}): compare"
            " the bonuses of its submissions with what was due, and never repeat it blindly.",
            permanent=True,
        )


class Passing(CrowdError):
    """The server failed, or was asked too often: the same call may succeed soon."""


class Explained(Exception):
    """An answer that is not what Prolific's API gives: the reason, in a few words."""


def refused(
    response: httpx.Response, *, call: str, endpoint: str, repairable: bool, token: str
) -> CrowdError:
    """Of an answer with an error. With `repairable`, the call may succeed when sent again later."""
    status = response.status_code
    said = without(token, in_a_line(detail_of(response)))
    if status == TOO_MANY:
        text = f"{endpoint} cannot take {call} now, because it is called too often: {said}"
        return Passing(text, permanent=False, throttled=True)
    if status >= 500 or status == _TOO_LATE:
        text = f"{endpoint} cannot take {call} now ({status}), try again later: {said}"
        return Passing(text, permanent=False)
    if status < 400 and not response.is_success:
        return strange(call, endpoint, f"it redirects with status {status}")
    text = f"Prolific at {endpoint} refused {call} ({status}): {said}"
    repair = _REPAIRS.get(status) or _feature(said)
    if repair:
        return CrowdError(f"{text} To continue: {repair}.", permanent=False)
    return CrowdError(text, permanent=not repairable)


def _feature(said: str) -> str | None:
    """How Prolific words that an account lacks a feature."""
    words = said.lower()
    if "is_external_study_url_secure" in words:
        return "ask Prolific for secured links, or set QUORUM_PROLIFIC_SECURE_LINKS to 0"
    if "permission" in words and "completion_codes" in words:
        return "ask Prolific for screen-outs, or close the link and open one without"
    if "permission" in words and "feature" in words:
        return "ask Prolific to enable the feature for the workspace"
    return None


def unreachable(error: Exception, *, call: str, endpoint: str) -> CrowdError:
    return CrowdError(
        f"Prolific cannot be reached at {endpoint} for {call} ({type(error).__name__}): check the"
        " address and the network, and try again later.",
        permanent=False,
    )


def strange(call: str, endpoint: str, sign: str) -> CrowdError:
    return CrowdError(
        f"The server at {endpoint} did not answer {call} as Prolific does ({sign}): check the"
        " address of the API.",
        permanent=False,
    )


def detail_of(response: httpx.Response) -> str:
    """What an error says, in whichever of its forms; the text itself where it has none."""
    try:
        body = parsed(response.content)
    except Explained:
        return response.text or "no reason given"
    return " ".join(_texts(body)) or "no reason given"


def parsed(content: bytes) -> Any:
    """JSON, with exact decimals."""
    try:
        return json.loads(content, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise Explained("its answer is not JSON") from error


def is_error(body: object) -> bool:
    return isinstance(body, dict) and bool(body.get("error"))


def _texts(body: object) -> Iterator[str]:
    if not isinstance(body, Mapping):
        yield from _flat(body)
        return
    inner = body.get("error")
    if isinstance(inner, Mapping):
        yield from _texts(inner)
    elif inner:
        yield from _flat(inner)
    else:
        yield from _flat(body.get("title"))
        yield from _flat(body.get("detail") or body.get("message"))


def _flat(value: object) -> Iterator[str]:
    """A text, a list of texts, or lists of texts by field."""
    if isinstance(value, str):
        yield value if value.endswith((".", "!", "?", ":")) else f"{value}."
    elif isinstance(value, Mapping):
        for name, items in value.items():
            yield f"{name}:"
            yield from _flat(items)
    elif isinstance(value, list):
        for item in value:
            yield from _flat(item)


def in_a_line(text: str) -> str:
    line = _NOT_TEXT.sub(" ", text).strip()
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]}..."


def without(token: str, text: str) -> str:
    """Some servers repeat what they were sent."""
    return text.replace(token, "[token]") if token else text
