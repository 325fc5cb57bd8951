"""The connection to one endpoint of MTurk's API; every call on it passes the rate limiter."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from boto3.session import Session
from botocore.config import Config

from annotation.crowd.mturk.endpoints import is_amazon
from annotation.crowd.mturk.errors import is_throttle
from annotation.crowd.rate_limit import RateLimiter

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

REGION = "us-east-1"  # the only one that MTurk has
THREADS = 16  # may call at once over one client

# botocore sends a call again whose answer was late, though MTurk may have carried it out. That is
# safe with every call made here: create, extend and bonus carry a token, a name makes one
# qualification, a refused review or deletion is looked up, and the others set what is set already.
# Only a notice to workers can be sent twice.
_CONFIG = Config(
    region_name=REGION,
    retries={"mode": "standard", "total_max_attempts": 3},
    connect_timeout=5,
    read_timeout=30,
    max_pool_connections=THREADS,
)


class MTurkConnection:
    """What all parts of the adapter share. Threads may share it: clients of boto3 allow that."""

    def __init__(self, endpoint: str, rate: RateLimiter | None = None) -> None:
        self._endpoint = endpoint
        self.rate = rate or RateLimiter(endpoint, calls_per_second=0)
        self._client = self._connect()

    def _connect(self) -> "MTurkClient":
        # Who is not Amazon has no account to bill and reads no signature: the emulator needs no
        # credentials and is not shown any. For Amazon boto3 finds them as it always does.
        nobody = None if is_amazon(self._endpoint) else "local"
        client = Session().client(
            "mturk",
            endpoint_url=self._endpoint,
            config=_CONFIG,
            aws_access_key_id=nobody,
            aws_secret_access_key=nobody,
        )
        # Both come with every attempt: with each page of a list and each retry of botocore's own.
        # First, because the signature that is made here too must not grow old while we wait.
        client.meta.events.register_first("request-created.mturk", self._before_attempt)
        client.meta.events.register("response-received.mturk", self._after_attempt)
        return client

    def _before_attempt(self, **_: object) -> None:
        self.rate.acquire()

    def _after_attempt(self, parsed_response: Mapping[str, Any] | None, **_: object) -> None:
        if parsed_response is None:  # no answer
            return
        if is_throttle(parsed_response):
            self.rate.penalise()
        elif "Error" not in parsed_response:
            self.rate.relieve()
