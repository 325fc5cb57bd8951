"""Labels that experts gave elsewhere, taken in for a command, a page or a program."""

from dataclasses import asdict
from pathlib import Path

from annotation.access.audit_log import Actor, record
from annotation.models import Campaign
from annotation.pipeline.gold.import_gold import Imported, import_gold
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
    """`name`: by which whoever sent the file knows it; the log has the last part of a path."""

    def stored(found: Imported) -> None:
        asked = {"file": Path(name).name, "expert": expert, "replace": replace}
        details = {**asked, **asdict(found)}
        record(by, "import-gold", campaign=campaign, details=details)

    with known_as(path, name):
        return import_gold(
            path, campaign, expert=expert, replace=replace, stored=stored, progress=progress
        )
