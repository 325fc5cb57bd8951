"""The crowd that a campaign's policy names, as the settings say where it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from annotation.crowd.inhouse.adapter import INHOUSE_SITE, PANEL_SITE, InhouseCrowd
from annotation.crowd.inhouse.models import PanelLink
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.crowd.mturk.endpoints import crowd_site
from annotation.crowd.port import Crowd, CrowdError, CrowdSite, Studies
from annotation.crowd.prolific.adapter import ProlificCrowd, prolific_site
from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.connection import ProlificConnection
from annotation.crowd.prolific.events import hook_url
from annotation.crowd.prolific.links import ProlificStudies
from annotation.crowd.rate_limit import LOCAL, RateLimiter
from annotation.protocol.policy.crowds import CrowdKind
from annotation.protocol.policy.panels import PANELS
from core.errors import UserError

NO_STUDIES = Studies()
TURK = ("/turk", "/turk/sandbox")  # of a Quorum site's addresses


@dataclass(frozen=True)
class Provider:
    """How one kind of crowd is reached."""

    site: Callable[[], CrowdSite]
    open: Callable[[CrowdSite, str], Crowd]  # by a site, counting its calls in a storage
    studies: Studies = NO_STUDIES
    fees: Callable[[], Mapping[str, Any]] = dict  # of the account there, by the policy's fields


def studies_of(link: PanelLink) -> Studies:
    return PROVIDERS[PANELS[link.panel].crowd.kind].studies


def site_of(kind: CrowdKind) -> CrowdSite:
    return PROVIDERS[kind].site()


def check_live(site: CrowdSite, *, live: bool) -> None:
    """UserError where work costs real money and `live` is not said."""
    if site.is_production and not live:
        raise UserError(
            f"{site.endpoint} is {site.name}, where work costs real money: add --live to continue"
            f" (in the API `live` as true), or set {site.setting} to the sandbox or the emulator."
        )


def open_crowd(kind: CrowdKind, *, live: bool, shared_rate: bool = True) -> Crowd:
    """UserError as of `check_live`.

    With `shared_rate` its calls count with those of all processes.
    """
    site = site_of(kind)
    check_live(site, live=live)
    return PROVIDERS[kind].open(site, settings.CROWD_RATE_STORAGE if shared_rate else LOCAL)


def _open_mturk(site: CrowdSite, storage: str) -> Crowd:
    return MTurkCrowd(site.endpoint, _rate(site.endpoint, storage))


def _open_prolific(site: CrowdSite, storage: str) -> Crowd:
    if not settings.PROLIFIC_TOKEN:
        raise UserError("Prolific's API token is missing: set QUORUM_PROLIFIC_TOKEN.")
    rate = _rate(site.endpoint, storage)
    try:
        client = ProlificClient(ProlificConnection(site.endpoint, settings.PROLIFIC_TOKEN, rate))
    except CrowdError as error:
        raise UserError(str(error)) from error
    project = settings.PROLIFIC_PROJECT
    return ProlificCrowd(site, client, project_id=project, hook_url=hook_url())


def _mturk_endpoint() -> str:
    endpoint: str = settings.MTURK_ENDPOINT
    if not _is_http_url(endpoint):
        raise UserError(
            f"AWS_ENDPOINT_URL_MTURK is {endpoint!r}, which is not an http or https URL:"
            " set it to one, such as http://127.0.0.1:8001."
        )
    if urlsplit(endpoint).path.rstrip("/").endswith(TURK):
        raise UserError(
            f"AWS_ENDPOINT_URL_MTURK is {endpoint!r}, the Turk of a Quorum site, which is for"
            " programs: to have its people judge a campaign, create it there with --crowd inhouse."
        )
    return endpoint


@cache  # all crowds of a process count together
def _rate(endpoint: str, storage: str) -> RateLimiter:
    calls = settings.CROWD_CALLS_PER_SECOND
    return RateLimiter(endpoint, calls_per_second=calls, storage=storage)


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or an unclosed bracket
        return False


PROVIDERS: Mapping[CrowdKind, Provider] = {
    "mturk": Provider(lambda: crowd_site(_mturk_endpoint()), _open_mturk),
    "inhouse": Provider(lambda: INHOUSE_SITE, lambda _site, _storage: InhouseCrowd()),
    "prolific": Provider(
        lambda: prolific_site(settings.PROLIFIC_ENDPOINT),
        _open_prolific,
        ProlificStudies(),
        lambda: {
            "fee_permille": settings.PROLIFIC_FEE_PERMILLE,
            "vat_permille": settings.PROLIFIC_VAT_PERMILLE,
        },
    ),
    "panel": Provider(lambda: PANEL_SITE, lambda site, _storage: InhouseCrowd(site)),
}
