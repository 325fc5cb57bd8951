"""A release's formats, runs, figures, changes and card, rebuilt from its records."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.protocol.estimates.certificate import ENOUGH
from exports.building.changelog import write_changes
from exports.card.croissant import croissant
from exports.card.origin import is_retrieved
from exports.card.plots import write_plots
from exports.card.readme import card
from exports.evaluation.baselines import write_runs
from exports.formats.write import same, write_formats
from exports.layout.files import (
    CAMPAIGN,
    CARD,
    CHANGED_LABELS,
    CHANGES,
    CROISSANT,
    GOLD,
    MANIFEST,
    OF_THE_ANNOTATORS,
    PLACEMENTS,
    RELEASE,
    SPLIT_FILES,
    STATS,
)
from exports.layout.rules import OBJECT
from exports.statistics.compute import figures
from exports.verify.facts import Facts, check_counts
from exports.verify.findings import Findings
from exports.verify.rebuild.compare_files import (
    first_difference,
    link_all,
    other_quorum,
    other_versions,
    written,
)
from exports.verify.rebuild.split_changes import check_split_changes
from exports.verify.rebuild.statistics import check_stats, overlaid
from exports.verify.rebuild.text_tolerance import other_checksums, other_numbers, other_texts
from exports.verify.schemas import read_object
from retrieval.ranking.records import document

# Of a file and the rebuilt one: what of them may not differ whatever the rest does, in words.
Comparison = Callable[[Path, Path], str | None]
# Of these everything else is made.
RECORDS = (CAMPAIGN, RELEASE, GOLD, PLACEMENTS, *SPLIT_FILES)


@dataclass(frozen=True)
class Rebuild:
    """`work`: an empty folder; `paths`: the release's files that can be read."""

    folder: Path
    work: Path
    paths: set[str]
    facts: Facts
    findings: Findings
    compared: set[str] = field(default_factory=set)

    def formats(self) -> None:
        inputs = {path for path in self.paths if path.startswith("instructions/")}
        link_all(self.folder, inputs | {*RECORDS, *OF_THE_ANNOTATORS} & self.paths, self.work)
        write_formats(self.work, retrievers=self.facts.retrievers, extra=self.facts.extra)
        write_runs(self.work)
        self._compare()

    def changes(self, previous: Path | None) -> None:
        check_split_changes(self.folder, self.paths, self.findings)
        before = self.facts.release["previous"]
        if before is None or previous is not None:
            self._check_previous(previous)
            write_changes(self.work, previous if before else None)
            self._compare()
        else:
            link_all(self.folder, {CHANGES, CHANGED_LABELS} & self.paths, self.work)
            self.findings.unchecked.append(
                f"{CHANGES} and {CHANGED_LABELS}: give the folder of release "
                f"{before['number']} by --previous to check what changed since."
            )

    def _check_previous(self, previous: Path | None) -> None:
        before = self.facts.release["previous"]
        if before is None or previous is None:
            return
        digest = hashlib.sha256((previous / MANIFEST).read_bytes()).hexdigest()
        if digest != before["manifest_sha256"]:
            self.findings.differ(
                RELEASE,
                f"{RELEASE}: {previous} is not the release that previous.manifest_sha256 is of",
            )

    def stats(self) -> None:
        judgments = self.facts.judgments
        made = figures(self.work, annotators=self.work if judgments else None)
        check_counts(self.facts, made, self.findings)
        certificate = made.get("certificate")
        if certificate and not certificate["holds"]:
            self.findings.differ(
                "certificate",
                f"{RELEASE}: the files do not certify that at most {certificate['error']:.1%} of "
                f"the labels are wrong: an evidence of {certificate['evidence']}, and "
                f"{ENOUGH:.0f} is needed",
            )
        stated: dict[str, Any] | None = None
        if STATS in self.paths:
            stated = read_object(self.folder / STATS, OBJECT, self.findings)
        if stated is not None:
            unknown = check_stats(stated, made, self.findings, all_known=judgments)
            if unknown:
                self.findings.unchecked.append(
                    f"{STATS}: the judgments were left out, and nothing else shows "
                    f"{', '.join(unknown)}."
                )
            made = made if judgments else overlaid(stated, made)
        (self.work / STATS).write_bytes(document(made))
        self.compared.add(STATS)
        if stated == made and (self.folder / STATS).read_bytes() != document(made):
            self.findings.differ(STATS, f"{STATS}: the figures are right, their order is not")

    def card(self) -> None:
        others = other_versions(self.facts.release["versions"])
        if others:
            self.findings.unchecked.append(
                f"The release was written with {', '.join(others)}: a difference in a plot, or in "
                "a figure's last decimal, may come from that alone."
            )
        quorum = other_quorum(self.facts.release["versions"])
        campaign = self.facts.campaign
        write_plots(self.work, self.facts.policy.task_type, retrieved=is_retrieved(campaign))
        drawn_elsewhere = any(other.startswith("matplotlib ") for other in others)
        unlike = self._compare(_wording if quorum else other_texts if drawn_elsewhere else None)
        if unlike and not quorum:
            self.findings.unchecked.append(
                f"{', '.join(unlike)}: drawn by another version of matplotlib; the texts in them "
                "are right, the drawing was not compared."
            )
        (self.work / CARD).write_bytes(card(self.work))
        unlike += self._compare(other_numbers if quorum else None)
        (self.work / CROISSANT).write_bytes(croissant(self.work))
        unlike += self._compare(other_checksums if quorum else None)
        if unlike and quorum:
            self.findings.unchecked.append(
                f"{', '.join(unlike)}: worded by Quorum {quorum}; of them only the numbers that "
                f"are in {CARD}'s tables and the sha256s in {CROISSANT} were compared."
            )

    def leftovers(self) -> None:
        for path in sorted(self.paths - {MANIFEST}):
            if not (self.work / path).exists():
                self.findings.differ("leftovers", f"{path}: no file of a release")

    def _compare(self, compare: Comparison | None = None) -> list[str]:
        """Names what differs of the files that were written since the last time.

        What says the same in other bytes (tables packed by another version of their library)
        takes the release's bytes in `work`: what is made of it next has their checksums.
        `compare`: what may not differ; the paths of which only the rest does are returned.
        """
        differing = []
        for path in written(self.work):
            if path in self.compared:
                continue
            self.compared.add(path)
            self.findings.checked += 1
            stated, made = self.folder / path, self.work / path
            if path not in self.paths:
                self.findings.differ("missing", f"{path}: missing, the other files make it")
                continue
            alike = same(stated, made)
            unlike = None if alike else (compare or first_difference)(stated, made)
            if unlike:
                self.findings.differ("recomputed files", f"{path}: {unlike}")
            else:
                differing += [] if alike else [path]
                made.unlink()
                link_all(self.folder, {path}, self.work)
        return differing


def _wording(stated: Path, made: Path) -> None:
    """A plot that was drawn and worded elsewhere may differ in all."""
