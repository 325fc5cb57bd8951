"""Whether a release's numbers are true: `python -m exports.verify DIR`.

1. Every file is the one that the manifest names, and there are no others.
2. Queries, candidates, labels and splits are as a release's must be.
3. Each label is the majority of its judgments, what the aggregator that controls choose makes of
   them or, where adjudication decides, what the experts said of it; and each judgment is valid.
4. Every figure, and each file that is made of others, is what the records make.

Needs the folder alone, neither settings nor a database. Exit status: 0 no difference, 1 some
difference, 2 the folder is no release.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.text.words import plural
from exports.layout.files import (
    CAMPAIGN,
    CONTROLS,
    JUDGMENTS,
    MANIFEST,
    PLACEMENTS,
    annotators_tables,
)
from exports.statistics.assignments import read_controls
from exports.verify.checks.aggregation import check_aggregation
from exports.verify.checks.clusters import check_clusters
from exports.verify.checks.crowds import check_crowds, check_work
from exports.verify.checks.labels import LabelCheck, judged_queries
from exports.verify.checks.records import Records, check_disjoint, check_records
from exports.verify.checks.split_assignment import check_split_assignment
from exports.verify.checks.tables import check_assignments, check_judgments, check_table
from exports.verify.facts import Facts, check_facts
from exports.verify.findings import Findings
from exports.verify.manifest import check_files, read_manifest
from exports.verify.rebuild.rebuild import RECORDS, Rebuild

Say = Callable[[str], object]
TAKEN_ON_TRUST = (
    f"{CAMPAIGN}: nothing here proves the seeds, the retriever and its scores, the sources, who "
    "was excluded and why, what was paid in bonuses, and that what experts judged for the random "
    "sample was drawn by chance. Somebody who rewrites every file, votes "
    "and gold included, makes another release: compare the manifest's sha256 with the one you know."
)
AT_RANDOM = (
    "The queries were split at random, as requested: near-duplicates in two splits are no "
    "difference."
)
BY_MEANING = (
    f"{PLACEMENTS}: clusters are checked by the queries' words and their positives; that queries "
    "are near by their embeddings, or through queries in no split, cannot be checked."
)
LEFT_OUT = (
    "The judgments were left out: labels are checked only against their counts of votes, no file "
    "shows whether a control is among them, and which triplets are open or unresolved and what the "
    "assignments cost is taken from the campaign."
)
AGGREGATED = (
    f"{CAMPAIGN}: which aggregator was chosen, and the map from its claims to chances, are taken "
    "as stated: the judgments were left out, or the release was built before it told what they "
    "are made by. With the judgments, labels and chances are made again by them."
)
SURE_MAP = (
    f"{CAMPAIGN}: how sure the map from claims to chances is is not told: the release was built "
    "before it was."
)
NO_GOLD = "There is no gold: the label error is not known."
DAMAGED = (
    "Labels, figures and formats were not recomputed: {} missing or damaged, see the differences."
)


@dataclass(frozen=True)
class Report:
    differences: list[str]
    unchecked: list[str]
    checked: int  # how many checks of files, labels and figures were made


def silent(step: str) -> None:
    """Nobody watches."""


def verify(folder: Path, *, previous: Path | None = None, say: Say = silent) -> Report:
    """`previous`: the folder of the release before. UserError where `folder` is no release."""
    findings = Findings()
    manifest = read_manifest(folder)
    say("files and checksums")
    paths: set[str] = set()
    with findings.reading(MANIFEST):
        paths = check_files(folder, manifest, findings)
    facts = None
    with findings.reading(CAMPAIGN):
        facts = check_facts(folder, manifest, paths, findings)
    if facts is not None:
        with findings.reading(str(folder)):
            _check_contents(folder, paths, facts, previous, findings, say)
    else:
        findings.unchecked.append(DAMAGED.format(_named(_lacking(paths, findings, ()))))
    return Report(list(findings.differences()), findings.unchecked, findings.checked)


def _check_contents(
    folder: Path,
    paths: set[str],
    facts: Facts,
    previous: Path | None,
    findings: Findings,
    say: Say,
) -> None:
    records = None
    if not _lacking(paths, findings, ()):
        say("queries, candidates and splits")
        records = _check_records(folder, facts, findings)
    tables = annotators_tables(facts.policy) if facts.judgments else ()
    for name in tables:
        if name in paths:
            check_table(folder, name, findings)
    lacking = _lacking(paths, findings, tables)
    if lacking or records is None:
        findings.unchecked.append(DAMAGED.format(_named(lacking)))
        return
    if facts.judgments:
        say("labels and judgments")
        _check_labels(folder, facts, records, findings)
    if not any(findings.differences()):  # of other labels or clusters, other splits would be drawn
        check_split_assignment(records, facts, findings)
    _rebuild(folder, paths, facts, previous, findings, say)
    _list_unchecked(facts, records, findings)


def _lacking(paths: set[str], findings: Findings, tables: Sequence[str]) -> list[str]:
    """The files without which nothing can be rebuilt."""
    return [
        name for name in (*RECORDS, *tables) if name not in paths or name in findings.unreadable
    ]


def _named(lacking: Sequence[str]) -> str:
    """Files can be read, and yet campaign.json hold no policy to go by."""
    names = lacking or [CAMPAIGN]
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _check_records(folder: Path, facts: Facts, findings: Findings) -> Records:
    records = check_records(folder, facts, findings)
    if not records.gold.labels:
        findings.unchecked.append(NO_GOLD)
    if facts.at_random:
        findings.unchecked.append(AT_RANDOM)
    else:
        check_disjoint(records, findings)
    check_clusters(records, facts, findings)
    check_crowds(facts, records.placements.keys(), findings)
    findings.unchecked.append(BY_MEANING)
    return records


def _check_labels(folder: Path, facts: Facts, records: Records, findings: Findings) -> None:
    work = check_assignments(folder, facts, findings)
    excluded = facts.campaign["excluded_workers"]
    check_work(folder, facts, findings)
    controls = read_controls(folder / CONTROLS).digests
    check = LabelCheck(folder, facts, records.placements, records.gold, controls, findings)
    if facts.aggregated and facts.tells_choice:
        check_aggregation(folder, facts, findings)
    with findings.reading(JUDGMENTS):
        check.check(judged_queries(check_judgments(folder, work, excluded, findings)))


def _rebuild(
    folder: Path,
    paths: set[str],
    facts: Facts,
    previous: Path | None,
    findings: Findings,
    say: Say,
) -> None:
    with tempfile.TemporaryDirectory(prefix="quorum-verify-") as work:
        rebuild = Rebuild(folder, Path(work), paths, facts, findings)
        steps: Mapping[str, Callable[[], None]] = {
            "formats and runs": rebuild.formats,
            "changes": lambda: rebuild.changes(previous),
            "figures": rebuild.stats,
            "card and plots": rebuild.card,
            "all files": rebuild.leftovers,
        }
        for name, step in steps.items():
            say(name)
            with findings.reading(name):
                step()
            if name in findings.unreadable:
                return


def _list_unchecked(facts: Facts, records: Records, findings: Findings) -> None:
    if not facts.judgments:
        findings.unchecked.append(LEFT_OUT)
    if records.imported:
        findings.unchecked.append(
            f"{records.imported:,} labels came with the dataset: no votes show how they were made, "
            "and which triplets are open or unresolved is taken from the campaign."
        )
    if facts.aggregated and not (facts.judgments and facts.tells_choice):
        findings.unchecked.append(AGGREGATED)
    if not facts.tells_errors:
        findings.unchecked.append(SURE_MAP)
    findings.unchecked.append(TAKEN_ON_TRUST)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m exports.verify", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path, metavar="DIR", help="the release, unpacked")
    parser.add_argument("--previous", type=Path, metavar="DIR", help="the release before it")
    parser.add_argument("--json", action="store_true", help="the report as one object")
    options = parser.parse_args(arguments)
    try:
        report = verify(
            options.folder,
            previous=options.previous,
            say=lambda step: print(f"checking {step} ...", file=sys.stderr),
        )
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(asdict(report)) if options.json else render(options.folder, report))
    return 1 if report.differences else 0


def render(folder: Path, report: Report) -> str:
    """For the terminal."""
    parts: list[Any] = [f"{folder}: {report.checked:,} checks of its files, labels and figures"]
    if report.differences:
        parts += [f"{plural(len(report.differences), 'difference')}:"]
        parts += [f"  {difference}" for difference in report.differences]
    else:
        parts += ["no difference"]
    if report.unchecked:
        parts += ["not checked:", *(f"  {sentence}" for sentence in report.unchecked)]
    return "\n".join(parts)
