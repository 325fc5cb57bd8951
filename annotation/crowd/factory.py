"""The crowd that a campaign's policy names, as the settings say where it is."""

from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from django.conf import settings

from annotation.crowd.inhouse.adapter import ENDPOINT as INHOUSE_ENDPOINT
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.crowd.mturk.endpoints import is_amazon, is_production
from annotation.crowd.port import Crowd
from annotation.crowd.rate_limit import LOCAL, RateLimiter
from annotation.protocol.policy.policy import CrowdKind
from core.errors import UserError

AMAZON_CALLS_PER_SECOND = 10  # MTurk names no number; where this one is too high, it tells us so


@dataclass(frozen=True)
class Place:
    """Where a crowd's work goes, as pages tell it: told without opening the crowd."""

    endpoint: str
    is_production: bool
    is_local: bool


def place_of(kind: CrowdKind) -> Place:
    if kind == "inhouse":
        return Place(INHOUSE_ENDPOINT, is_production=False, is_local=True)
    endpoint = _mturk_endpoint()
    return Place(endpoint, is_production=is_production(endpoint), is_local=False)


def open_crowd(kind: CrowdKind, *, live: bool, shared_rate: bool = True) -> Crowd:
    """UserError when it costs real money and `live` is not said.

    With `shared_rate` its calls count with those of all processes.
    """
    return InhouseCrowd() if kind == "inhouse" else _mturk(live=live, shared_rate=shared_rate)


def _mturk(*, live: bool, shared_rate: bool) -> MTurkCrowd:
    endpoint = _mturk_endpoint()
    calls = calls_per_second(endpoint)
    storage = settings.CROWD_RATE_STORAGE if shared_rate else LOCAL
    crowd = MTurkCrowd(endpoint, _rate(endpoint, calls, storage))
    if crowd.is_production and not live:
        raise UserError(
            f"{endpoint} is MTurk's production, where work costs real money:"
            " add --live to go on, or set AWS_ENDPOINT_URL_MTURK to the sandbox or the emulator."
        )
    return crowd


def _mturk_endpoint() -> str:
    endpoint: str = settings.MTURK_ENDPOINT
    if not _is_http_url(endpoint):
        raise UserError(
            f"AWS_ENDPOINT_URL_MTURK is {endpoint!r}, which is no http or https URL:"
            f" set it to one, such as {settings.MTURK_SANDBOX}."
        )
    return endpoint


def calls_per_second(endpoint: str) -> int:
    """As the settings say, else what suits the endpoint; 0: no limit."""
    if settings.CROWD_CALLS_PER_SECOND is not None:
        return int(settings.CROWD_CALLS_PER_SECOND)
    return AMAZON_CALLS_PER_SECOND if is_amazon(endpoint) else 0


@cache  # all crowds of a process count together
def _rate(endpoint: str, calls_per_second: int, storage: str) -> RateLimiter:
    return RateLimiter(endpoint, calls_per_second=calls_per_second, storage=storage)


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or an unclosed bracket
        return False
