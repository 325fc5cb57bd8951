"""Build a campaign's release: its labelled queries, split, with statistics and manifest."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import Count, Q

from annotation.models import Campaign
from annotation.pipeline.expert_figures import expert_figures
from exports.folder import DATA_FILES, MANIFEST, STATS, check_target, publish, seal, unfinished
from exports.manifest import manifest
from exports.reading import JudgedTriplet, QueryRow, judged_queries, query_rows, work_statistics
from exports.splits import SPLITS, QueryRef, SplitError, split
from exports.stats import QueryCounts, VoteTally, split_statistics
from retrieval.dataset import QueryRecord, document, line
from retrieval.errors import UserError
from retrieval.progress import Progress, no_progress


@dataclass(frozen=True)
class Exported:
    folder: Path
    unchanged: bool  # the same release lay there already
    stats: dict[str, object]


@dataclass(frozen=True)
class Plan:
    """Which query goes where, decided before anything is written."""

    queries: Sequence[QueryRow]
    splits: Mapping[str, list[str]]
    left_out: Mapping[str, str]  # query key -> why
    triplets: Mapping[str, int]  # counts by status


def export(
    campaign: Campaign, out: Path, *, partial: bool = False, progress: Progress = no_progress
) -> Exported:
    """Write the release to `out`; `progress` counts queries.

    UserError where the campaign is not finished (unless `partial`), cannot be split as its policy
    wants, or `out` cannot take the release; nothing is left there then.
    """
    out = Path(os.path.realpath(out))
    try:
        check_target(out, campaign.name)
        # The lock that labelling takes: no label changes while the release is written.
        with transaction.atomic():
            campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
            plan = _plan(campaign, partial=partial)
            with unfinished(out) as work:
                stats = _write(campaign, plan, work, progress)
                changed = publish(work, out, campaign.name)
    except OSError as error:
        raise UserError(
            f"The release cannot be written to {out} ({error.strerror}): make room or choose "
            "another folder by --out."
        ) from error
    return Exported(out, not changed, stats)


def _plan(campaign: Campaign, *, partial: bool) -> Plan:
    triplets = _check_finished(campaign, partial=partial)
    policy = campaign.policy
    queries = query_rows(campaign)
    refs = [
        QueryRef(query.key, query.labelled == policy.candidates_per_query)
        for query in queries
        if query.labelled
    ]
    try:
        splits = split(
            refs, train=policy.train, dev=policy.dev, test=policy.test, seed=campaign.seed
        )
    except SplitError as error:
        raise UserError(
            f"Campaign {campaign} cannot be split as its policy wants: {error}. Collect the "
            "missing votes, or give a campaign smaller splits."
        ) from error
    return Plan(queries, splits, _left_out(queries, splits), triplets)


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
            f"`manage.py campaign status {campaign}` says where it stands."
        )
    if counts["open"] and not partial:
        raise UserError(
            f"Campaign {campaign} is not finished, {counts['open']:,} of its "
            f"{counts['triplets']:,} triplets are open: collect their votes first, or leave them "
            "out by --partial."
        )
    return counts


def _left_out(queries: Sequence[QueryRow], splits: Mapping[str, list[str]]) -> dict[str, str]:
    placed = {key for keys in splits.values() for key in keys}
    return {
        query.key: "beyond the sizes wanted" if query.labelled else "no candidate has a label"
        for query in queries
        if query.key not in placed
    }


def _write(campaign: Campaign, plan: Plan, work: Path, progress: Progress) -> dict[str, object]:
    """All files of the release; returns the statistics."""
    counts, tally = _write_splits(campaign, plan, work, progress)
    expert = expert_figures(campaign)
    stats: dict[str, object] = {
        "splits": split_statistics(counts),
        "campaign": {
            "queries": len(plan.queries),
            "queries_left_out": len(plan.left_out),
            **plan.triplets,
            **tally.summary(),
            **work_statistics(campaign),
            "expert": expert.to_dict(),
            **expert.label_error_to_dict(),
        },
    }
    (work / STATS).write_bytes(document(stats))
    values = manifest(
        campaign,
        splits=plan.splits,
        left_out=plan.left_out,
        open_triplets=plan.triplets["open"],
        files={name: seal(work / name) for name in (*DATA_FILES, STATS)},
    )
    (work / MANIFEST).write_bytes(document(values))
    seal(work / MANIFEST)
    return stats


def _write_splits(
    campaign: Campaign, plan: Plan, work: Path, progress: Progress
) -> tuple[dict[str, list[QueryCounts]], VoteTally]:
    """One line for each query, in the order of the queries' keys."""
    place = {key: name for name, keys in plan.splits.items() for key in keys}
    counts: dict[str, list[QueryCounts]] = {name: [] for name in SPLITS}
    tally = VoteTally(campaign.policy.annotators)
    with ExitStack() as stack:
        files = {name: stack.enter_context((work / f"{name}.jsonl").open("xb")) for name in SPLITS}
        for query, judged in judged_queries(campaign, plan.queries):
            for triplet in judged:
                tally.add(triplet.votes, labelled=triplet.candidate is not None)
            if name := place.get(query.key):
                files[name].write(line(_record(query, judged)))
                counts[name].append(_counts(judged))
            progress(1)
    return counts, tally


def _record(query: QueryRow, judged: Sequence[JudgedTriplet]) -> QueryRecord:
    candidates = [triplet.candidate for triplet in judged if triplet.candidate is not None]
    return QueryRecord(query.key, query.text, candidates)


def _counts(judged: Sequence[JudgedTriplet]) -> QueryCounts:
    labelled = [triplet for triplet in judged if triplet.candidate is not None]
    positives = sum(triplet.candidate.label for triplet in labelled if triplet.candidate)
    return QueryCounts(
        positives=positives,
        negatives=len(labelled) - positives,
        votes=sum(len(triplet.votes) for triplet in labelled),
    )
