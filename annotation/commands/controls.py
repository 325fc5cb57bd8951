"""`quorum controls`: the pool of positive controls."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from annotation.access.audit_log import by_command
from annotation.operations.pool import add_controls_of
from annotation.pipeline.controls.import_controls import SHIPPED
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS, TaskName
from core.command import Noun, Result, choice

app = Noun("Positive controls (gold items) that every campaign uses: import, add, replace, retire.")


@app.verb("import")
def import_controls(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE]",
            help="JSONL, CSV or TSV with query, question (not for `--task answer`) and answer; "
            "without it, the shipped controls.",
            show_default=False,
        ),
    ] = SHIPPED,
    task: Annotated[
        TaskName, choice("--task", tuple(TASKS), "For campaigns of this task.")
    ] = PAPER_TASK.name,
) -> Result:
    """Add positive controls to the pool."""
    return asdict(add_controls_of(by_command(), file, str(file), TASKS[task]))
