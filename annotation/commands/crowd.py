"""`quorum crowd`: your own team, simulated workers and the local MTurk emulator."""

import json
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from annotation.access.audit_log import by_command, record
from annotation.crowd.accounts import campaigns_with_accounts
from annotation.crowd.emulator.__main__ import announce
from annotation.crowd.emulator.http.server import DEFAULT_BALANCE_CENTS, serve
from annotation.crowd.inhouse.members import invite
from annotation.crowd.simulated.browser import WorkerSite
from annotation.crowd.simulated.knowledge import learn_answers, read_gold
from annotation.crowd.simulated.profiles import WorkerProfiles
from annotation.crowd.simulated.workers import Simulation
from annotation.crowd.wire.errors import StartError
from annotation.crowd.wire.faults import Faults
from annotation.crowd.wire.options import HIGHEST_BALANCE, HIGHEST_PORT
from annotation.models import Campaign
from annotation.pipeline.controls.import_controls import SHIPPED
from core.command import REFUSED, Error, Noun, Result, progress
from core.errors import UserError
from core.output import Facts, Rendered

DEFAULTS = WorkerProfiles()
AMAZON = re.compile(r"\.(amazonaws\.com|api\.aws|mturk\.com)\b", re.IGNORECASE)
PORT = 8001

app = Noun("Who judges: invite your team, simulate workers, run the MTurk emulator.")


@app.verb("invite")
@transaction.atomic
def invite_team(
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="Note for yourself: whom you invite.")
    ] = "",
    days: Annotated[int, typer.Option(metavar="N", help="Days until the link expires.")] = 14,
    uses: Annotated[int, typer.Option(metavar="N", help="Number of people who can join.")] = 1,
) -> Result:
    """Create an invitation link to the in-house team. The link is shown only once."""
    code = invite(None, note=note, days=days, uses=uses, now=timezone.now())
    record(by_command(), "invite", subject=note, details={"days": days, "uses": uses})
    link = settings.PUBLIC_URL + reverse("join", args=[code])
    return {"link": link, "days": days, "uses": uses}


def simulated_in_words(result: Result) -> Rendered:
    faults = result["faults"]
    counted = [f"{count:,} {way.replace('_', ' ')}" for way, count in faults.items() if count]
    return Facts({**result, "faults": ", ".join(counted) or "none"})


def _check_share(value: float) -> float:
    """Other than a range's ends, this refuses nan."""
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{value:g} is not a share from 0 to 1.")
    return value


@app.verb("simulate", render=simulated_in_words)
def simulate(
    workers: Annotated[int, typer.Option(min=1, help="Number of workers.")] = DEFAULTS.workers,
    accuracy: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            callback=_check_share,
            help="Share of judgments that careful workers get right.",
        ),
    ] = DEFAULTS.accuracy,
    spammers: Annotated[
        float, typer.Option(min=0, max=1, help="Share of workers who answer at random.")
    ] = DEFAULTS.spammers,
    seed: Annotated[
        int, typer.Option(help="Random seed for the workers and their judgments.")
    ] = DEFAULTS.seed,
    faults: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of assignments that are returned, abandoned, submitted twice or submitted "
            "only at the end.",
        ),
    ] = DEFAULTS.faults,
    gold: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="What careful workers know, besides the shipped controls; repeatable. Rows: "
            "question and meaning, or query and question, with a label of 1 or 0 (1 if missing). "
            "Pairs in no file are judged 1 if their texts are equal, else 0.",
        ),
    ] = None,
    emulator: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Address of the emulator.", show_default="AWS_ENDPOINT_URL_MTURK"
        ),
    ] = settings.MTURK_ENDPOINT,
    assignments: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after N assignments.")
    ] = None,
) -> Result:
    """Let simulated workers judge HITs of the emulator until none is left."""
    url = emulator.rstrip("/")
    _refuse_amazon(url)
    profiles = WorkerProfiles(
        workers=workers, accuracy=accuracy, spammers=spammers, seed=seed, faults=faults
    )
    known = read_gold([SHIPPED, *(gold or [])])
    learn_answers(known, SHIPPED)
    _refuse_teams()
    with WorkerSite(url) as site:
        simulation = Simulation(profiles, known, site)
        with progress(assignments, "Judging", " assignments") as bar:
            return simulation.run(assignments, progress=bar.update).to_dict()


def _own_port(endpoint: str) -> int | None:
    """Where the crowd that the settings name can be this machine's."""
    parts = urlsplit(endpoint)
    return parts.port if parts.hostname in {"127.0.0.1", "localhost"} else None


@app.command("emulator")
def emulate(
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=HIGHEST_PORT,
            metavar="PORT",
            help="Port; 0 for any free one.",
            show_default="the port of AWS_ENDPOINT_URL_MTURK",
        ),
    ] = _own_port(settings.MTURK_ENDPOINT) or PORT,
    state: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="SQLite file of the emulator's state.",
            show_default="mturk_emulator.sqlite3 in the data folder",
        ),
    ] = settings.DATA_DIR / "mturk_emulator.sqlite3",
    balance: Annotated[
        int,
        typer.Option(
            min=0, max=HIGHEST_BALANCE, metavar="CENTS", help="Balance of a new account, in cents."
        ),
    ] = DEFAULT_BALANCE_CENTS,
    faults: Annotated[
        float,
        typer.Option(
            callback=_check_share,
            metavar="SHARE",
            help="Share of the requester's calls that are lost, fail, are throttled or come late.",
        ),
    ] = 0,
    fault_seed: Annotated[
        int, typer.Option(metavar="SEED", help="Random seed for the choice of those calls.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the address as one line of JSON.")
    ] = False,
) -> None:
    """Run a local Mechanical Turk until you stop it."""
    try:
        serve(
            host=host,
            port=port,
            state=state,
            balance_cents=balance,
            faults=Faults(faults, fault_seed),
            started=_announce_json if as_json else announce,
        )
    except StartError as error:
        raise Error(str(error), returncode=REFUSED) from error


def _announce_json(url: str) -> None:
    print(json.dumps({"url": url}), flush=True)


def _refuse_teams() -> None:
    """Where there is nothing for simulated workers to find."""
    teams = campaigns_with_accounts()
    published = Campaign.objects.exclude(endpoint="")
    if published.exists() and not published.exclude(pk__in=teams.values("pk")).exists():
        raise UserError(
            "All published campaigns are your own team's, and simulated workers judge on the MTurk "
            "emulator alone: `quorum campaign dry-run NAME` plays a team's campaign."
        )


def _refuse_amazon(url: str) -> None:
    if AMAZON.search(url):
        raise UserError(
            f"{url} is Amazon's: simulated workers work for the local emulator alone. Set"
            " AWS_ENDPOINT_URL_MTURK to its address, or name it with --emulator."
        )
