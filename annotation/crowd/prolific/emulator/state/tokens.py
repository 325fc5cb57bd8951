"""Secured links: a token that says who was sent to which study, and the key that it is checked by.

Each process signs with a key of its own; a token lives two minutes.
"""

from functools import cache
from urllib.parse import parse_qsl, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from annotation.crowd.prolific.emulator.session import Session
from annotation.crowd.wire.session import Row

SECONDS = 120
ISSUER = "https://www.prolific.com"


@cache
def signing_key() -> RSAKey:
    return RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, auto_kid=True)


def secured(session: Session, submission: Row, url: str) -> str:
    """The address with a token about its parameters."""
    parts = urlsplit(url)
    claims = {
        "iss": ISSUER,
        "iat": int(session.now),
        "exp": int(session.now) + SECONDS,
        "aud": url if session.readings.audience_of_links == "url" else parts.hostname,
        "sub": submission["submission_id"],
        "prolific": dict(parse_qsl(parts.query)),
        "workspace_id": submission["workspace_id"],
    }
    key = signing_key()
    token = jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)
    return f"{url}{'&' if parts.query else '?'}prolific_token={token}"


def published() -> dict[str, object]:
    public = signing_key().as_dict(private=False)
    return {"keys": [{**public, "key_ops": ["verify"]}]}
