"""Every figure of a release, from its files alone: what stats.json holds.

No file is ever whole in memory. Undefined is null; figures are rounded
to four decimals; nothing here knows Django.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from annotation.protocol.estimates.certificate import certify
from annotation.protocol.policy.crowds import PAPER_CURRENCY
from annotation.protocol.policy.policy import Policy, currency_of
from exports.evaluation.baselines import baselines
from exports.layout.files import (
    ASSIGNMENTS,
    CAMPAIGN,
    CONTROLS,
    GOLD,
    IMPORTED,
    JUDGMENTS,
    PLACEMENTS,
    RELEASE,
)
from exports.layout.manifest import beside_work
from exports.splits.similarity import similarity
from exports.statistics.agreement import agreement_figures
from exports.statistics.assignments import (
    AssignmentCounts,
    Controls,
    read_assignments,
    read_controls,
)
from exports.statistics.cannot_judge import CannotJudge, read_cannot_judge
from exports.statistics.claims import read_claims
from exports.statistics.counts import split_rows
from exports.statistics.gold import Gold, certificate_figures, read_gold
from exports.statistics.judgments import Judged, read_judged
from exports.statistics.splits import read_released


@dataclass(frozen=True)
class Annotators:
    """What their three tables say."""

    judged: Judged
    work: AssignmentCounts
    controls: Controls
    cannot_judge: CannotJudge


def figures(folder: Path, *, annotators: Path | None) -> dict[str, Any]:
    """`annotators`: the folder of their three tables. Without, what needs them is absent.

    Without them the campaign's own word is taken for what is open, unresolved and paid; where
    labels were imported it is for what is open and unresolved.
    """
    facts = orjson.loads((folder / CAMPAIGN).read_bytes())
    policy = Policy.from_dict(facts["policy"])
    gold = read_gold(folder / GOLD, policy)
    tables = _read(annotators, facts, gold) if annotators else None
    controls = tables.controls.digests if tables else frozenset[str]()
    released = read_released(folder, gold, controls)
    theirs = _of_the_annotators(tables) if tables else {"campaign": {}, "workers": {}}
    campaign = _campaign(folder, facts, gold, tables) | theirs.pop("campaign")
    return {
        "splits": split_rows(released.splits),
        "label_sources": released.label_sources(),
        **_certificate(folder, gold),
        "campaign": campaign,
        **theirs,
        "workers": theirs["workers"] | released.robust_figures(),
        **({"controls": tables.controls.figures(released.controls)} if tables else {}),
        "retriever": released.rows_by_rank(policy.candidates_per_query),
        **({"retrievers": released.rows_by_retriever()} if _pooled(facts) else {}),
        "similarity": similarity(folder),
        "baselines": baselines(folder),
    }


def _certificate(folder: Path, gold: Gold) -> dict[str, Any]:
    """Nothing where none was wanted."""
    error = orjson.loads((folder / RELEASE).read_bytes())["options"].get("certify")
    return {} if error is None else {"certificate": certificate_figures(certify(gold.audit, error))}


def _pooled(facts: dict[str, Any]) -> bool:
    """Several retrievers, or another one than the dense one, found the candidates."""
    return bool(facts["queries"].get("retrievers"))


def _read(folder: Path, facts: dict[str, Any], gold: Gold) -> Annotators:
    policy, claims = gold.policy, read_claims(folder, facts)
    cannot_judge = read_cannot_judge(folder, policy)
    return Annotators(
        read_judged(folder / JUDGMENTS, policy, gold, cannot_judge.sent_to_experts(policy), claims),
        read_assignments(folder / ASSIGNMENTS),
        read_controls(folder / CONTROLS),
        cannot_judge,
    )


def _of_the_annotators(tables: Annotators) -> dict[str, Any]:
    agreement = agreement_figures(tables.judged.counts())
    return {
        "campaign": {
            "votes": agreement["votes"],
            "first_two_votes": {key: agreement[key] for key in ("triplets", "agreement", "kappa")},
            "ties_broken": tables.judged.ties_broken,
            "workers": len(tables.work.workers),
            "assignments": tables.work.assignments(),
            **tables.cannot_judge.figures(),
        },
        "agreement": agreement,
        "workers": {
            **tables.judged.workers.figures(),
            "control_failures": tables.work.control_failures(),
        },
    }


def _campaign(
    folder: Path, facts: dict[str, Any], gold: Gold, tables: Annotators | None
) -> dict[str, Any]:
    queries, currency = _queries(folder), currency_of(facts["policy"])
    if tables and facts["queries"]["origin"] != IMPORTED:
        unresolved = tables.judged.statuses["unresolved"]
        still_open = queries["triplets"] - queries["labelled"] - unresolved
    else:
        unresolved, still_open = facts["triplets"]["unresolved"], facts["triplets"]["open"]
    expert = gold.figures(unresolved)
    said = expert.to_dict()
    if not tables:
        del said["unresolved_adjudicated"]  # no file tells which are unresolved
    return {
        **queries,
        "open": still_open,
        "unresolved": unresolved,
        "excluded_workers": len(facts["excluded_workers"]),
        "rejection_reasons": facts["rejection_reasons"],
        "cost_cents": tables.work.cents + beside_work(facts) if tables else facts["cost_cents"],
        "bonus_cents": facts["bonus_cents"],
        **({} if currency == PAPER_CURRENCY else {"currency": currency}),
        "expert": said,
        **expert.label_error_to_dict(),
    }


def _queries(folder: Path) -> dict[str, int]:
    """Of the whole campaign, the released and the others."""
    counts = {"queries": 0, "queries_left_out": 0, "triplets": 0, "labelled": 0}
    with (folder / PLACEMENTS).open("rb") as file:
        for row in map(orjson.loads, file):
            counts["queries"] += 1
            counts["queries_left_out"] += row["split"] is None
            counts["triplets"] += row["candidates"]
            counts["labelled"] += row["labelled"]
    return counts
