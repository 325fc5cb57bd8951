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
        "run the campaign on the emulator with simulated workers, and report the result; nothing "
        "is spent",
        RUN,
        _dry_run,
        (
            Argument(
                "queries",
                "count",
                "Queries to draw",
                f"without it, as many as make {USUAL_HITS} HITs",
                maximum=MOST_HITS * 100,
                optional=True,
            ),
            Argument(
                "workers", "count", "Simulated workers", default=USUAL.workers, maximum=MOST_WORKERS
            ),
            _share("careless", "Careless workers", "share of all"),
            _share("spammers", "Spammers", "share of all; they answer at random"),
            _share(
                "accuracy",
                "Triplets that careful workers get right",
                "at the default, two of them agree on about 78%, as in the paper",
            ),
            _share("control_accuracy", "Controls that careful workers get right"),
            _share("careless_accuracy", "Triplets that careless workers get right"),
            _share("careless_control_accuracy", "Controls that careless workers get right"),
            Argument(
                "seed",
                "count",
                "Random seed",
                "of the workers, queries and simulated labels",
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
