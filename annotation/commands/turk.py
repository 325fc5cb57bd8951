"""`quorum turk`: a Mechanical Turk for your own people, and the accounts of its requesters."""

import csv
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from django.conf import settings
from django.core.management import call_command

from annotation.access.audit_log import by_command, logged
from annotation.crowd.turk.accounts import (
    create_account,
    figures_of,
    named_account,
    renew_keys,
)
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.payments import HEAD, lines_of, numbered_payout
from annotation.pipeline.ledger.dollars import dollars
from core.command import Noun, Result
from core.errors import UserError
from core.files.csv_safety import harmless
from core.output import Facts, Rendered, Rows

app = Noun("A Mechanical Turk for your own people: accounts of requesters, deposits, pay-outs.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.")]


def _variables(result: Result) -> Rendered:
    return [
        f"Account {result['account']}. The secret is shown only once.",
        *(f"export {name}={result[name]}" for name in result if name.isupper()),
    ]


@app.verb("account", render=_variables)
def account(name: Name) -> Result:
    """Create a requester's account. Its secret key is shown only once."""
    with logged(by_command(), "turk-account", subject=name):
        made = create_account(name)
    return _keys(made)


@app.verb("renew", render=_variables)
def renew(name: Name) -> Result:
    """Give an account new keys. The old ones stop working at once."""
    chosen = named_account(name)
    with logged(by_command(), "turk-renew", subject=name):
        renew_keys(chosen)
    return _keys(chosen)


def _keys(account: RequesterAccount) -> Result:
    return {
        "account": account.name,
        "AWS_ACCESS_KEY_ID": account.access_key_id,
        "AWS_SECRET_ACCESS_KEY": account.secret_access_key,
        "AWS_ENDPOINT_URL_MTURK": f"{settings.PUBLIC_URL}/turk/sandbox/",
    }


def _table(result: Result) -> Rendered:
    head = ["account", "key id", "available", "on hold", "spent", "HITs"]
    rows = [
        [
            one["account"] + ("" if one["active"] else " (closed)"),
            one["access_key_id"],
            *(dollars(one[f"{kind}_cents"]) for kind in ("available", "on_hold", "spent")),
            f"{one['hits']:,}",
        ]
        for one in result["accounts"]
    ]
    return Rows(head, rows) if rows else "There are no accounts: `quorum turk account NAME`."


@app.verb("accounts", render=_table)
def accounts() -> Result:
    """List the accounts with their balances in production."""
    return {"accounts": [figures_of(one) for one in RequesterAccount.objects.order_by("name")]}


def _payouts(result: Result) -> Rendered:
    if "file" in result:
        return Facts({**result, "cents": dollars(result["cents"])})
    rows = [
        [str(one["payout"]), one["made_at"], dollars(one["cents"])] for one in result["payouts"]
    ]
    return Rows(["pay-out", "made", "total"], rows) if rows else "There are no pay-outs yet."


@app.verb("payouts", render=_payouts)
def payouts(
    name: Name,
    number: Annotated[
        int | None, typer.Option(help="Number of the pay-out.", show_default="the last one")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="File to write the pay-out to.")
    ] = None,
) -> Result:
    """List an account's pay-outs, or write one of them as CSV, as often as you like."""
    chosen = named_account(name)
    if file is None:
        if number is not None:
            raise UserError("Name the file that the pay-out is to be written to: --csv FILE.")
        made = chosen.payouts.order_by("number")
        about = [
            {"payout": one.number, "made_at": one.made_at.isoformat(), "cents": one.cents}
            for one in made
        ]
        return {"payouts": about}
    payout = numbered_payout(chosen, number or chosen.payouts.count())
    with open(file, "w", encoding="utf-8", newline="", opener=_private) as out:
        rows = csv.writer(out)
        rows.writerow(HEAD)
        rows.writerows([harmless(cell) for cell in line] for line in lines_of(payout))
    return {"payout": payout.number, "cents": payout.cents, "file": str(file)}


def _private(path: str, flags: int) -> int:
    """It holds names, addresses and wages."""
    return os.open(path, flags, 0o600)


@app.command("serve")
def serve() -> None:
    """Run the site's web server until you stop it. `make run` adds the workers of campaigns."""
    call_command("migrate", verbosity=0)
    for what, path in (("Production", "/turk/"), ("Sandbox", "/turk/sandbox/")):
        print(f"{what}: {settings.PUBLIC_URL}{path}", flush=True)
    config = Path(settings.BASE_DIR) / "config" / "gunicorn.py"
    words = [sys.executable, "-m", "gunicorn", "config.wsgi", "--config", str(config)]
    os.chdir(settings.BASE_DIR)
    os.execv(sys.executable, words)  # noqa: S606 - our own words
