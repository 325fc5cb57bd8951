"""`quorum controls`: the pool of positive controls."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from annotation.access.audit_log import by_command
from annotation.operations.pool import add_controls_of
from annotation.pipeline.controls.import_controls import SHIPPED
from core.command import Noun, Result

app = Noun("Positive controls (gold items) that every campaign uses: import, add, replace, retire.")


@app.verb("import")
def import_controls(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE]",
            help="JSONL, CSV or TSV with query, question and answer; without it, the shipped "
            "controls.",
            show_default=False,
        ),
    ] = SHIPPED,
) -> Result:
    """Add positive controls to the pool."""
    return asdict(add_controls_of(by_command(), file, str(file)))
