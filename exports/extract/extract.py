"""A campaign's record, out of the database into the files that its release is made of."""

from __future__ import annotations

from pathlib import Path

from django.db.models import Count, Q

from annotation.models import Campaign
from core.errors import UserError
from core.progress import Progress, no_progress
from exports.extract.assignments import write_assignments
from exports.extract.cannot_judge import write_cannot_judge
from exports.extract.facts import write_facts
from exports.extract.gold import write_gold
from exports.extract.pseudonyms import People
from exports.extract.queries import write_queries
from exports.extract.transaction import snapshot


def extract(
    campaign: Campaign, folder: Path, *, partial: bool, progress: Progress = no_progress
) -> None:
    """The same record makes the same bytes on every database; `progress` counts queries.

    UserError where the campaign is not finished (unless `partial`), has no label, or a stored
    label is not the one that its votes make.
    """
    folder.mkdir(parents=True, exist_ok=True)
    people = People(campaign)  # may write: the snapshot only reads
    with snapshot(campaign) as seen:
        triplets = _check_finished(seen, partial=partial)
        workers = people.workers(seen)
        write_queries(seen, folder, workers, progress)
        cents = write_assignments(seen, folder, workers)
        write_cannot_judge(seen, folder, workers)
        write_gold(seen, folder, people)
        write_facts(seen, folder, workers, triplets=triplets, work_cents=cents)


def _check_finished(campaign: Campaign, *, partial: bool) -> dict[str, int]:
    """The campaign's triplets by status."""
    counts: dict[str, int] = campaign.triplets.aggregate(
        triplets=Count("pk"),
        labelled=Count("pk", filter=Q(status="labelled")),
        open=Count("pk", filter=Q(status="open")),
        unresolved=Count("pk", filter=Q(status="unresolved")),
    )
    if not counts["labelled"]:
        raise UserError(
            f"None of campaign {campaign}'s {counts['triplets']:,} triplets has a label yet: "
            f"`quorum campaign status {campaign}` shows its progress."
        )
    if counts["open"] and not partial:
        raise UserError(
            f"Campaign {campaign} is not finished, {counts['open']:,} of its "
            f"{counts['triplets']:,} triplets are open: collect their votes first, or leave them "
            "out (on the command line by --partial)."
        )
    return counts
