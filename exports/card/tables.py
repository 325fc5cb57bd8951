"""The card's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.protocol.estimates.split_sizes import LEAST_QUERIES
from core.text.markdown import Markdown, table
from exports.card.licences import known
from exports.card.words import UNDEFINED, between, count, decimal, percent, plus_minus
from exports.statistics.text_table import finders

STATISTICS = (
    "",
    "queries",
    "candidates",
    "positives",
    "negatives",
    "triplets",
    "answerable",
    "votes",
)

KINDS = {
    "false_positives": "Positives that are wrong",
    "false_negatives": "Negatives that are wrong",
}


def statistics(splits: Mapping[str, Any]) -> Markdown:
    """The paper's table 2."""
    rows = [
        (
            name,
            count(row["queries"]),
            plus_minus(row["candidates_per_query"]),
            plus_minus(row["positives_per_query"]),
            plus_minus(row["negatives_per_query"]),
            count(row["triplets"]),
            percent(row["answerable_share"]),
            UNDEFINED if row["votes_per_triplet"] is None else f"{row['votes_per_triplet']:.2f}",
        )
        for name, row in splits.items()
    ]
    return table(STATISTICS, rows)


def quality(stats: Mapping[str, Any]) -> Markdown | None:
    """None where nothing is known of it."""
    rows: list[Sequence[str]] = []
    agreement = stats.get("agreement")
    if agreement and agreement["triplets"]:
        for key, name, show in (
            ("agreement", "Agreement of the first two votes", percent),
            ("kappa", "Cohen's kappa", decimal),
            ("alpha", "Krippendorff's alpha", decimal),
        ):
            ends = between(agreement[f"{key}_interval"], shares=show is percent)
            rows.append((name, show(agreement[key]), ends))
    campaign = stats["campaign"]
    if campaign["label_error"] is not None:
        ends = between(campaign["label_error_interval"], shares=True)
        rows.append(("Label error", percent(campaign["label_error"]), ends))
        for key, name in KINDS.items():
            if kind := campaign.get("label_error_kinds", {}).get(key):  # older releases have none
                ends = between(kind["interval"], shares=True)
                rows.append((name, percent(kind["share"]), ends))
    return table(("", "value", "95% interval"), rows) if rows else None


def baselines(
    figures: Mapping[str, Any] | None, queries: Mapping[str, int], *, retriever: str
) -> Markdown | None:
    """A row for each split and system; None where no split holds a query. `queries`: of each."""
    names_of = {"bm25": "BM25", "retriever": retriever}
    systems = [
        (f"{split}, {names_of.get(system, system)}", metrics, queries[split] >= LEAST_QUERIES)
        for split, scored in ((figures or {}).get("splits") or {}).items()
        for system, metrics in (scored or {}).items()
        if metrics
    ]
    if not systems:
        return None
    names = list(dict.fromkeys(name for _, metrics, _ in systems for name in metrics))
    rows = [
        [who, *(_score(metrics.get(name), with_ends=enough) for name in names)]
        for who, metrics, enough in systems
    ]
    return table(["", *names], rows)


def _score(score: Mapping[str, float | None] | None, *, with_ends: bool) -> str:
    if score is None or score["value"] is None:
        return UNDEFINED
    if not with_ends:
        return decimal(score["value"])
    ends = "\u2013".join(decimal(score[end]) for end in ("low", "high"))
    return f"{decimal(score['value'])} ({ends})"


def retrievers(figures: Sequence[Mapping[str, Any]]) -> Markdown | None:
    """What each brought to the pool; None where there was none."""
    if not figures:
        return None
    rows = [
        (
            finders(row["found_by"]),
            count(row["candidates"]),
            count(row["positives"]),
            percent(row["positive_share"]),
        )
        for row in figures
    ]
    return table(("Found by", "candidates", "positives", "positive"), rows)


def withheld(reasons: Mapping[str, int]) -> Markdown | None:
    """None where every query of the campaign is in a split."""
    if not reasons:
        return None
    rows = [(reason, count(queries)) for reason, queries in sorted(reasons.items())]
    return table(("Queries in no split, because", "queries"), rows)


def sources(figures: Sequence[Mapping[str, Any]]) -> Markdown:
    rows = [
        (
            str(source["source"]),
            _licence(str(source["license"] or "")),
            count(source["pairs"]),
        )
        for source in figures
    ]
    return table(("Source", "licence", "question/answer pairs"), rows, left=2)


def _licence(licence: str) -> str:
    name = known(licence)
    if not licence.strip():
        return "not stated"
    return licence if name is None or name == licence else f"{licence} (on the Hub: {name})"
