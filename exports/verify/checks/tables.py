"""Whether the annotators' tables agree with each other, whatever the labels are."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from annotation.protocol.labels.valid_votes import VoteFacts, is_discarded, void_reason
from annotation.protocol.screening.control import RejectionReason
from exports.layout.files import (
    ASSIGNMENTS,
    CAMPAIGN,
    CANNOT_JUDGE,
    CONTROLS,
    JUDGMENTS,
)
from exports.layout.schemas import FACTS, TABLES
from exports.statistics.assignments import read_assignments, rows
from exports.statistics.votes import Ints, Votes, numbers, read_votes
from exports.verify.facts import Facts
from exports.verify.findings import Findings, quote

ROWS = 65_536
# An assignment in one number: its HIT, and the number of its worker.
WORKERS = 1 << 24
RANKS = 1 << 16
STATUSES = ("submitted", "approved", "rejected")
EXPECTED = {"positive": 1, "negative": 0}


@dataclass(frozen=True)
class CheckedAssignments:
    """`good`: the assignments that make votes, as sorted numbers.

    Of each: how many `items` of its HIT are no controls, and how many of its `votes` were seen.
    """

    good: Ints
    items: Ints
    votes: Ints
    workers: dict[str, int]


def check_table(folder: Path, name: str, findings: Findings) -> None:
    """Its columns are those of a release, and every value of it can be read."""
    wanted = TABLES[name]
    never_empty = [column.name for column in wanted if not column.nullable]
    with findings.reading(name), pq.ParquetFile(folder / name) as file:
        if not file.schema_arrow.equals(wanted):
            findings.damage(name, f"{name}: not the columns of a release's")
            return
        for batch in file.iter_batches(batch_size=ROWS):
            batch.validate(full=True)
            findings.checked += batch.num_rows
            if any(batch.column(column).null_count for column in never_empty):
                findings.damage(name, f"{name}: empty values where none may be")
                return


def check_assignments(folder: Path, facts: Facts, findings: Findings) -> CheckedAssignments:
    """No assignment is there twice, none lacks its controls, none passed that missed one."""
    workers: dict[str, int] = {}
    done, good = _assignments(folder, workers, facts.campaign["excluded_workers"], findings)
    missed, judged = _controls(folder, workers, findings)
    _check_reasons(folder, facts.campaign["rejection_reasons"], missed, findings)
    every = np.sort(done)
    for kind, least in facts.controls.items():
        if few := int((_times(every, judged[kind]) < least).sum()):
            findings.differ(CONTROLS, f"{CONTROLS}: {few:,} assignments lack {kind} controls")
    controls = np.concatenate(list(judged.values()))
    if (np.diff(every) == 0).any():
        findings.differ(ASSIGNMENTS, f"{ASSIGNMENTS}: a worker submitted a HIT twice")
    if not np.isin(controls, every).all():
        findings.differ(CONTROLS, f"{CONTROLS}: answers of an assignment that {ASSIGNMENTS} lacks")
    kept = good[~np.isin(good, missed)]
    if len(kept) < len(good):
        findings.differ(
            ASSIGNMENTS,
            f"{ASSIGNMENTS}: {len(good) - len(kept):,} passed, but a control of each was missed",
        )
    kept = np.sort(kept)
    items = facts.policy.hit_size - _times(kept, controls)
    return CheckedAssignments(kept, items, np.zeros_like(kept), workers)


def _check_reasons(
    folder: Path, stated: Mapping[str, int], missed: Ints, findings: Findings
) -> None:
    """No file shows every question that was left out, so of `missed` there may be fewer."""
    work, manual = read_assignments(folder / ASSIGNMENTS), stated[RejectionReason.MANUAL.key]
    failed = sum(stated.values()) - manual
    for what, said, least, most in (
        ("failed", failed, work.failed, work.failed),
        ("rejected manually", manual, work.refused, work.refused),
        ("missed a control", stated[RejectionReason.MISSED.key], 0, len(np.unique(missed))),
    ):
        if not least <= said <= most:
            findings.differ(
                CAMPAIGN,
                f"{CAMPAIGN}: rejection_reasons: {said:,} {what}, by the other files {most:,}",
            )


def _times(assignments: Ints, rows: Ints) -> Ints:
    """How often each of `assignments` is among the rows."""
    sorted_rows = np.sort(rows)
    return np.searchsorted(sorted_rows, assignments, "right") - np.searchsorted(
        sorted_rows, assignments, "left"
    )


def _assignments(
    folder: Path, workers: dict[str, int], excluded: Collection[str], findings: Findings
) -> tuple[Ints, Ints]:
    """All assignments, and those whose votes count."""
    every, good = array("q"), array("q")
    columns = ("hit", "worker", "status", "discarded", "cents", *FACTS)
    for hit, worker, status, discarded, cents, *values in rows(folder / ASSIGNMENTS, *columns):
        assignment = hit * WORKERS + workers.setdefault(worker, len(workers))
        every.append(assignment)
        asked = dict(zip(FACTS, values, strict=True))
        facts = VoteFacts(excluded=worker in excluded, rejected=status == "rejected", **asked)
        void = void_reason(facts)
        if void is None and not discarded:
            good.append(assignment)
        if status not in STATUSES:
            findings.differ(ASSIGNMENTS, f"{ASSIGNMENTS}: no status is {quote(status)}")
        if discarded != is_discarded(status, void):
            what = "discarded, and nothing says why" if discarded else "bad work, but not discarded"
            findings.differ(ASSIGNMENTS, f"{ASSIGNMENTS}: HIT {hit}: {what}")
        if cents < 0:
            findings.differ(ASSIGNMENTS, f"{ASSIGNMENTS}: HIT {hit}: cost less than nothing")
    return np.array(every), np.array(good)


def _controls(
    folder: Path, workers: dict[str, int], findings: Findings
) -> tuple[Ints, dict[str, Ints]]:
    """Assignments that missed a control; for each kind of control, those it was in."""
    missed, judged = array("q"), {kind: array("q") for kind in EXPECTED}
    columns = ("hit", "worker", "kind", "expected", "given")
    for hit, worker, kind, expected, given in rows(folder / CONTROLS, *columns):
        assignment = hit * WORKERS + workers.setdefault(worker, len(workers))
        if kind in judged:
            judged[kind].append(assignment)
        if given != expected:
            missed.append(assignment)
        if EXPECTED.get(kind) != expected:
            findings.differ(
                CONTROLS, f"{CONTROLS}: HIT {hit}: a {quote(kind)} control expects {expected}"
            )
    return np.array(missed), {kind: np.array(assignments) for kind, assignments in judged.items()}


def check_judgments(
    folder: Path, checked: CheckedAssignments, excluded: Collection[str], findings: Findings
) -> Iterator[Votes]:
    """The votes again, as `read_votes` has them, each looked at."""
    last = ""
    numbered = [checked.workers.setdefault(each, len(checked.workers)) for each in excluded]
    for votes in read_votes(folder / JUDGMENTS, checked.workers, TABLES[JUDGMENTS].names):
        _check_order(votes, last, findings)
        last = votes.query_ids[-1]
        _report(votes, _wrong_value(votes), "a vote is 0 or 1", findings)
        _report(votes, _repeated(votes), "a second vote of the same worker", findings)
        _report(votes, np.isin(votes.worker, numbered), "the vote of an excluded worker", findings)
        done = numbers(votes.table, "hit") * WORKERS + votes.worker
        _report(
            votes,
            ~np.isin(done, checked.good),
            f"a vote of an assignment that failed, was discarded or is not in {ASSIGNMENTS}",
            findings,
        )
        _count(done, checked)
        yield votes
    _check_cannot_judge(folder, checked, findings)
    if few := int((checked.votes != checked.items).sum()):
        findings.differ(
            f"{JUDGMENTS}: too few",
            f"{JUDGMENTS}: {few:,} assignments that passed have fewer or more votes than their HIT "
            "has items that they judged",
        )


def _check_cannot_judge(folder: Path, checked: CheckedAssignments, findings: Findings) -> None:
    """Of work whose votes count, too: together they are its HIT's items."""
    if not (folder / CANNOT_JUDGE).exists():
        return
    done = array("q")
    seen: set[tuple[str, ...]] = set()
    columns = ("query_id", "candidate_id", "worker", "hit")
    for query, candidate, worker, hit in rows(folder / CANNOT_JUDGE, *columns):
        done.append(hit * WORKERS + checked.workers.setdefault(worker, len(checked.workers)))
        if (query, candidate, worker) in seen:
            what = "a worker could not judge it twice"
            findings.differ(CANNOT_JUDGE, f"{CANNOT_JUDGE}: query {quote(query)}: {what}")
        seen.add((query, candidate, worker))
    every = np.array(done, dtype=np.int64)
    if stray := int((~np.isin(every, checked.good)).sum()):
        findings.differ(
            CANNOT_JUDGE, f"{CANNOT_JUDGE}: {stray:,} rows of assignments whose votes do not count"
        )
    _count(every, checked)


