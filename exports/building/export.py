"""A campaign's release, written to a folder of the user's."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from annotation.models import Campaign
from core.errors import UserError
from core.files.work_folder import unfinished
from core.progress import Progress, no_progress
from exports.building.options import Options
from exports.building.queue import Released, release_now
from exports.delivery.storage import fetch
from exports.layout.atomic_folder import check_target, publish
from exports.models import Build
from retrieval.jobs.queue import JobLost

DEFAULT = Options()
ARCHIVE = ".tar.zst"  # no part of the folder, which it holds


@dataclass(frozen=True)
class Exported:
    folder: Path
    unchanged: bool  # the same release lay there already
    released: Released


def export(
    campaign: Campaign,
    out: Path,
    *,
    options: Options = DEFAULT,
    begun: Callable[[Build], object] = lambda _: None,
    progress: Progress = no_progress,
) -> Exported:
    """Write the next release to `out`, or the last one if nothing has changed since.

    `begun` is called in the transaction that writes the build down.
    `progress` counts thousandths. UserError where there can be no release, or `out` cannot take
    it; nothing is left there then.
    """
    out = Path(os.path.realpath(out))
    try:
        last = campaign.releases.order_by("number").last()
        check_target(out, campaign.name, last=last.number if last else None)
        with unfinished(out, purpose="export to") as work:
            released = release_now(campaign, options=options, begun=begun, progress=progress)
            files = released.release.files.select_related("release")
            fetch(files.exclude(path__endswith=ARCHIVE), work)
            changed = publish(work, out, campaign.name)
    except JobLost as error:
        raise UserError(
            f"This build of campaign {campaign} was silent for so long that another process has "
            "taken it over: run the command again when that has ended."
        ) from error
    except OSError as error:
        raise UserError(
            f"The release cannot be written to {out} ({error.strerror}): make room or choose "
            "another folder by --out."
        ) from error
    return Exported(out, not changed, released)
