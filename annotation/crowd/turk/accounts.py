"""Requesters' accounts: made, named, counted."""

import re
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.crowd.emulator.state import money
from annotation.crowd.turk.models import NAME, RequesterAccount, new_key_id, new_secret
from annotation.crowd.turk.payments import book_deposits
from annotation.crowd.turk.stores import Environment, store_of
from core.errors import UserError


def create_account(name: str, owner: User | None = None) -> RequesterAccount:
    if not re.fullmatch(NAME, name):
        raise UserError(
            f"An account cannot be called {name!r}: use 1 to 50 small letters, digits and dashes, "
            "and begin with a letter or a digit."
        )
    try:
        with transaction.atomic():
            return RequesterAccount.objects.create(
                name=name, owner=owner, created_at=timezone.now(), currency=settings.CURRENCY
            )
    except IntegrityError as error:
        raise UserError(f"There is an account {name} already: choose another name.") from error


def renew_keys(account: RequesterAccount) -> None:
    """The old ones are refused from now on."""
    account.access_key_id, account.secret_access_key = new_key_id(), new_secret()
    account.save(update_fields=["access_key_id", "secret_access_key"])


def named_account(name: str) -> RequesterAccount:
    # A database cannot even be asked for some texts.
    account = RequesterAccount.objects.filter(name=name).first() if _is_name(name) else None
    if account is None:
        raise UserError(f"There is no account {name!r}: `quorum turk accounts` lists them all.")
    return account


def _is_name(name: str) -> bool:
    return re.fullmatch(NAME, name) is not None


def figures_of(account: RequesterAccount) -> dict[str, Any]:
    """In production."""
    book_deposits(account)
    with store_of(account, Environment.PRODUCTION).reading() as session:
        balance = money.balance(session)
        [hits] = session.db.execute("SELECT COUNT(*) FROM hits").fetchone()
    return {
        "account": account.name,
        "access_key_id": account.access_key_id,
        "active": account.active,
        "available_cents": balance["available"],
        "on_hold_cents": balance["on_hold"],
        "spent_cents": balance["spent"],
        "hits": hits,
    }
