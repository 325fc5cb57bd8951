"""A stored file over HTTP: whole, in part, not at all."""

import base64
import hashlib
import io
import re

import pytest
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from exports.delivery.byte_ranges import CHUNK_BYTES, CONTENT_TYPES, Content, answer, begins

BYTES = bytes(range(256)) * 5
FIRST = re.compile(r"(\d+)-(\d*)")
LAST = re.compile(r"-(\d+)")


class Watched(io.BytesIO):
    """Knows how much was ever read at once."""

    most = 0

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        self.most = max(self.most, len(found))
        return found


def request(method: str = "GET", **headers: str) -> HttpRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return RequestFactory().generic(method, "/a", headers=named)


def content_of(data: bytes, name: str = "train.jsonl") -> Content:
    return Content(name, len(data), hashlib.sha256(data).hexdigest())


def ask(data: bytes = BYTES, method: str = "GET", **headers: str) -> HttpResponseBase:
    return answer(request(method, **headers), content_of(data), io.BytesIO(data))


def body(response: HttpResponseBase) -> bytes:
    return response.getvalue()


def test_the_whole_file_comes_with_all_that_proves_it() -> None:
    response = ask()
    digest = hashlib.sha256(BYTES)
    assert response.status_code == 200
    assert body(response) == BYTES
    assert response["Content-Length"] == "1280"
    assert response["Content-Type"] == "application/jsonl"
    assert response["Content-Disposition"] == 'attachment; filename="train.jsonl"'
    assert response["Accept-Ranges"] == "bytes"
    assert response["ETag"] == f'"{digest.hexdigest()}"'
    assert response["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "Content-Range" not in response


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-9", 0, 10),
        ("bytes=10-", 10, 1280),
        ("bytes=-5", 1275, 1280),
        ("bytes=-9999", 0, 1280),
        ("bytes=1279-", 1279, 1280),
        ("bytes=1000-99999", 1000, 1280),
        ("BYTES = 3-4", 3, 5),
    ],
)
def test_a_part_is_what_was_asked_for(asked: str, start: int, stop: int) -> None:
    response = ask(Range=asked)
    assert response.status_code == 206
    assert body(response) == BYTES[start:stop]
    assert response["Content-Range"] == f"bytes {start}-{stop - 1}/1280"
    assert response["Content-Length"] == str(stop - start)


@pytest.mark.parametrize("asked", ["bytes=1280-", "bytes=1280-1290", "bytes=99999999999999999999-"])
def test_a_part_beyond_the_end_is_refused_with_the_size(asked: str) -> None:
    response = ask(Range=asked)
    assert response.status_code == 416
    assert response["Content-Range"] == "bytes */1280"
    assert "Content-Disposition" not in response
    assert body(response) == b""


@pytest.mark.parametrize(
    "asked",
    ["bytes=0-1,4-5", "bytes=5-4", "bytes=a-b", "lines=0-1", "bytes", "", "bytes=-0", "0-1", "é=1"],
)
def test_what_is_no_single_range_of_bytes_brings_the_whole(asked: str) -> None:
    response = ask(Range=asked)
    assert response.status_code == 200
    assert body(response) == BYTES


def test_an_empty_file_is_whole_and_has_no_parts() -> None:
    assert body(ask(b"")) == b""
    assert ask(b"")["Content-Length"] == "0"
    assert ask(b"", Range="bytes=0-").status_code == 416
    assert ask(b"", Range="bytes=-1").status_code == 416


def test_head_says_all_and_brings_nothing() -> None:
    response = ask(method="HEAD", Range="bytes=5-")
    assert response.status_code == 200  # a range is of GET alone
    assert response["Content-Length"] == "1280"
    assert response["Content-Disposition"] == 'attachment; filename="train.jsonl"'
    assert not response.streaming
    assert body(response) == b""


