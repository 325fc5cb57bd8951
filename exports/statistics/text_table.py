"""A release's figures for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.protocol.estimates.split_sizes import HELD_OUT
from annotation.protocol.policy.policy import currency_of

FOUND_BY = ("found by", "candidates", "positives", "positive")
HEADER = ("", "queries", "candidates", "positives", "negatives", "triplets", "answerable", "votes")
PER_QUERY = ("candidates_per_query", "positives_per_query", "negatives_per_query")


def render_table(stats: Mapping[str, Any]) -> str:
    """A row for each split, then the campaign's figures."""
    rows = [HEADER, *(_cells(name, row) for name, row in stats["splits"].items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows]
    note = "candidates, positives, negatives: a query, mean ± deviation; votes: a triplet"
    campaign = [*_campaign(stats["campaign"]), *_certificate(stats), *_annotators(stats)]
    return "\n".join([*lines, note, "", *campaign, *_retrievers(stats.get("retrievers", ()))])


def without_metrics(splits: Mapping[str, Any]) -> str | None:
    """A warning where there is nothing to find in dev or test."""
    lacks = [
        f"on {name}, which has no {'positive' if splits[name]['queries'] else 'query'}"
        for name in HELD_OUT
        if not splits[name]["positives"]
    ]
    if not lacks:
        return None
    return f"No metric can be computed {' and '.join(lacks)}. Label more queries."


def _cells(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        name,
        f"{row['queries']:,}",
        *(_plus_minus(row[key]) for key in PER_QUERY),
        f"{row['triplets']:,}",
        _percent(row["answerable_share"]),
        _decimals(row["votes_per_triplet"]),
    )


def _plus_minus(spread: Mapping[str, float | None]) -> str:
    return "-" if spread["mean"] is None else f"{spread['mean']:.1f} ± {spread['std']:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _decimals(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)])


def _campaign(campaign: Mapping[str, Any]) -> list[str]:
    """Without the judgments there is less to tell."""
    lines = [f"{campaign['unresolved']:,} triplets unresolved"]
    if "votes" in campaign:
        work = campaign["assignments"]
        lines = [
            f"{_first_two(campaign['first_two_votes'])}{campaign['ties_broken']:,} ties broken,"
            f" {campaign['unresolved']:,} triplets unresolved",
            f"{campaign['workers']:,} workers, {campaign['excluded_workers']:,} excluded."
            f" Assignments: {work['approved']:,} approved, {work['rejected']:,} rejected,"
            f" {work['paid_but_discarded']:,} paid but discarded, cost"
            f" {currency_of(campaign)} {campaign['cost_cents'] / 100:,.2f}",
        ]
    return [*lines, _label_error(campaign)]


def _first_two(votes: Mapping[str, Any]) -> str:
    if votes["agreement"] is None:
        return ""
    kappa = "" if votes["kappa"] is None else f" (Cohen's kappa {_decimals(votes['kappa'])})"
    return f"first two votes agree on {_percent(votes['agreement'])} of the triplets{kappa}, "


def _label_error(campaign: Mapping[str, Any]) -> str:
    if campaign["label_error"] is None:
        return f"label error unknown: {campaign['label_error_reason']}"
    low, high = campaign["label_error_interval"]
    return (
        f"label error {_percent(campaign['label_error'])} (95% interval {_percent(low)} to"
        f" {_percent(high)}) of {campaign['label_error_triplets']:,} triplets with gold"
        f"{''.join(_kinds(campaign.get('label_error_kinds', {})))}"
    )


def _kinds(kinds: Mapping[str, Any]) -> Iterator[str]:
    for name, labels in (("false_positives", "positives"), ("false_negatives", "negatives")):
        if kind := kinds.get(name):  # older releases have none
            low, high = kind["interval"]
            yield (
                f"; {name.replace('_', ' ')} {_percent(kind['share'])} ({_percent(low)} to"
                f" {_percent(high)}) of the {labels}"
            )


def _certificate(stats: Mapping[str, Any]) -> list[str]:
    if "certificate" not in stats:
        return []
    error, confidence = stats["certificate"]["error"], stats["certificate"]["confidence"]
    return [
        f"certified: at most {error:.1%} of the labels are wrong, with {confidence:.0%} confidence"
    ]


def _retrievers(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of a pool, what each retriever brought to it."""
    rows = [
        (
            finders(row["found_by"]),
            f"{row['candidates']:,}",
            f"{row['positives']:,}",
            _percent(row["positive_share"]),
        )
        for row in figures
    ]
    widths = [max(map(len, column)) for column in zip(FOUND_BY, *rows, strict=True)]
    return ["", *(_aligned(row, widths) for row in (FOUND_BY, *rows))] if rows else []


def finders(names: Sequence[str]) -> str:
    if not names:
        return "not known"
    return f"{names[0]} alone" if len(names) == 1 else " and ".join(names)


def _annotators(stats: Mapping[str, Any]) -> list[str]:
    """What is undefined is left out."""
    if "agreement" not in stats:
        return []
    alpha, workers = stats["agreement"]["alpha"], stats["workers"]
    parts = []
    if alpha is not None:
        parts.append(f"Krippendorff's alpha of all votes {_decimals(alpha)}")
    if workers["robust_share"] is not None:
        share = _percent(workers["robust_share"])
        parts.append(f"{share} of the labels stay the same whichever worker is removed")
    if workers["gini"] is not None:
        parts.append(
            f"the Gini of votes per worker is {_decimals(workers['gini'])}, the busiest gave"
            f" {_percent(workers['top_share'])}"
        )
    return ["; ".join(parts)] if parts else []
