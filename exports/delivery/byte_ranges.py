"""A stored file as an answer of HTTP: whole or a part of it, in constant memory.

Of several ranges in one request the whole file is the answer, as of a range that is not
understood: RFC 9110 allows a server to know none. One that lies beyond the end is refused by 416.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from werkzeug.http import parse_etags, parse_range_header

CHUNK_BYTES = 1 << 16
CONTENT_TYPES: Mapping[str, str] = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".qrels": "text/plain; charset=utf-8",
    ".run": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".tsv": "text/tab-separated-values; charset=utf-8",
    ".zst": "application/zstd",
}


@dataclass(frozen=True)
class Content:
    """What is known of a file before it is opened."""

    name: str
    size: int
    sha256: str

    @property
    def etag(self) -> str:
        return f'"{self.sha256}"'

    @property
    def content_type(self) -> str:
        suffix = PurePosixPath(self.name).suffix
        return CONTENT_TYPES.get(suffix, "application/octet-stream")


class Unsatisfiable(Exception):
    """The range asked for begins beyond the file's end."""


class Slice:
    """The bytes from `start` to `stop` of an open file; closed with the response."""

    def __init__(self, file: IO[bytes], *, start: int, stop: int) -> None:
        self._file, self._start, self._stop = file, start, stop

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(self._start)
        left = self._stop - self._start
        while left and (chunk := self._file.read(min(left, CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk

    def close(self) -> None:
        self._file.close()


def wanted(request: HttpRequest, content: Content) -> tuple[int, int] | None:
    """The part asked for, start and stop; None for the whole. Raises Unsatisfiable."""
    if request.method != "GET" or request.headers.get("If-Range", content.etag) != content.etag:
        return None
    asked = parse_range_header(request.headers.get("Range"))
    if asked is None or asked.units != "bytes" or len(asked.ranges) != 1:
        return None
    start, stop = asked.ranges[0]
    if start < 0:  # the last bytes: all, where there are fewer
        start = max(0, content.size + start)
    if start >= content.size:
        raise Unsatisfiable
    return start, content.size if stop is None else min(stop, content.size)


def is_known(request: HttpRequest, content: Content) -> bool:
    """Whether the client holds this very file already."""
    header = request.headers.get("If-None-Match")
    return header is not None and parse_etags(header).contains_weak(content.sha256)


def begins(request: HttpRequest, content: Content) -> bool:
    """Whether the answer brings the file's first byte: what is resumed has been begun before."""
    if request.method != "GET" or is_known(request, content):
        return False
    try:
        part = wanted(request, content)
    except Unsatisfiable:
        return False
    return part is None or part[0] == 0


def answer(request: HttpRequest, content: Content, file: IO[bytes]) -> HttpResponseBase:
    """Takes the open file over: it is closed with the response."""
    response = _answer(request, content, file)
    response["ETag"] = content.etag
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "private, no-transform"
    if response.status_code in {200, 206}:
        digest = base64.b64encode(bytes.fromhex(content.sha256)).decode()
        response["Repr-Digest"] = f"sha-256=:{digest}:"
        # Never shown in the page's place, whatever it holds.
        response["Content-Disposition"] = str(content_disposition_header(True, content.name))
        response["X-Content-Type-Options"] = "nosniff"
    return response


def _answer(request: HttpRequest, content: Content, file: IO[bytes]) -> HttpResponseBase:
    if is_known(request, content):
        file.close()
        return HttpResponse(status=304)
    try:
        part = wanted(request, content)
    except Unsatisfiable:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{content.size}"})
    start, stop = part or (0, content.size)
    headers = {"Content-Length": str(stop - start), "Content-Type": content.content_type}
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{content.size}"
    if request.method == "HEAD":
        file.close()
        return HttpResponse(headers=headers)
    body = Slice(file, start=start, stop=stop)
    return StreamingHttpResponse(body, status=206 if part else 200, headers=headers)
