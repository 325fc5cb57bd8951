"""One POST to an address that may be hostile: where it leads is checked, its time is bounded.

No redirect is followed, no proxy of the environment is asked, and little of the answer is read.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import httpcore

from annotation.notifications.addresses import check_url, resolve
from core.errors import UserError

SECONDS = 15.0  # for everything together
MOST_BYTES = 64 * 2**10  # of the answer's body
FAULTS = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    httpcore.ConnectionNotAvailable,
)


class NotPosted(Exception):
    """In one sentence, why there was no answer."""


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float = SECONDS) -> int:
    """The status of the answer."""
    deadline = time.monotonic() + seconds
    network = _Network(deadline)
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    lines += [(b"Host", _host(url)), (b"Content-Length", str(len(body)).encode())]
    try:
        with httpcore.ConnectionPool(network_backend=network) as pool:
            request = httpcore.Request("POST", url, headers=lines, content=body)
            answer = pool.handle_request(request)
            try:
                _read(answer.iter_stream())
            finally:
                answer.close()
            return answer.status
    except UserError as error:
        raise NotPosted(str(error)) from error
    except FAULTS as error:
        reason = str(error) or type(error).__name__
        raise NotPosted(f"No answer: {reason}"[:300]) from error


def _host(url: str) -> bytes:
    """NotPosted where the settings no longer allow the address."""
    try:
        return check_url(url).netloc.encode()
    except UserError as error:
        raise NotPosted(str(error)) from error


def _read(stream: Iterable[bytes]) -> None:
    """So much that a usual answer is whole."""
    read = 0
    for part in stream:
        read += len(part)
        if read > MOST_BYTES:
            return


class _Network(httpcore.NetworkBackend):
    """Connects to the address that was checked, not to what the name means a moment later."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._real = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        *others, last = resolve(host, port)
        for address in others:
            try:
                return self._connect(address, port)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(last, port)

    def _connect(self, address: str, port: int) -> httpcore.NetworkStream:
        stream = self._real.connect_tcp(address, port, timeout=_left(self._deadline))
        return _Stream(stream, self._deadline)


class _Stream(httpcore.NetworkStream):
    """Each part waits no longer than what is left for all: a drop a minute is no answer."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        whole = self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline))
        return _Stream(whole, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("its time was up")
    return left
