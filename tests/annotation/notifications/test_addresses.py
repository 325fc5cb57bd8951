"""Where nothing is sent, whoever asks for it."""

import socket
import time
from typing import Any

import pytest
from pytest_django import Settings

from annotation.notifications.addresses import check_url
from annotation.notifications.post import NotPosted, post
from core.errors import UserError

INSIDE = (
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1",
    "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[ff02::1]", "[::ffff:127.0.0.1]",
    "[::ffff:10.0.0.1]", "[2002:7f00:1::]", "[64:ff9b::7f00:1]", "[2001:db8::1]",
)  # fmt: skip


@pytest.mark.parametrize("host", INSIDE)
def test_no_inner_address_is_taken(host: str) -> None:
    with pytest.raises(UserError, match="no public address"):
        check_url(f"https://{host}/hook")


@pytest.mark.parametrize("host", INSIDE)
def test_no_name_leads_inside_either(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of its addresses, as somebody's own name server may tell it at that moment."""
    lead_to(monkeypatch, "93.184.215.14", host.strip("[]"))
    with pytest.raises(NotPosted, match="no public address"):
        post("https://example.org/hook", b"", {})


def lead_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    rows: list[Any] = [(0, 0, 0, "", (address, 443)) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost"])
def test_numbers_and_names_of_this_machine_lead_nowhere(host: str) -> None:
    with pytest.raises(NotPosted, match=r"no public address|cannot be found"):
        post(f"https://{host}/hook", b"", {})


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://example.org/", "must begin with https://"),
        ("ftp://example.org/", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https://", "must begin with https://"),
        ("example.org", "must begin with https://"),
        ("https://ada:secret@example.org/", "no user, password"),
        ("https://example.org/#part", "no user, password"),
        ("https://example.org/a b", "one word"),
        ("https://example.org/\r\nX: y", "one word"),
        ("https://exämple.org/", "ASCII"),
        ("https://example.org:99999/", "is no URL"),
        ("https://[::1/", "is no URL"),
        ("https://example.org/" + "x" * 500, "at most 500"),
    ],
)
def test_what_is_no_address_is_refused_in_a_sentence(url: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        check_url(url)


@pytest.mark.parametrize("url", ["https://example.org/x?y=z", "https://8.8.8.8:8443/"])
def test_public_ones_are_taken(url: str) -> None:
    assert check_url(url).hostname


def test_a_drop_at_a_time_is_no_answer(settings: Settings) -> None:
    settings.WEBHOOKS_HTTP = settings.WEBHOOKS_PRIVATE = True
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes the connection, says nothing
        began = time.monotonic()
        port = server.getsockname()[1]
        with pytest.raises(NotPosted, match="No answer"):
            post(f"http://127.0.0.1:{port}/", b"{}", {}, seconds=0.3)
        assert time.monotonic() - began < 3
