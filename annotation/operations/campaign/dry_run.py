"""A campaign played on the emulator, with simulated people, before anything is spent."""

from dataclasses import fields

from annotation.access.roles import RUN
from annotation.models import Campaign
from annotation.operations.operation import Argument, LongOperation, Options, Order, Result, Run
from annotation.simulation.options import MOST_HITS, MOST_WORKERS, USUAL_HITS, read_options
from annotation.simulation.options import Options as Asked
from annotation.simulation.report import render
from annotation.simulation.run import dry_run

USUAL = Asked()


def _asked(options: Options) -> Asked:
    return read_options({each.name: options[each.name] for each in fields(Asked)})


def _order(campaign: Campaign, options: Options) -> Order:
    return Order(_asked(options).to_dict())


def _dry_run(campaign: Campaign, options: Options, run: Run) -> Result:
    """Cut off, it is played again from the start: it leaves nothing behind."""
    return dry_run(campaign, _asked(options), stage=run.stage)


def _share(name: str, label: str, help: str = "") -> Argument:
    return Argument(name, "share", label, help, getattr(USUAL, name))


OPERATIONS = (
    LongOperation(
        "dry-run",
        "run the campaign on the emulator with simulated people, and report the result; nothing "
        "is spent",
        RUN,
        _dry_run,
        (
            Argument(
                "queries",
                "count",
                "Queries",
                f"drawn at random; without it, as many as make {USUAL_HITS} HITs",
                maximum=MOST_HITS * 100,
                optional=True,
            ),
            Argument("workers", "count", "People", "so many", USUAL.workers, maximum=MOST_WORKERS),
            _share("careless", "Careless people", "share of all"),
            _share("spammers", "Spammers", "share of all; they answer at random"),
            _share(
                "accuracy",
                "Careful people: triplets right",
                "share; by the default two of them agree on about 78%, as in the paper",
            ),
            _share("control_accuracy", "Careful people: controls right", "share"),
            _share("careless_accuracy", "Careless people: triplets right", "share"),
            _share("careless_control_accuracy", "Careless people: controls right", "share"),
            Argument(
                "seed",
                "count",
                "Seed",
                "another one: other people, queries and labels",
                USUAL.seed,
                minimum=0,
                maximum=2**31,
            ),
        ),
        order=_order,
        logged=False,
        is_study=True,
        report=lambda campaign, result: render(result),
    ),
)
