"""Requesters' accounts with money and people who are signed in, for `benchmarks.turk`."""

import json
import sys

from django.utils import timezone

from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.payments import book_deposits
from benchmarks.judging.inputs import make_members


def main() -> None:
    requesters, people, cents = map(int, sys.argv[1:])
    keys = []
    for number in range(requesters):
        account = create_account(f"lab{number}")
        account.deposits.create(cents=cents, made_at=timezone.now())
        book_deposits(account)
        keys.append([account.access_key_id, account.secret_access_key])
    sessions = [session for _, session in make_members(people)]
    print(json.dumps({"keys": keys, "sessions": sessions}))