def _count(done: Ints, checked: CheckedAssignments) -> None:
    good = done[np.isin(done, checked.good)]
    np.add.at(checked.votes, np.searchsorted(checked.good, good), 1)


def _wrong_value(votes: Votes) -> NDArray[np.bool_]:
    return np.isin(votes.value, (0, 1), invert=True)


def _repeated(votes: Votes) -> NDArray[np.bool_]:
    pairs = votes.triplet * WORKERS + votes.worker
    _, first = np.unique(pairs, return_index=True)
    again = np.ones(len(pairs), dtype=bool)
    again[first] = False
    return again


def _check_order(votes: Votes, last: str, findings: Findings) -> None:
    """By query, rank and position; positions from 1 without gaps; a rank a candidate."""
    ids = [last, *votes.query_ids]
    rows = np.arange(len(votes.value))
    rank = numbers(votes.table, "rank")
    position = numbers(votes.table, "position")
    place = votes.query[votes.triplet] * RANKS + rank
    start = votes.start[votes.triplet]
    wrong = (position != rows - start + 1) | (rank != rank[start]) | (rank < 1)
    first = votes.start[1:]
    wrong[first] |= place[first] <= place[first - 1]
    _report(votes, wrong, "not in order", findings)
    if any(one >= other for one, other in pairwise(ids)):
        findings.differ("order of the judgments", f"{JUDGMENTS}: queries are not in order")


def _report(votes: Votes, wrong: NDArray[np.bool_], what: str, findings: Findings) -> None:
    for row in np.flatnonzero(wrong).tolist():
        query = votes.query_ids[int(votes.query[votes.triplet[row]])]
        candidate = votes.candidate(int(votes.triplet[row]))
        findings.differ(
            f"{JUDGMENTS}: {what}",
            f"{JUDGMENTS}: query {query!r}, candidate {candidate!r}: {what}",
        )
