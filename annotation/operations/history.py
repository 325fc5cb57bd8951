"""Work that was done elsewhere before: imported from files, and deleted."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotation.access.audit_log import Actor, logged
from annotation.operations.operation import Argument, Operation, Options, Result
from annotation.pipeline.history.forget import counts, forget, past_of
from annotation.pipeline.history.import_history import import_history
from annotation.pipeline.history.read import files_in
from core.errors import UserError
from core.progress import Progress, no_progress
from core.text.clean import in_utf8

FORGET = "annotation.delete_pastrecord"


def add_history_of(
    by: Actor, paths: Sequence[Path], progress: Progress = no_progress
) -> list[dict[str, Any]]:
    """Each file by itself: what is wrong with one keeps no other out."""
    return [_add(by, path, progress) for path in files_in(paths)]


def _add(by: Actor, path: Path, progress: Progress) -> dict[str, Any]:
    file = in_utf8(str(path))
    try:
        with logged(by, "import-history", file=Path(file).name) as entry:
            imported = asdict(import_history(path, progress))
            entry.details |= {name: imported[name] for name in imported if name != "faults"}
    except UserError as error:
        return {"file": file, "refused": in_utf8(str(error))}
    return {"file": file, **imported}


def _whose(options: Options) -> str | None:
    """The worker's ID; None: everybody's. UserError where there is nothing of it."""
    worker: str | None = options["worker"]
    if bool(worker) == options["everything"]:
        raise UserError("Name one worker, or choose everything that was imported.")
    if not past_of(worker).exists():
        of = f" of a worker {worker!r}" if worker else ""
        raise UserError(f"Nothing was imported{of}: there is nothing to delete.")
    return worker


def _preview_forget(database: None, options: Options) -> list[str]:
    worker = _whose(options)
    numbers = counts(past_of(worker))
    records = ", ".join(f"{kind}: {number:,}" for kind, number in numbers.items())
    return [
        f"All imported records of {worker or 'everybody'} are deleted permanently ({records}).",
        "Campaigns keep their votes and exclusions. An import of the same files brings it back.",
    ]


def _forget(database: None, options: Options) -> Result:
    worker = _whose(options)
    # The log is kept, and must not keep what was deleted.
    named = "one worker" if worker else "everybody"
    return {"worker": named, "deleted": sum(forget(worker).values())}


OPERATIONS = (
    Operation(
        "forget-history",
        "delete what was imported of a worker, or everything that was imported",
        FORGET,
        _preview_forget,
        _forget,
        (
            Argument("worker", "worker", "Worker", "worker ID or user name", optional=True),
            Argument("everything", "flag", "Everything that was imported", default=False),
        ),
        noun="import",
        verb="forget",
        subject="worker",
        calls_crowd=False,
        harms=True,
        title="Delete history",
        button="Delete",
    ),
)
