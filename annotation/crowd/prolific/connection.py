"""HTTP calls to Prolific's API: each passes the rate limiter, and only safe ones are repeated."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific import errors
from annotation.crowd.rate_limit import RateLimiter

PRODUCTION = "https://api.prolific.com"
ROOT = "/api/v1"
ATTEMPTS = 3  # of a call that is safe to repeat
LIMIT = 200  # items of a page
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TIMEOUT = httpx.Timeout(30.0, connect=5.0)


class ProlificConnection:
    """What all parts of the client share. Threads may share it too."""

    def __init__(
        self,
        endpoint: str,
        token: str,
        rate: RateLimiter | None = None,
        timeout: httpx.Timeout = _TIMEOUT,
    ) -> None:
        _check_endpoint(endpoint)
        self.endpoint = endpoint.rstrip("/")
        self._token = token
        self.rate = rate or RateLimiter(self.endpoint, calls_per_second=0)
        if not token.isascii() or not token.isprintable() or " " in token or not token:
            raise CrowdError(
                f"The API token for {self.endpoint} is not one of Prolific's: set it to the text"
                " that the account's settings show.",
                permanent=False,
            )
        # Redirects are not followed: they would carry the token wherever they lead.
        self._http = httpx.Client(
            base_url=self.endpoint + ROOT,
            headers={"Authorization": f"Token {token}"},
            timeout=timeout,
            follow_redirects=False,
            trust_env=False,
            verify=self.endpoint.startswith("https:"),
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **query: str) -> Any:
        return self.call("GET", path, query=query, repeatable=True)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        repeatable: bool = False,
        repairable: bool = False,
    ) -> Any:
        """The JSON of the answer, None where it is empty; CrowdError for all else."""
        response = self.send(
            method, path, body, query=query, repeatable=repeatable, repairable=repairable
        )
        return self.json(response, f"{method} {path}")

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        repeatable: bool = False,
        repairable: bool = False,
    ) -> httpx.Response:
        """An answer that says success. `repeatable`: a second time does no harm."""
        call = f"{method} {path}"
        left = ATTEMPTS if repeatable else 1
        while True:
            left -= 1
            try:
                return self._attempt(method, path, body, query, repairable)
            except httpx.HTTPError as error:
                if not left:
                    raise errors.unreachable(error, call=call, endpoint=self.endpoint) from error
            except errors.Passing:
                if not left:
                    raise

    def pay(self, path: str) -> None:
        """A POST that is sent once; OutcomeUnknown where no answer tells what came of it."""
        call = f"POST {path}"
        response = None
        try:
            response = self._request("POST", path, {}, None)
            self._check(response, call, repairable=True)
        except httpx.ConnectError as error:  # nothing was sent
            raise errors.unreachable(error, call=call, endpoint=self.endpoint) from error
        except httpx.HTTPError as error:
            reason = type(error).__name__
            raise errors.OutcomeUnknown(call, self.endpoint, reason) from error
        except errors.Passing as error:
            if error.throttled:  # refused before anything was done
                raise
            raise errors.OutcomeUnknown(call, self.endpoint, str(error)) from error
        except CrowdError as error:
            if response is None or not response.is_success:
                raise
            raise errors.OutcomeUnknown(call, self.endpoint, str(error)) from error

    def pages(self, path: str, **query: str) -> Iterator[Mapping[str, Any]]:
        """Every item of a list that goes by limit and offset.

        The addresses of further pages are counted here, never taken from an answer.
        """
        offset = 0
        while True:
            body = self.get(path, **query, limit=str(LIMIT), offset=str(offset))
            items = self.results(body, path)
            yield from items
            offset += len(items)
            if not items or not _has_next(body, len(items)):
                return

    def numbered_pages(self, path: str, **query: str) -> Iterator[Mapping[str, Any]]:
        """Every item of a list that goes by page; one past the end would not be found."""
        page = 1
        while True:
            body = self.get(path, **query, page_size=str(LIMIT), page=str(page))
            items = self.results(body, path)
            yield from items
            page += 1
            if not items or not _has_next(body, len(items)):
                return

    def results(self, body: object, path: str) -> list[Mapping[str, Any]]:
        items = body.get("results") if isinstance(body, dict) else None
        if not isinstance(items, list) or not all(isinstance(it, dict) for it in items):
            raise errors.strange(f"GET {path}", self.endpoint, "no list of results")
        return items

    def _attempt(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        query: Mapping[str, str] | None,
        repairable: bool,
    ) -> httpx.Response:
        response = self._request(method, path, body, query)
        self._check(response, f"{method} {path}", repairable=repairable)
        return response

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        query: Mapping[str, str] | None,
    ) -> httpx.Response:
        self.rate.acquire()
        try:
            response = self._http.request(method, path, params=query, json=body)
        except ValueError as error:  # half a surrogate pair, or no number
            raise CrowdError(
                f"What {method} {path} should say cannot be sent: remove characters that are no"
                " text.",
                permanent=True,
            ) from error
        if response.status_code == errors.TOO_MANY:
            self.rate.penalise()
        elif response.status_code < 500:
            self.rate.relieve()
        return response

    def _check(self, response: httpx.Response, call: str, *, repairable: bool) -> None:
        if not response.is_success or self._is_error(response):
            raise errors.refused(
                response,
                call=call,
                endpoint=self.endpoint,
                repairable=repairable,
                token=self._token,
            )

    @staticmethod
    def _is_error(response: httpx.Response) -> bool:
        """Whether it says success and carries an error all the same."""
        if not response.content:
            return False
        try:
            return errors.is_error(errors.parsed(response.content))
        except errors.Explained:
            return False

    def json(self, response: httpx.Response, call: str) -> Any:
        if not response.content:
            return None
        try:
            return errors.parsed(response.content)
        except errors.Explained as error:
            raise errors.strange(call, self.endpoint, str(error)) from error


def _check_endpoint(endpoint: str) -> None:
    """The token travels with every call: never in the clear, but to this machine."""
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    else:
        local = host in LOOPBACK and parts.scheme == "http"
    if not host or not (parts.scheme == "https" or local):
        raise CrowdError(
            f"{ascii(endpoint)[:100]} cannot be Prolific's address: give one that begins with"
            f" https://, such as {PRODUCTION}.",
            permanent=False,
        )


def _has_next(body: Mapping[str, Any], number: int) -> bool:
    links = body.get("_links")
    following = links.get("next") if isinstance(links, dict) else None
    if isinstance(following, dict) and "href" in following:
        return following["href"] is not None
    return number >= LIMIT
