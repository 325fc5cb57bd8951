"""Import a dataset labelled elsewhere as a campaign, to audit, extend or release it again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.db import IntegrityError, transaction
from django.db.models import Count

from annotation.models import Campaign, Triplet
from annotation.pipeline.setup.create import check_name_and_seed, start_campaign
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from core.files.bulk_insert import insert
from core.progress import Progress, no_progress
from retrieval.corpus.corpora import include
from retrieval.corpus.pair_reader import check_license, check_source
from retrieval.models import Candidate, Corpus, QuerySet
from retrieval.models.corpus import sources_of
from retrieval.query_sets.labelled_dataset import (
    CandidateLabel,
    Faults,
    read_dataset,
    store_dataset,
)

COLUMNS = (
    "campaign_id",
    "candidate_id",
    "status",
    "label",
    "label_source",
    "votes",
    "positive_votes",
    "imported_label",
)


@dataclass(frozen=True)
class ImportedDataset:
    campaign: Campaign
    queries: int
    candidates: int
    labelled: int
    positive: int
    open: int  # came without a label: HITs can be made of them
    elsewhere: int  # pairs that the database has under a source outside the corpus
    lines_skipped: int
    first_faults: str


def import_dataset(
    paths: Sequence[Path],
    name: str,
    *,
    policy: Policy,
    seed: int,
    license: str = "",
    skip_faulty: bool = False,
    corpus: Corpus | None = None,
    progress: Progress = no_progress,
) -> ImportedDataset:
    """All lines or nothing, unless `skip_faulty`; `progress` counts bytes of the files.

    The policy's number of candidates becomes the largest that a query has. The dataset's pairs are
    a source of the campaign's name, which joins the corpus.
    """
    check_name_and_seed(name, seed)
    if QuerySet.objects.filter(name=name).exists():
        raise UserError(f"There is already a query set {name!r}: choose another name.")
    source, license = check_source(name), check_license(license)
    faults = Faults()
    try:
        with transaction.atomic():
            query_set = QuerySet.objects.create(
                name=name, origin=QuerySet.Origin.IMPORT, corpus=corpus
            )
            if corpus:
                include(corpus, source)
            campaign = start_campaign(query_set, policy=policy, seed=seed)
            made = read_dataset(paths, source, license=license, faults=faults, progress=progress)
            for labels in store_dataset(query_set, made):
                _create_triplets(campaign, labels)
            _check(paths, faults, campaign, skip_faulty=skip_faulty)
            _set_candidates(campaign)
    except IntegrityError as error:
        raise UserError(
            f"Somebody added pairs of {name} at the same time: run the import again."
        ) from error
    return _summary(campaign, faults)


def _create_triplets(campaign: Campaign, labels: Sequence[CandidateLabel]) -> None:
    insert(
        Triplet,
        COLUMNS,
        (
            (campaign.pk, made.candidate, *_imported(made.label), 0, 0, made.label)
            for made in labels
        ),
    )


def _imported(label: int | None) -> tuple[str, int | None, str | None]:
    """Status, label and its source."""
    if label is None:
        return Triplet.Status.OPEN.value, None, None
    return Triplet.Status.LABELLED.value, label, Triplet.LabelSource.IMPORT.value


def _check(paths: Sequence[Path], faults: Faults, campaign: Campaign, *, skip_faulty: bool) -> None:
    files = ", ".join(map(str, paths))
    if not campaign.triplets.exists():
        raise UserError(f"Nothing of {files} can be used: {faults.in_words()}.")
    if faults.count and not skip_faulty:
        lines, them = ("line", "it") if faults.count == 1 else ("lines", "them")
        raise UserError(
            f"Nothing was imported, {faults.count:,} {lines} of {files} cannot be used: "
            f"{faults.in_words()}; correct {them}, or leave {them} out by --skip-faulty."
        )


def _set_candidates(campaign: Campaign) -> None:
    most = campaign.triplets.order_by("-candidate__rank").values_list("candidate__rank", flat=True)
    policy = replace(campaign.policy, candidates_per_query=most[0])
    campaign.policy_data = policy.to_dict()
    campaign.save(update_fields=["policy_data"])


def _summary(campaign: Campaign, faults: Faults) -> ImportedDataset:
    triplets = campaign.triplets
    return ImportedDataset(
        campaign=campaign,
        queries=campaign.query_set.queries.count(),
        candidates=triplets.count(),
        labelled=triplets.filter(status=Triplet.Status.LABELLED).count(),
        positive=triplets.filter(label=1).count(),
        open=triplets.filter(status=Triplet.Status.OPEN).count(),
        elsewhere=_elsewhere(campaign.query_set),
        lines_skipped=faults.count,
        first_faults=faults.in_words(),
    )


def _elsewhere(query_set: QuerySet) -> int:
    if query_set.corpus is None:
        return 0
    shown = Candidate.objects.filter(query__query_set=query_set)
    others = shown.exclude(pair__source__in=sources_of(query_set.corpus))
    return int(others.aggregate(pairs=Count("pair", distinct=True))["pairs"])