@pytest.mark.parametrize("known", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
def test_who_holds_the_file_already_gets_nothing(known: str) -> None:
    sha256 = content_of(BYTES).sha256
    response = ask(If_None_Match=known.format(sha256), Range="bytes=5-")
    assert response.status_code == 304
    assert response["ETag"] == f'"{sha256}"'
    assert body(response) == b""


def test_who_holds_another_file_gets_this_one() -> None:
    assert ask(If_None_Match='"other"').status_code == 200


def test_a_part_is_of_the_file_whose_beginning_the_client_has() -> None:
    etag = content_of(BYTES).etag
    assert ask(Range="bytes=5-", If_Range=etag).status_code == 206
    for other in ('"other"', f"W/{etag}", "Sat, 21 Nov 2026 12:00:00 GMT"):
        response = ask(Range="bytes=5-", If_Range=other)
        assert response.status_code == 200, other
        assert body(response) == BYTES


@pytest.mark.parametrize(
    ("counted", "method", "headers"),
    [
        (True, "GET", {}),
        (True, "GET", {"Range": "bytes=0-99"}),
        (True, "GET", {"Range": "bytes=0-1,5-6"}),
        (True, "GET", {"Range": "bytes=7-", "If_Range": '"other"'}),
        (False, "GET", {"Range": "bytes=7-"}),
        (False, "GET", {"Range": "bytes=-7"}),
        (False, "GET", {"Range": "bytes=1280-"}),
        (False, "GET", {"If_None_Match": "*"}),
        (False, "HEAD", {}),
    ],
)
def test_a_download_begins_with_the_first_byte(
    counted: bool, method: str, headers: dict[str, str]
) -> None:
    assert begins(request(method, **headers), content_of(BYTES)) is counted


@pytest.mark.django_db  # at its end a response gives the connection back
def test_a_large_file_is_read_a_little_at_a_time_and_closed() -> None:
    data = b"x" * (5 * CHUNK_BYTES + 7)
    file = Watched(data)
    response = answer(request(Range="bytes=3-"), content_of(data), file)
    assert isinstance(response, StreamingHttpResponse)
    chunks = list(response)
    assert b"".join(chunks) == data[3:]
    assert file.most == max(map(len, chunks)) == CHUNK_BYTES
    response.close()
    assert file.closed


@pytest.mark.parametrize(
    "headers", [{"If_None_Match": "*"}, {"Range": "bytes=9999-"}], ids=["304", "416"]
)
def test_a_file_that_is_not_sent_is_closed(headers: dict[str, str]) -> None:
    file = Watched(BYTES)
    answer(request(**headers), content_of(BYTES), file)
    assert file.closed


def test_a_name_that_browsers_would_show_is_still_saved() -> None:
    for name in ("plot.svg", "page.html", "card.md"):
        response = answer(request(), content_of(BYTES, name), io.BytesIO(BYTES))
        assert response["Content-Disposition"].startswith("attachment")
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert content_of(BYTES, "page.html").content_type == "application/octet-stream"
    assert "text/html" not in CONTENT_TYPES.values()


def expected(header: str, size: int) -> tuple[int, tuple[int, int]]:
    """The status and the slice by RFC 9110, written another way."""
    units, _, spec = header.partition("=")
    if units != "bytes" or "," in spec:
        return 200, (0, size)
    if found := FIRST.fullmatch(spec):
        first, last = int(found[1]), int(found[2]) if found[2] else size - 1
        if found[2] and last < first:
            return 200, (0, size)
        return (206, (first, min(last + 1, size))) if first < size else (416, (0, 0))
    if (found := LAST.fullmatch(spec)) and int(found[1]):
        return (206, (max(0, size - int(found[1])), size)) if size else (416, (0, 0))
    return 200, (0, size)


numbers = st.integers(0, 40).map(str) | st.just("")
specs = st.builds("{}-{}".format, numbers, numbers)
headers = st.builds(
    "{}={}".format,
    st.sampled_from(["bytes", "bytes", "bytes", "items"]),
    st.lists(specs, min_size=1, max_size=3).map(",".join),
) | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)


@given(header=headers, data=st.binary(max_size=30))
def test_any_range_brings_the_bytes_that_slicing_brings_or_an_error(
    header: str, data: bytes
) -> None:
    status, (start, stop) = expected(header, len(data))
    response = ask(data, Range=header)
    assert response.status_code == status
    assert body(response) == data[start:stop]
    if status == 206:
        assert response["Content-Range"] == f"bytes {start}-{stop - 1}/{len(data)}"
        assert response["Content-Length"] == str(stop - start)
