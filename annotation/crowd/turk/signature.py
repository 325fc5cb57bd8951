"""AWS's signature version 4: whose account a call is of, and that it is what was signed."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from annotation.crowd.turk.models import RequesterAccount

SERVICE = "mturk-requester"
TOLERANCE = timedelta(minutes=15)
SIGNED = {"host", "x-amz-date", "x-amz-target"}  # at least
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key_id>\w{1,128})/(?P<day>\d{8})/(?P<region>[a-z0-9-]{1,40})"
    rf"/{SERVICE}/aws4_request, *SignedHeaders=(?P<headers>[a-z0-9;-]+), *"
    r"Signature=(?P<signature>[0-9a-f]{64})",
    re.ASCII,
)


class Unsigned(Exception):
    """One of the errors that AWS's JSON protocol has for every service: `kind` names it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Sent:
    url: str
    headers: Mapping[str, str]  # whatever the case of their names
    body: bytes


def signer(sent: Sent, *, now: datetime) -> RequesterAccount:
    """The account whose secret the call is signed by, or Unsigned."""
    given, date = _authorization(sent), sent.headers["X-Amz-Date"]
    if given["day"] != date[:8]:
        raise _mismatch("The credential is of another day than X-Amz-Date.")
    _check_date(date, now)
    account = RequesterAccount.objects.filter(access_key_id=given["key_id"], active=True).first()
    if account is None:
        message = "The security token included in the request is invalid."
        raise Unsigned("UnrecognizedClientException", message)
    wanted = _signature(sent, given, account.secret_access_key)
    if not hmac.compare_digest(wanted, given["signature"]):
        raise _mismatch(
            "The request signature we calculated does not match the signature you provided. Check "
            "your AWS Secret Access Key and signing method."
        )
    return account


def _authorization(sent: Sent) -> Mapping[str, str]:
    text = sent.headers.get("Authorization", "")
    if not text:
        raise Unsigned("MissingAuthenticationTokenException", "Missing Authentication Token")
    match = AUTHORIZATION.fullmatch(text)
    if match is None:
        raise _incomplete(
            f"Authorization must be of AWS4-HMAC-SHA256, for the service {SERVICE}, with "
            "Credential, SignedHeaders and Signature."
        )
    missing = SIGNED - {*match["headers"].split(";")}
    if missing or any(name not in sent.headers for name in match["headers"].split(";")):
        raise _incomplete(f"SignedHeaders must name headers that were sent, and {sorted(SIGNED)}.")
    return match.groupdict()


def _check_date(text: str, now: datetime) -> None:
    try:
        at = datetime.strptime(text, SIGV4_TIMESTAMP).replace(tzinfo=UTC)
    except ValueError as error:
        raise _incomplete("X-Amz-Date must look like 20260131T120000Z.") from error
    if abs(at - now) > TOLERANCE:
        raise _mismatch(
            f"Signature expired: {text} is more than 15 minutes from "
            f"{now.strftime(SIGV4_TIMESTAMP)}."
        )


def _signature(sent: Sent, given: Mapping[str, str], secret: str) -> str:
    headers = {name: sent.headers[name] for name in given["headers"].split(";")}
    # What the caller says of the body is not believed, so its digest is ours.
    said = headers.get("x-amz-content-sha256")
    if said is not None and said != hashlib.sha256(sent.body).hexdigest():
        raise _mismatch("X-Amz-Content-SHA256 is not the digest of the body.")
    request = AWSRequest("POST", sent.url, headers, sent.body)
    request.context["timestamp"] = sent.headers["X-Amz-Date"]
    auth = SigV4Auth(Credentials(given["key_id"], secret), SERVICE, given["region"])
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return str(auth.signature(text, request))


def _incomplete(message: str) -> Unsigned:
    return Unsigned("IncompleteSignatureException", message)


def _mismatch(message: str) -> Unsigned:
    return Unsigned("InvalidSignatureException", message)
