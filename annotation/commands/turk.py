"""`quorum turk`: a Mechanical Turk for your own people, its requesters and their batches."""

import csv
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from django.conf import settings
from django.core.management import call_command

from annotation.access.audit_log import by_command, logged
from annotation.crowd.emulator.state.money import dollars
from annotation.crowd.inhouse.models import Member
from annotation.crowd.turk.accounts import (
    create_account,
    figures_of,
    named_account,
    renew_keys,
)
from annotation.crowd.turk.batches import Terms, cost_cents, fill, publish, results
from annotation.crowd.turk.forget import forget_worker
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.payments import HEAD, lines_of, numbered_payout
from annotation.crowd.turk.stores import Environment
from annotation.crowd.turk.workers import worker_id_of
from core.command import Noun, Result, Yes, confirm, progress
from core.errors import UserError
from core.files.csv_safety import harmless
from core.output import Facts, Rendered, Rows
from core.text.money import cents_of, money

app = Noun("A Mechanical Turk for your own people: accounts of requesters, batches, pay-outs.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.")]
Batch = Annotated[str, typer.Argument(metavar="BATCH", help="Name of the batch.")]
Sandbox = Annotated[bool, typer.Option("--sandbox", help="In the sandbox.")]


def _variables(result: Result) -> Rendered:
    return [
        f"Account {result['account']}. The secret is shown only once.",
        *(f"export {name}={result[name]}" for name in result if name.isupper()),
    ]


def _members(result: Result) -> Rendered:
    rows = [[one["name"], one["worker_id"]] for one in result["workers"]]
    nobody = "There are no members yet: `quorum crowd invite`."
    return Rows(["name", "worker id"], rows) if rows else nobody


@app.verb("workers", render=_members)
def workers() -> Result:
    """List the members of the team with the worker ids that requesters know them by."""
    members = Member.team().filter(active=True).select_related("user").order_by("user__username")
    named = [{"name": str(one.user), "worker_id": worker_id_of(one)} for one in members]
    return {"workers": named}


@app.verb("forget")
def forget(
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="Worker id.")], yes: Yes = False
) -> Result:
    """Delete a worker's answers and messages in all accounts; pay stays on record."""
    confirm([f"All answers of {worker} and all messages to them are deleted permanently."], yes=yes)
    with logged(by_command(), "turk-forget", subject=worker):
        return {"worker": worker, "deleted": forget_worker(worker)}


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
            *(money(one[f"{kind}_cents"]) for kind in ("available", "on_hold", "spent")),
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
        total = money(result["cents"])
        return Facts({"payout": result["payout"], "total": total, "file": result["file"]})
    rows = [[str(one["payout"]), one["made_at"], money(one["cents"])] for one in result["payouts"]]
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
    _write(file, HEAD, lines_of(payout))
    return {"payout": payout.number, "cents": payout.cents, "file": str(file)}


def _published(result: Result) -> Rendered:
    return Facts({**result, "cents": None, "on hold": money(result["cents"])})


@app.verb("publish", render=_published)
def publish_batch(
    name: Name,
    batch: Batch,
    template: Annotated[
        Path, typer.Argument(metavar="TEMPLATE", help="HTML with ${...} for each column.")
    ],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="CSV file: a HIT for each row.")],
    title: Annotated[str, typer.Option(help="Title of the HITs.")],
    reward: Annotated[str, typer.Option(metavar="AMOUNT", help="Reward for an assignment.")],
    description: Annotated[
        str | None, typer.Option(help="Description of the HITs.", show_default="the title")
    ] = None,
    keywords: Annotated[str, typer.Option(help="Keywords, with commas between.")] = "",
    assignments: Annotated[int, typer.Option(min=1, help="Assignments of a HIT.")] = 1,
    minutes: Annotated[int, typer.Option(min=1, help="Minutes for an assignment.")] = 60,
    days: Annotated[int, typer.Option(min=1, help="Days until the HITs expire.")] = 7,
    approval_days: Annotated[
        int, typer.Option(min=0, help="Days until work that nobody has reviewed is approved.")
    ] = 30,
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> Result:
    """Make a HIT of each row of a table, by a template of Mechanical Turk or Turkle."""
    account, environment = named_account(name), _environment(sandbox)
    terms = Terms(
        title=title,
        description=description or title,
        keywords=keywords,
        reward=dollars(cents_of(reward)),
        assignments=assignments,
        minutes=minutes,
        days=days,
        approval_days=approval_days,
    )
    filled = fill(template, table)
    made: Result = {
        "batch": batch,
        "environment": environment,
        "hits": len(filled),
        "cents": cost_cents(filled, terms),
    }
    confirm([_preview(made, terms)], yes=yes)
    with (
        progress(len(filled), "Publishing", " HITs") as bar,
        logged(by_command(), "turk-publish", subject=name, **made),
    ):
        publish(account, environment, batch, filled, terms, bar.update)
    return made


def _preview(made: Result, terms: Terms) -> str:
    hits, each = made["hits"], terms.assignments
    return (
        f"This puts {money(made['cents'])} on hold in {made['environment']}, for {hits:,} "
        f"HIT{'s' * (hits != 1)} with {each:,} assignment{'s' * (each != 1)} each."
    )


@app.verb("results")
def results_of(
    name: Name,
    batch: Batch,
    file: Annotated[Path, typer.Option("--csv", metavar="FILE", help="File to write.")],
    sandbox: Sandbox = False,
) -> Result:
    """Write what workers submitted for a batch, in the columns of Mechanical Turk's results."""
    head, lines = results(named_account(name), _environment(sandbox), batch)
    _write(file, head, ([line.get(column) for column in head] for line in lines))
    return {"batch": batch, "assignments": len(lines), "file": str(file)}


def _environment(sandbox: bool) -> Environment:
    return Environment.SANDBOX if sandbox else Environment.PRODUCTION


def _write(file: Path, head: Sequence[str], lines: Iterable[Iterable[object]]) -> None:
    with open(file, "w", encoding="utf-8", newline="", opener=_private) as out:
        rows = csv.writer(out)
        rows.writerow([harmless(name) for name in head])
        rows.writerows([harmless(cell) for cell in line] for line in lines)


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
