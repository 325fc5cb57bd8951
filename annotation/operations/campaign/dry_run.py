"""A campaign played on the emulator, with simulated people, before anything is spent."""

from dataclasses import fields

from annotation.access.roles import RUN
from annotation.models import Campaign
from annotation.operations.operation import Argument, LongOperation, Options, Order, Result, Run
from annotation.simulation.options import MOST_HITS, MOST_WORKERS, USUAL_HITS, read_options
from annotation.simulation.options import Options as DryRunOptions
from annotation.simulation.report import render
from annotation.simulation.run import dry_run

USUAL = DryRunOptions()


def _options(given: Options) -> DryRunOptions:
    return read_options({each.name: given[each.name] for each in fields(DryRunOptions)})


def _order(campaign: Campaign, options: Options) -> Order:
    return Order(_options(options).to_dict())


def _dry_run(campaign: Campaign, options: Options, run: Run) -> Result:
    """Cut off, it is played again from the start: it leaves nothing behind."""
    return dry_run(campaign, _options(options), stage=run.stage)


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
                f"Queries to draw; by default, enough for {USUAL_HITS} HITs",
                maximum=MOST_HITS * 100,
                optional=True,
            ),
            Argument(
                "workers", "count", "Simulated workers", default=USUAL.workers, maximum=MOST_WORKERS
            ),
            _share("careless", "Share of careless workers"),
            _share("spammers", "Share of spammers, who answer at random"),
            _share(
                "accuracy",
                "Share of the triplets that careful workers get right",
                "at the default, two of them agree on about 78%, as in the paper",
            ),
            _share("control_accuracy", "Share of the controls that careful workers get right"),
            _share("careless_accuracy", "Share of the triplets that careless workers get right"),
            _share(
                "careless_control_accuracy",
                "Share of the controls that careless workers get right",
            ),
            Argument(
                "seed",
                "count",
                "Random seed for the workers, the queries and the simulated labels",
                default=USUAL.seed,
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
