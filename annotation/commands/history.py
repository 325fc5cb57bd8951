"""`quorum import`: what was done elsewhere before."""

from pathlib import Path
from typing import Annotated

import typer

from annotation.access.audit_log import by_command
from annotation.operations.history import add_history_of
from annotation.pipeline.history.read import files_in
from core.command import Noun, Result, progress
from core.output import Rendered, Rows, harmless, in_words

app = Noun("Move in from elsewhere: workers and work of Mechanical Turk and Turkle.")


def _imported(result: Result) -> Rendered:
    files = [one for one in result["files"] if "rows" in one]
    refused = [one["refused"] for one in result["files"] if "refused" in one]
    head = ["file", "rows", "new", "changed", "faulty"]
    rows = [
        [
            one["file"],
            in_words(one["rows"]),
            in_words(sum(one["new"].values())),
            in_words(sum(one["changed"].values())),
            in_words(one["faulty"]),
        ]
        for one in files
    ]
    faults = [fault for one in files for fault in one["faults"]]
    table = [Rows(head, rows, numbers=True)] if rows else []
    return [*table, *map(harmless, [*faults, *refused])]


def _refused(result: Result) -> str | None:
    refused = sum("refused" in one for one in result["files"])
    if not refused:
        return None
    return f"{refused:,} of {len(result['files']):,} files cannot be used: see the sentences above."


@app.verb("turk", render=_imported, fault=_refused)
def import_turk(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="CSV files of the requester site or of Turkle, JSON or JSONL dumps of the API, or "
            "folders of them.",
            show_default=False,
        ),
    ],
) -> Result:
    """Keep the history of an account: workers, blocks, qualifications, HITs, answers, payments.

    Run it as often as you like: what is known already changes nothing.
    """
    size = sum(path.stat().st_size for path in files_in(paths) if path.is_file())
    with progress(size, "Importing", "B") as bar:
        return {"files": add_history_of(by_command(), paths, bar.update)}
