"""How often the same thing may be tried from outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.models import Attempt

KEPT = timedelta(hours=1)  # no limit looks back further


@dataclass(frozen=True)
class Limit:
    what: str
    most: int
    minutes: int
    sentence: str  # for who has to wait

    def of(self, *names: str) -> "Key":
        text = "\n".join([self.what, *names])
        # Of an address itself anybody could try them all.
        return Key(self, salted_hmac("throttle", text, algorithm="sha256").hexdigest())


class Key(NamedTuple):
    """What is limited: a name, an address, or the two together."""

    limit: Limit
    digest: str


class TooMany(Exception):
    """The limit's sentence: this attempt must not be made now."""


def attempt(keys: Sequence[Key]) -> list[Attempt]:
    """Written down before it is made, so that none slips in beside it; TooMany at a limit."""
    now = timezone.now()
    Attempt.objects.filter(at__lt=now - KEPT).delete()
    made = Attempt.objects.bulk_create([Attempt(digest=key.digest, at=now) for key in keys])
    for limit, digest in keys:
        since = now - timedelta(minutes=limit.minutes)
        if Attempt.objects.filter(digest=digest, at__gte=since).count() > limit.most:
            # A refused attempt does not make the wait longer.
            forget(made)
            raise TooMany(limit.sentence)
    return made


def reached(keys: Sequence[Key], made: Sequence[Attempt]) -> list[Key]:
    """Those whose limit these attempts have filled: of several at once, one finds itself the last.

    `made`: what `attempt` has given for the keys.
    """
    return [key for key, mine in zip(keys, made, strict=True) if _is_the_last(key, mine)]


def _is_the_last(key: Key, mine: Attempt) -> bool:
    since = mine.at - timedelta(minutes=key.limit.minutes)
    until_mine = Attempt.objects.filter(digest=key.digest, at__gte=since, pk__lte=mine.pk)
    return until_mine.count() == key.limit.most


def forget(made: Sequence[Attempt]) -> None:
    Attempt.objects.filter(pk__in=[each.pk for each in made]).delete()


def address_of(request: HttpRequest | None) -> str:
    """Of the browser: behind a proxy that speaks TLS for us, as that proxy tells it.

    Of IPv6 the network, for whoever has one address there has all of them.
    """
    if request is None:
        return ""
    if settings.PUBLIC_URL.startswith("https://"):
        given = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        if given:
            return _network(given)
    return _network(str(request.META["REMOTE_ADDR"]))


def _network(address: str) -> str:
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if isinstance(known, IPv4Address):
        return address
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return str(IPv6Network((known.packed[:8] + bytes(8), 64)))
