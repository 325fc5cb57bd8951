"""Addresses of webhooks are anybody's guess: which are taken, and which are connected to."""

import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from core.errors import UserError

MOST_URL = 500
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.ip_network("64:ff9b::/96")


def check_url(url: str) -> SplitResult:
    """Its parts; UserError where it cannot be sent to. Names are resolved at each call."""
    if len(url) > MOST_URL or not (url.isascii() and url.isprintable()) or " " in url:
        raise UserError(
            f"The address must be one word of at most {MOST_URL} ASCII characters: write other "
            "characters percent-encoded, a host in its xn-- form."
        )
    try:
        parts = urlsplit(url)
        _ = parts.port  # read, it is checked
    except ValueError as error:
        raise UserError(f"The address is no URL ({error}).") from error
    schemes = ("https", "http") if settings.WEBHOOKS_HTTP else ("https",)
    if parts.scheme not in schemes or not parts.hostname:
        raise UserError(f"The address must begin with {' or '.join(f'{s}://' for s in schemes)}.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise UserError("The address must have no user, password or #fragment.")
    try:
        literal = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return parts
    check_address(literal)
    return parts


def resolve(host: str, port: int) -> list[str]:
    """The addresses to connect to, each of which may be; UserError where any may not."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UserError(f"The host {host} cannot be found.") from error
    addresses = list(dict.fromkeys(str(row[4][0]).partition("%")[0] for row in answers))
    for address in addresses:
        check_address(ipaddress.ip_address(address))
    return addresses


def check_address(address: Address) -> None:
    if not settings.WEBHOOKS_PRIVATE and not all(map(_is_public, (address, *_within(address)))):
        raise UserError(f"{address} is no public address: nothing is sent there.")


def _is_public(address: Address) -> bool:
    return address.is_global and not address.is_multicast and not address.is_reserved


def _within(address: Address) -> list[Address]:
    """IPv4 addresses that an IPv6 one leads to."""
    if not isinstance(address, ipaddress.IPv6Address):
        return []
    nat = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None
    inner = (address.ipv4_mapped, address.sixtofour, nat, *(address.teredo or ()))
    return [one for one in inner if one is not None]
