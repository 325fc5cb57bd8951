"""What can go wrong on the way to MTurk and back, as CrowdErrors of one sentence each."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import InvalidOperation
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from annotation.crowd.port import CrowdError

_CHECK_CREDENTIALS = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
# Refusals that pass or that somebody can repair: the same call may succeed later.
_REPAIRABLE = {
    "InsufficientFunds": "add funds to the account",
    "QualificationTypeAlreadyExists": "MTurk lists a new qualification after a while, try again",
    "RequestTimeTooSkewed": "set this machine's clock",
    "AccessDeniedException": _CHECK_CREDENTIALS,
    "ExpiredTokenException": _CHECK_CREDENTIALS,
    "IncompleteSignatureException": _CHECK_CREDENTIALS,
    "InvalidSignatureException": _CHECK_CREDENTIALS,
    "MissingAuthenticationTokenException": _CHECK_CREDENTIALS,
    "UnrecognizedClientException": _CHECK_CREDENTIALS,
}
# What they are made of comes from the settings and the policy: refused for one, refused for all,
# until somebody repairs it.
_MAKING = {"CreateHITType", "CreateHITWithHITType", "CreateQualificationType"}
_TOO_MANY = 429
_PASSING = {500, 502, 503, 504}
_THROTTLED = ("Throttl", "TooManyRequests", "RequestLimitExceeded", "SlowDown")
# How MTurk words its answer to a token that it has seen before.
_REPLAY = re.compile(r"already (exists|been processed)", re.IGNORECASE)


@contextmanager
def translated(endpoint: str) -> Iterator[None]:
    """Raises as CrowdError whatever goes wrong between here and MTurk."""
    try:
        yield
    except ClientError as error:
        raise _refused(error, endpoint) from error
    except (HTTPClientError, ConnectionError) as error:
        raise _unreachable(error, endpoint) from error
    except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError) as error:
        message = f"{endpoint} needs the credentials of an AWS account: {_CHECK_CREDENTIALS}."
        raise CrowdError(message, permanent=False) from error
    except ParamValidationError as error:
        message = f"MTurk does not take this call: {_in_a_line(str(error))}"
        raise CrowdError(message, permanent=True) from error
    except (BotoCoreError, ResponseParserError, LookupError, ValueError, InvalidOperation) as error:
        raise _not_mturk(endpoint, type(error).__name__) from error


def name(error: ClientError) -> str:
    return _name(error.response)


def _name(answer: Mapping[str, Any]) -> str:
    """MTurk's own name of the error where it gives one, else AWS's."""
    code = answer.get("TurkErrorCode") or answer.get("Error", {}).get("Code", "")
    return str(code).rpartition(".")[2]


def _status(answer: Mapping[str, Any]) -> int:
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def message(error: ClientError) -> str:
    return _in_a_line(error.response["Error"].get("Message") or "no reason given")


def is_replay(error: ClientError) -> bool:
    """Whether the call was refused only because its token has done the work before."""
    return bool(_REPLAY.search(message(error)))


def is_throttle(answer: Mapping[str, Any]) -> bool:
    """Whether an answer, as botocore has parsed it, says that we call too often."""
    return _status(answer) == _TOO_MANY or _name(answer).startswith(_THROTTLED)


def _refused(error: ClientError, endpoint: str) -> CrowdError:
    code = name(error)
    status = _status(error.response)
    throttled = is_throttle(error.response)
    if code in _REPAIRABLE:
        text = f"MTurk refused {error.operation_name}: {message(error)} To continue: "
        return CrowdError(f"{text}{_REPAIRABLE[code]}.", permanent=False)
    if status in _PASSING or throttled:
        text = f"{endpoint} cannot take {error.operation_name} now ({code}), try again later:"
        return CrowdError(f"{text} {message(error)}", permanent=False, throttled=throttled)
    if code.isdigit() or not code:  # a bare HTTP status: no MTurk answers so
        return _not_mturk(endpoint, f"HTTP status {code or status}")
    text = f"MTurk refused {error.operation_name} ({code}): {message(error)}"
    return CrowdError(text, permanent=error.operation_name not in _MAKING)


def _unreachable(error: Exception, endpoint: str) -> CrowdError:
    if isinstance(error, SSLError):
        reason = f"the TLS connection failed: {_in_a_line(str(error))}"
    else:
        reason = type(error).__name__
    return CrowdError(
        f"MTurk cannot be reached at {endpoint} ({reason}): check AWS_ENDPOINT_URL_MTURK and the"
        " network, or start the local emulator by `quorum crowd emulator`.",
        permanent=False,
    )


def _not_mturk(endpoint: str, sign: str) -> CrowdError:
    return CrowdError(
        f"The server at {endpoint} is not MTurk ({sign}): check AWS_ENDPOINT_URL_MTURK.",
        permanent=False,
    )


def _in_a_line(text: str) -> str:
    return textwrap.shorten(text, 500)
