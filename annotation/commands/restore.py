"""`quorum restore`: a site from the file of a backup."""

from pathlib import Path
from typing import Annotated

import typer

from core.backup.restore import restore as restore_site
from core.command import Noun, Result, progress
from core.output import Facts, Rendered

app = Noun(alone=True)
NEXT = (
    "Before you start Quorum, run `quorum campaign reconcile --full`: it asks each crowd what has "
    "happened since."
)


def _report(result: Result) -> Rendered:
    return [Facts(result), NEXT]


@app.verb("restore", render=_report)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="That `quorum backup` wrote.")],
) -> Result:
    """Restore a backup into an empty database and an empty data folder.

    Nothing is written before the whole file was checked. A backup of an older version is brought
    up to this one.
    """
    size = file.stat().st_size if file.is_file() else 0
    with progress(2 * size, "Restoring", "B") as bar:  # it is read twice
        return restore_site(file, progress=bar.update)
