"""`quorum backup`: the whole site in one file."""

from pathlib import Path
from typing import Annotated

import typer

from core.backup.backup import back_up
from core.command import Noun, Result, progress
from core.output import Facts, Rendered

app = Noun(alone=True)


def _report(result: Result) -> Rendered:
    facts = {name: value for name, value in result.items() if name != "notes"}
    return [Facts(facts), *result["notes"]]


@app.verb("backup", render=_report)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To write, such as quorum.tar.zst.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE if it is there already.")
    ] = False,
) -> Result:
    """Write the database, the releases, and what else the site needs to one file.

    It is consistent while the site, workers and annotators continue. FILE holds all secrets of the
    site: only you can read it. It tells what it cannot hold, such as files on S3.
    """
    with progress(None, "Backing up", "B") as bar:
        return back_up(file, overwrite=overwrite, progress=bar.update)
