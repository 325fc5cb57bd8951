"""Which of the crowd's web sites belongs to which endpoint of MTurk's API."""

from urllib.parse import urlsplit

from annotation.crowd.port import CrowdSite

MTURK_SITE = "https://www.mturk.com"
MTURK_SANDBOX_SITE = "https://workersandbox.mturk.com"
SUBMIT_PATH = "/mturk/externalSubmit"
SETTING = "AWS_ENDPOINT_URL_MTURK"

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK = {"127.0.0.1", "localhost"}


def is_amazon(endpoint: str) -> bool:
    return _host(endpoint).endswith((".amazonaws.com", ".api.aws"))


def is_sandbox(endpoint: str) -> bool:
    return is_amazon(endpoint) and _host(endpoint).startswith("mturk-requester-sandbox.")


def crowd_site(endpoint: str) -> CrowdSite:
    if is_sandbox(endpoint):
        money = "This was Amazon's sandbox, which is closed: no real money moves."
        return CrowdSite(endpoint, "MTurk's sandbox", SETTING, money, is_public=True)
    if is_amazon(endpoint):
        money = (
            "This was Amazon's production, which is closed: if it answers, publishing spends real"
            " money, and submitted work cannot be taken back."
        )
        name = "MTurk's production"
        return CrowdSite(endpoint, name, SETTING, money, is_production=True, is_public=True)
    money = "This is an emulator, not Amazon: no real money moves."
    return CrowdSite(endpoint, "an MTurk emulator", SETTING, money)


def site_of(endpoint: str) -> str:
    """Where the workers of an MTurk endpoint submit: its own origin where it is not Amazon's."""
    if not is_amazon(endpoint):
        return origin_of(endpoint) or endpoint
    return MTURK_SANDBOX_SITE if is_sandbox(endpoint) else MTURK_SITE


def spellings(origin: str) -> tuple[str, ...]:
    """The origin and, for a server on this machine, its other names: people type either."""
    scheme, _, rest = origin.partition("://")
    host, colon, port = rest.partition(":")
    if host not in _LOOPBACK:
        return (origin,)
    return tuple(f"{scheme}://{name}{colon}{port}" for name in (host, *_LOOPBACK - {host}))


def origin_of(url: str) -> str | None:
    """scheme://host[:port] in one spelling; None where `url` is not an address of a web server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = "" if port in {None, _DEFAULT_PORTS[parts.scheme]} else f":{port}"
    return f"{parts.scheme}://{host}{shown}"


def _host(url: str) -> str:
    origin = origin_of(url) or ""
    return origin.partition("://")[2].partition(":")[0]
