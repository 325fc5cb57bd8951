"""A release's folder, made of an extract: files in, files out. The same extract, the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from annotation.protocol.estimates.certificate import ENOUGH
from core.errors import UserError
from core.progress import Progress, no_progress
from exports.building.changelog import write_changes
from exports.building.options import Options
from exports.building.stages import (
    COMPARING,
    COMPUTING,
    DRAWING,
    FORMATTING,
    SCORING,
    SPLITTING,
)
from exports.card.readme import write_card
from exports.evaluation.baselines import write_runs
from exports.formats.write import write_formats
from exports.layout.files import (
    CAMPAIGN,
    COUNTS,
    FORMAT,
    GOLD,
    MANIFEST,
    OF_THE_ANNOTATORS,
    RELEASE,
    STATS,
)
from exports.layout.manifest import manifest, version_of, versions
from exports.layout.schemas import extra_columns
from exports.splits.assign import Encode, SplitAssignment, SplitError, assign_splits, write_splits
from exports.statistics.compute import figures
from retrieval.ranking.records import document

# Begins a step of so many units; what it returns counts those that are done.
Watch = Callable[[str, int], Progress]

NOWHERE: Mapping[str, str | None] = MappingProxyType({})


@dataclass(frozen=True)
class Previous:
    """The release before, as far as the next one depends on it."""

    number: int
    manifest_sha256: str
    folder: Path  # with its train.jsonl, dev.jsonl and test.jsonl


def unwatched(step: str, units: int) -> Progress:
    return no_progress


def build(
    extract: Path,
    folder: Path,
    *,
    options: Options,
    number: int,
    previous: Previous | None = None,
    published: Mapping[str, str | None] = NOWHERE,
    encode: Encode | None = None,
    watch: Watch = unwatched,
) -> None:
    """Write release `number` to the new `folder`; UserError where the queries cannot be split.

    `published`: the split that each query was published in last.
    """
    folder.mkdir()
    stated = json.loads((extract / CAMPAIGN).read_bytes())
    campaign, retrievers = stated["campaign"], stated["queries"].get("retrievers", ())
    watch(SPLITTING, 1)
    assignment = _assign_splits(extract, campaign, options, published, encode)
    write_splits(extract, folder, assignment)
    _copy(extract, folder, options)
    queries = watch(FORMATTING, _lines(extract / COUNTS))
    extra = extra_columns(stated)
    write_formats(folder, retrievers=retrievers, extra=extra, progress=queries)
    watch(SCORING, 1)
    write_runs(folder)
    watch(COMPARING, 1)
    write_changes(folder, previous.folder if previous else None)
    facts = _facts(stated, number, options, previous, assignment.nearness)
    (folder / RELEASE).write_bytes(document(facts))
    watch(COMPUTING, 1)
    stats = figures(folder, annotators=extract)
    _check_certificate(campaign, stats.get("certificate"))
    (folder / STATS).write_bytes(document(stats))
    watch(DRAWING, 1)
    write_card(folder)
    made = manifest(folder, campaign=campaign, number=number, version=version_of(stated))
    (folder / MANIFEST).write_bytes(document(made))


def _check_certificate(campaign: str, certificate: Mapping[str, Any] | None) -> None:
    if certificate and not certificate["holds"]:
        raise UserError(
            f"The labels of campaign {campaign} cannot be certified to be wrong in at most "
            f"{certificate['error']:.1%}: {_evidence(certificate)}. `quorum campaign audit-plan "
            f"{campaign} --certify {certificate['error']}` says what is missing."
        )


def _evidence(certificate: Mapping[str, Any]) -> str:
    return (
        f"{certificate['wrong']:,} of {certificate['judged_at_random']:,} that experts judged at "
        f"random are wrong, an evidence of {certificate['evidence']} where {ENOUGH:.0f} is needed"
    )


def _assign_splits(
    extract: Path,
    campaign: str,
    options: Options,
    published: Mapping[str, str | None],
    encode: Encode | None,
) -> SplitAssignment:
    try:
        return assign_splits(extract, way=options.split, before=published, encode=encode)
    except SplitError as error:
        raise UserError(
            f"Campaign {campaign} cannot be split as its policy wants: {error}. Collect the "
            "missing votes, give a campaign smaller splits, or split it at random (--split "
            "random), which may put near-duplicates into different splits."
        ) from error


def _copy(extract: Path, folder: Path, options: Options) -> None:
    """What a release shows as the record has it."""
    tables = [name for name in OF_THE_ANNOTATORS if (extract / name).exists()]
    for name in (CAMPAIGN, GOLD, *(tables if options.judgments else ())):
        shutil.copyfile(extract / name, folder / name)
    shutil.copytree(extract / "instructions", folder / "instructions")


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _facts(
    stated: Mapping[str, Any],
    number: int,
    options: Options,
    previous: Previous | None,
    nearness: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "format_version": version_of(stated),
        "campaign": stated["campaign"],
        "number": number,
        "options": options.to_dict(),
        "previous": previous
        and {"number": previous.number, "manifest_sha256": previous.manifest_sha256},
        "nearness": dict(nearness),
        "versions": versions(),
    }
