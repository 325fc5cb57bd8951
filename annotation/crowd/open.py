"""The crowd that the settings choose."""

from urllib.parse import urlsplit

from django.conf import settings

from annotation.crowd.base import Crowd
from annotation.crowd.mturk import MTurkCrowd
from retrieval.errors import UserError


def open_crowd(*, live: bool) -> Crowd:
    """The crowd at MTURK_ENDPOINT; UserError when it costs real money and `live` is not said."""
    endpoint = settings.MTURK_ENDPOINT
    if not _is_http_url(endpoint):
        raise UserError(
            f"AWS_ENDPOINT_URL_MTURK is {endpoint!r}, which is no http or https URL:"
            f" set it to one, such as {settings.MTURK_SANDBOX}."
        )
    crowd = MTurkCrowd(endpoint)
    if crowd.is_production and not live:
        raise UserError(
            f"{endpoint} is MTurk's production, where work costs real money:"
            " add --live to go on, or set AWS_ENDPOINT_URL_MTURK to the sandbox or the emulator."
        )
    return crowd


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or an unclosed bracket
        return False
