"""boto3 as it comes speaks to the site's Turk; whoever does not hold the secret is refused."""

import hashlib
import http.client
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from django.conf import settings as django_settings
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.api.turk import requester
from annotation.crowd.turk.accounts import create_account, renew_keys
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.wire import store
from tests.annotation.support.turk import client_of, post_hit

BALANCE = "MTurkRequesterServiceV20170117.GetAccountBalance"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def lab(live_server: LiveServer) -> RequesterAccount:
    return create_account("lab")


@pytest.mark.parametrize(
    ("path", "balance"),
    [
        ("/turk/", "0.00"),
        ("/turk", "0.00"),
        ("/turk/sandbox/", "10000.00"),
        ("/turk/sandbox", "10000.00"),
    ],
)
def test_the_address_may_end_in_a_slash(
    live_server: LiveServer, lab: RequesterAccount, path: str, balance: str
) -> None:
    answer = client_of(lab, live_server.url, path).get_account_balance()
    assert answer["AvailableBalance"] == balance


def test_another_address_says_which_ones_are_served(
    live_server: LiveServer, lab: RequesterAccount
) -> None:
    with pytest.raises(ClientError, match="end it with /turk, for real money, or with /turk/sandb"):
        client_of(lab, live_server.url, "").get_account_balance()


def test_sandbox_and_production_are_apart(live_server: LiveServer, lab: RequesterAccount) -> None:
    production, sandbox = (
        client_of(lab, live_server.url, each) for each in ("/turk/", "/turk/sandbox")
    )
    post_hit(sandbox, MaxAssignments=3)
    assert production.list_hits()["NumResults"] == 0
    assert len(sandbox.list_hits()["HITs"]) == 1
    with pytest.raises(ClientError, match="insufficient funds"):
        post_hit(production)


def test_one_s_own_people_cost_no_fee(live_server: LiveServer, lab: RequesterAccount) -> None:
    sandbox = client_of(lab, live_server.url)
    post_hit(sandbox, reward="1.00", MaxAssignments=10)
    assert sandbox.get_account_balance() | {"ResponseMetadata": None} == {
        "AvailableBalance": "9990.00",
        "OnHoldBalance": "10.00",
        "ResponseMetadata": None,
    }


def test_accounts_are_out_of_each_other_s_reach(
    live_server: LiveServer, lab: RequesterAccount
) -> None:
    mine = client_of(lab, live_server.url)
    theirs = client_of(create_account("other"), live_server.url)
    hit_id = post_hit(mine)
    assert theirs.list_hits()["HITs"] == []
    with pytest.raises(ClientError, match="does not exist"):
        theirs.get_hit(HITId=hit_id)


