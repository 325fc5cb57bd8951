"""What the client makes of answers of every form, and what it never says: the token."""

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.errors import OutcomeUnknown
from tests.annotation.crowd.prolific.impostor import impostor
from tests.annotation.crowd.prolific.world import NOBODY, Prolific, client_at

TOKEN = "SECRET-token-123"
E = b'{"status": 400, "error_code": 1, "title": "Validation error", "detail": %s}'
SAID: list[tuple[int, bytes, str, bool]] = [
    (400, b'{"error": %s}' % (E % b'"No."'), "Validation error. No.", True),
    (400, E % b'"No."', "Validation error. No.", True),
    (400, E % b'["One.", "Two."]', "One. Two.", True),
    (400, E % b'{"name": ["Too long."], "reward": ["Too low."]}', "name: Too long. reward:", True),
    (400, b'{"message": "M", "detail": null}', "M.", True),
    (400, b'{"error": "plain"}', "plain.", True),
    (400, b"<html>\n<b>Bad</b>\x1b[31m", "<html> <b>Bad</b> [31m", True),
    (400, b"", "no reason given", True),
    (400, b"{}", "no reason given", True),
    (401, b'{"detail": "Invalid token."}', "check the API token", False),
    (403, b"{}", "check what the API token may do", False),
    (404, b'{"error": %s}' % (E % b'"Not found."'), "Not found.", True),
    (400, E % b'"No permission to use this feature."', "ask Prolific to enable", False),
    (200, b'{"error": {"detail": "Failed."}}', "Failed.", True),
    (302, b"", "redirects with status 302", False),
    (200, b"<html>", "not JSON", False),
    (200, b"[]", "cannot be read", False),
    (200, b'{"id": "../x"}', "cannot be read (id)", False),
    (503, b"<html>Busy</html>", "try again later", False),
    (400, b'"' + b"x" * 9_000 + b'"', "x...", True),
]


@pytest.mark.parametrize(("status", "body", "sentence", "permanent"), SAID)
def test_each_form_of_an_error_becomes_one_sentence(
    status: int, body: bytes, sentence: str, permanent: bool
) -> None:
    with (
        impostor(status, body, Location="http://evil.example/") as (url, _),
        client_at(url, TOKEN) as client,
        pytest.raises(CrowdError) as failed,
    ):
        client.submissions.get(NOBODY)
    message = str(failed.value)
    assert sentence in message
    assert failed.value.permanent == permanent
    assert not failed.value.throttled
    assert message.isprintable()
    assert len(message) < 800


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_token_is_never_said(status: int) -> None:
    body = f'{{"detail": "You sent Token {TOKEN}."}}'.encode()
    with (
        impostor(status, body) as (url, _),
        client_at(url, TOKEN) as client,
        pytest.raises(CrowdError) as failed,
    ):
        client.workspaces.me()
    assert TOKEN not in str(failed.value)
    assert TOKEN not in repr(failed.value.__cause__)
    assert "[token]" in str(failed.value)


@pytest.mark.parametrize("status", [200, 202, 408, 500, 502, 504])
def test_a_payment_is_unknown_where_an_answer_says_neither_yes_nor_no(status: int) -> None:
    with (
        impostor(status, b'{"error": {"detail": "Something."}}') as (url, asked),
        client_at(url) as client,
        pytest.raises(OutcomeUnknown, match="Something"),
    ):
        client.bonuses.pay(NOBODY)
    assert len(asked) == 1


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 409, 422, 429])
def test_a_payment_that_is_refused_was_not_made(status: int) -> None:
    with (
        impostor(status, b'{"error": {"detail": "Something."}}') as (url, asked),
        client_at(url) as client,
        pytest.raises(CrowdError) as refused,
    ):
        client.bonuses.pay(NOBODY)
    assert not isinstance(refused.value, OutcomeUnknown)
    assert len(asked) == 1


ADDRESSES = [
    "http://api.prolific.com", "api.prolific.com", "", "https://", "https://[x", "ftp://127.0.0.1",
    "https://x:99999", "http://127.0.0.1.evil.example", "javascript:alert(1)",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_token_travels_in_the_clear_to_this_machine_alone(address: str) -> None:
    with pytest.raises(CrowdError, match="begins with https://"):
        client_at(address)


@pytest.mark.parametrize("token", ["", "a b", "x\r\nX-Evil: 1", "tökn", "\x00"])
def test_a_token_that_is_none_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(CrowdError, match="set it to the text") as failed:
        client_at("http://127.0.0.1:1", token)
    assert not token or token not in str(failed.value)


def test_a_wrong_token_is_said_to_be_wrong(prolific: Prolific) -> None:
    with (
        client_at(f"{prolific.url}/", "wrong") as client,
        pytest.raises(CrowdError, match="check the API token"),
    ):
        client.workspaces.me()
