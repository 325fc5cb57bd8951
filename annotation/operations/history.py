"""Files with work that was done elsewhere before."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotation.access.audit_log import Actor, logged
from annotation.pipeline.history.import_history import import_history
from annotation.pipeline.history.read import files_in
from core.errors import UserError
from core.progress import Progress, no_progress
from core.text.clean import in_utf8


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
