"""Labels that experts gave elsewhere, imported for a command, a page or a program."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotation.access.audit_log import Actor, logged
from annotation.models import Campaign
from annotation.pipeline.gold.import_gold import Imported, read_gold, store_gold
from annotation.pipeline.gold.rejected_rows import known_as
from core.progress import Progress, no_progress


def add_gold_of(
    by: Actor,
    campaign: Campaign,
    path: Path,
    name: str,
    *,
    expert: str,
    replace: bool,
    progress: Progress = no_progress,
) -> Imported:
    """`name` is the sender's name for the file; the log keeps its last part."""
    sent: dict[str, Any] = {"file": Path(name).name, "expert": expert, "replace": replace}
    with known_as(path, name):
        labels = read_gold(path, campaign, expert=expert, progress=progress)
        with logged(by, "import-gold", campaign, **sent) as entry:
            imported = store_gold(labels, campaign, replace=replace)
            entry.details |= asdict(imported)
    return imported