def test_a_record_that_somebody_else_writes_for_long_is_unavailable_in_mturk_s_form(
    live_server: LiveServer, lab: RequesterAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    store_of(lab, Environment.SANDBOX).close()
    path = django_settings.DATA_DIR / "turk" / "lab" / f"{Environment.SANDBOX}.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ClientError) as refused:
            post_hit(client_of(lab, live_server.url))
        other.execute("ROLLBACK")
    assert refused.value.response["Error"]["Code"] == "ServiceUnavailable"
    assert post_hit(client_of(lab, live_server.url))


def code_of(client: Any) -> str:
    with pytest.raises(ClientError) as refused:
        client.get_account_balance()
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(refused.value.response["Error"]["Code"])


def test_a_wrong_secret_or_key_is_refused_as_aws_does(
    live_server: LiveServer, lab: RequesterAccount
) -> None:
    assert code_of(client_of(lab, live_server.url, secret="x" * 40)) == "InvalidSignatureException"
    unknown = RequesterAccount(name="nobody")
    assert code_of(client_of(unknown, live_server.url)) == "UnrecognizedClientException"


def test_renewed_keys_alone_are_good_at_once(
    live_server: LiveServer, lab: RequesterAccount
) -> None:
    old = client_of(lab, live_server.url)
    old.get_account_balance()
    renew_keys(lab)
    assert code_of(old) == "UnrecognizedClientException"
    assert client_of(lab, live_server.url).get_account_balance()["OnHoldBalance"] == "0.00"


def test_a_closed_account_is_refused(live_server: LiveServer, lab: RequesterAccount) -> None:
    RequesterAccount.objects.update(active=False)
    assert code_of(client_of(lab, live_server.url)) == "UnrecognizedClientException"


def test_the_files_are_their_owner_s_alone(tmp_path: Path, lab: RequesterAccount) -> None:
    with store_of(lab, Environment.PRODUCTION).writing():
        pass
    paths = [tmp_path / "turk", *(tmp_path / "turk").rglob("*")]
    assert len(paths) >= 3
    assert {path.stat().st_mode & 0o077 for path in paths} == {0}


# By hand: what boto3 would not send


def signed(
    site: str, account: RequesterAccount, body: bytes = b"{}", path: str = "/turk/sandbox/"
) -> dict[str, str]:
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": BALANCE}
    request = AWSRequest("POST", site + path, headers, body)
    credentials = Credentials(account.access_key_id, account.secret_access_key)
    SigV4Auth(credentials, "mturk-requester", "us-east-1").add_auth(request)
    return {**request.headers}


def sent(
    site: str, headers: Mapping[str, str], body: bytes = b"{}", path: str = "/turk/sandbox/"
) -> tuple[int, str]:
    connection = http.client.HTTPConnection(urlsplit(site).netloc, timeout=30)
    connection.request("POST", path, body, dict(headers))
    answer = connection.getresponse()
    said = answer.status, answer.read().decode()
    connection.close()
    return said


def test_a_signed_call_is_answered_and_not_cached(
    live_server: LiveServer, lab: RequesterAccount
) -> None:
    headers = signed(live_server.url, lab)
    assert sent(live_server.url, headers) == (
        200,
        '{"AvailableBalance":"10000.00","OnHoldBalance":"0.00"}',
    )


WRONG = {
    "nothing": ({"Authorization": ""}, "MissingAuthenticationTokenException"),
    "another scheme": ({"Authorization": "Bearer x"}, "IncompleteSignatureException"),
    "another target": (
        {"X-Amz-Target": BALANCE.replace("GetAccountBalance", "ListHITs")},
        "InvalidSignatureException",
    ),
    "another host": ({"Host": "localhost"}, "InvalidSignatureException"),
    "no date": ({"X-Amz-Date": "yesterday"}, "InvalidSignatureException"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_was_not_signed_is_refused(
    live_server: LiveServer, lab: RequesterAccount, case: str
) -> None:
    changed, kind = WRONG[case]
    status, said = sent(live_server.url, signed(live_server.url, lab) | changed)
    assert (status, f'"{kind}"' in said) == (400, True)


def test_another_body_or_address_is_refused(live_server: LiveServer, lab: RequesterAccount) -> None:
    headers = signed(live_server.url, lab)
    for body, path in ((b'{"a":1}', "/turk/sandbox/"), (b"{}", "/turk/"), (b"{}", "/turk/sandbox")):
        status, said = sent(live_server.url, headers, body, path)
        assert (status, "InvalidSignatureException" in said) == (400, True)


def test_a_digest_that_was_signed_must_be_the_body_s(
    live_server: LiveServer, lab: RequesterAccount
) -> None:
    """Else a body of one's own would follow a digest, or UNSIGNED-PAYLOAD, that was signed."""
    for digest, status in (
        (hashlib.sha256(b"{}").hexdigest(), 200),
        (hashlib.sha256(b"other").hexdigest(), 400),
        ("UNSIGNED-PAYLOAD", 400),
    ):
        headers = {"X-Amz-Target": BALANCE, "X-Amz-Content-SHA256": digest}
        request = AWSRequest("POST", f"{live_server.url}/turk/sandbox/", headers, b"{}")
        credentials = Credentials(lab.access_key_id, lab.secret_access_key)
        SigV4Auth(credentials, "mturk-requester", "us-east-1").add_auth(request)
        assert sent(live_server.url, {**request.headers})[0] == status


@pytest.mark.parametrize(("minutes", "status"), [(-16, 400), (-14, 200), (14, 200), (16, 400)])
def test_a_call_is_good_for_a_quarter_of_an_hour(
    live_server: LiveServer,
    lab: RequesterAccount,
    monkeypatch: pytest.MonkeyPatch,
    minutes: int,
    status: int,
) -> None:
    at = datetime.now(UTC) + timedelta(minutes=minutes)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: at)
    headers = signed(live_server.url, lab)
    came, said = sent(live_server.url, headers)
    assert (came, "Signature expired" in said) == (status, status == 400)


def test_a_body_is_at_most_a_mebibyte(live_server: LiveServer, lab: RequesterAccount) -> None:
    body = b" " * (1 << 20) + b"{}"
    status, said = sent(live_server.url, signed(live_server.url, lab, body), body)
    assert (status, "RequestEntityTooLarge" in said) == (413, True)
    assert sent(live_server.url, signed(live_server.url, lab, body[2:]), body[2:])[0] == 200


def test_too_many_calls_are_throttled(
    live_server: LiveServer, lab: RequesterAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requester, "CALLS_PER_MINUTE", 2)
    client = client_of(lab, live_server.url)
    for _ in range(2):
        client.get_account_balance()
    assert code_of(client) == "ThrottlingException"
