"""`quorum experiment`: a paper's table, trained and measured again."""

from pathlib import Path
from typing import Annotated

import typer
from django.conf import settings

from core.command import Device, Noun, ReleaseFolder, Result, announce, progress
from core.output import Rendered
from exports.experiments.experiment import read_experiment
from exports.experiments.run import run_experiment
from exports.experiments.table import text

app = Noun(alone=True)


def _measured(result: Result) -> Rendered:
    return [result["title"], "", text(result), "", f"Written to {result['report']}."]


@app.verb("experiment", render=_measured)
def experiment(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="YAML file, see recipes/experiments/.")
    ],
    release: ReleaseFolder,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="For the report, data and plot.")],
    judge: Annotated[
        str,
        typer.Option(
            metavar="CAMPAIGN",
            help="Of an experiment of answers: count what people of a campaign of the task "
            "`answer` said of them.",
            show_default=False,
        ),
    ] = "",
    size: Annotated[str, typer.Option(help="One of the file's sizes.")] = "paper",
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Train and measure all systems of an experiment, and set them beside a paper's figures.

    Interrupted, the same command continues.
    """
    wanted = read_experiment(file)
    with progress(None, "Training", " steps") as bar:
        return run_experiment(
            wanted,
            release,
            out,
            size=size,
            device=device,
            begin=announce(bar),
            step=bar.update,
            judge=judge,
        )
