"""A campaign's record, out of the database into the files that its release is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from django.db.models import Count, Q
from django.utils.text import capfirst

from annotation.models import Campaign
from annotation.pipeline.recompute import fit_to_all
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

    Of all its crowds. UserError where one of them is not finished (unless `partial`), there is no
    label, or a stored label is not the one that its votes make.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # These may write: the snapshot only reads.
    people = People(campaign)
    for each in campaign.crowds:
        fit_to_all(each)
    with snapshot(campaign) as seen:
        triplets = _check_finished(seen, partial=partial)
        workers = people.workers(seen)
        write_queries(seen, folder, workers, progress)
        cents = write_assignments(seen, folder, workers)
        write_cannot_judge(seen, folder, workers)
        write_gold(seen, folder, people)
        write_facts(seen, folder, workers, triplets=triplets, work_cents=cents)


def _check_finished(campaigns: Sequence[Campaign], *, partial: bool) -> Counter[str]:
    """The triplets of all, by status."""
    whole: Counter[str] = Counter()
    unfinished = []
    for campaign in campaigns:
        counts = _triplets(campaign)
        whole.update(counts)
        if not counts["triplets"] and len(campaigns) > 1:
            raise UserError(
                f"Campaign {campaign} is not packed, and is one dataset with {campaigns[0]}: run "
                f"`quorum campaign pack {campaign}` and collect its votes first."
            )
        if counts["open"]:
            unfinished.append(
                f"campaign {campaign} is not finished, {counts['open']:,} of its "
                f"{counts['triplets']:,} triplets are open"
            )
    if not whole["labelled"]:
        raise UserError(
            f"None of campaign {campaigns[0]}'s {whole['triplets']:,} triplets has a label yet: "
            f"`quorum campaign status {campaigns[0]}` shows its progress."
        )
    if unfinished and not partial:
        raise UserError(
            f"{capfirst(', and '.join(unfinished))}: collect their votes first, or leave them out "
            "(on the command line by --partial)."
        )
    return whole


def _triplets(campaign: Campaign) -> dict[str, int]:
    counts: dict[str, int] = campaign.triplets.aggregate(
        triplets=Count("pk"),
        labelled=Count("pk", filter=Q(status="labelled")),
        open=Count("pk", filter=Q(status="open")),
        unresolved=Count("pk", filter=Q(status="unresolved")),
    )
    return counts
