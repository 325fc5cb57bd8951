"""The record of an account: a file for real money, and another one to try things in."""

import time
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path

from django.conf import settings

from annotation.crowd.emulator.store import Store
from annotation.crowd.turk.models import RequesterAccount


class Environment(StrEnum):
    PRODUCTION = "production"
    SANDBOX = "sandbox"


OPENING_CENTS = {Environment.PRODUCTION: 0, Environment.SANDBOX: 1_000_000}


def store_of(account: RequesterAccount, environment: Environment) -> Store:
    return _open(Path(settings.DATA_DIR) / "turk", account.name, environment)


def open_stores(environment: Environment) -> Iterator[tuple[RequesterAccount, Store]]:
    """Of the accounts that are open."""
    for account in RequesterAccount.objects.filter(active=True).order_by("name"):
        yield account, store_of(account, environment)


def is_in_use() -> bool:
    """Whether any account has a record here."""
    return (Path(settings.DATA_DIR) / "turk").is_dir()


class AccountStore(Store):
    """What is paid by it is paid in truth."""

    synchronous = "FULL"


@cache
def _open(root: Path, name: str, environment: Environment) -> Store:
    for folder in (root, root / name):
        folder.mkdir(mode=0o700, exist_ok=True)
    path = root / name / f"{environment}.sqlite3"
    path.touch(mode=0o600)
    cents = OPENING_CENTS[environment]
    return AccountStore(path, balance_cents=cents, clock=time.time, charges_fees=False)
