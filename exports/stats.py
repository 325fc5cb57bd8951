"""The release's statistics, in the shape of the paper's table 2. Pure but for the protocol.

Deviations are those of the whole population (divided by n, not by n - 1).
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.agreement import observed_agreement
from annotation.protocol.kappa import cohen_kappa

DECIMALS = 4
HEADER = ("", "queries", "candidates", "positives", "negatives", "triplets", "answerable", "votes")
PER_QUERY = ("candidates_per_query", "positives_per_query", "negatives_per_query")


@dataclass(frozen=True)
class QueryCounts:
    """What a released query holds."""

    positives: int
    negatives: int
    votes: int

    @property
    def candidates(self) -> int:
        return self.positives + self.negatives


@dataclass
class VoteTally:
    """Sums over the valid votes of a campaign's triplets, released or not."""

    annotators: int
    votes: int = 0
    ties_broken: int = 0
    first_two: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, votes: Sequence[int], *, labelled: bool) -> None:
        """One triplet's valid votes, in order of submission."""
        self.votes += len(votes)
        if len(votes) >= 2:
            self.first_two[votes[0], votes[1]] += 1
        # A tie is what the first round of annotators leaves without a majority.
        first_round = votes[: self.annotators]
        self.ties_broken += labelled and 2 * sum(first_round) == len(first_round)

    def summary(self) -> dict[str, object]:
        pairs = list(self.first_two.elements())
        return {
            "votes": self.votes,
            "first_two_votes": {
                "triplets": len(pairs),
                "agreement": _rounded(observed_agreement(pairs)),
                "kappa": _rounded(cohen_kappa(pairs)),
            },
            "ties_broken": self.ties_broken,
        }


def split_statistics(splits: Mapping[str, Sequence[QueryCounts]]) -> dict[str, dict[str, object]]:
    """A row for each split, and one for all of them."""
    rows = {name: _row(queries) for name, queries in splits.items()}
    rows["all"] = _row([query for queries in splits.values() for query in queries])
    return rows


def _row(queries: Sequence[QueryCounts]) -> dict[str, object]:
    triplets = sum(query.candidates for query in queries)
    votes = sum(query.votes for query in queries)
    answerable = sum(query.positives > 0 for query in queries)
    return {
        "queries": len(queries),
        "triplets": triplets,
        "positives": sum(query.positives for query in queries),
        "negatives": sum(query.negatives for query in queries),
        "candidates_per_query": _spread(query.candidates for query in queries),
        "positives_per_query": _spread(query.positives for query in queries),
        "negatives_per_query": _spread(query.negatives for query in queries),
        "answerable_queries": answerable,
        "answerable_share": _share(answerable, len(queries)),
        "votes": votes,
        "votes_per_triplet": _share(votes, triplets),
    }


def _spread(counts: Iterable[int]) -> dict[str, float | None]:
    numbers = list(counts)
    if not numbers:
        return {"mean": None, "std": None}
    return {
        "mean": round(statistics.fmean(numbers), DECIMALS),
        "std": round(statistics.pstdev(numbers), DECIMALS),
    }


def _share(part: int, whole: int) -> float | None:
    return _rounded(part / whole) if whole else None


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, DECIMALS)


def render_table(stats: Mapping[str, Any]) -> str:
    """For the terminal: a row for each split, then the campaign's figures."""
    rows = [HEADER, *(_cells(name, row) for name, row in stats["splits"].items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows]
    note = "candidates, positives, negatives: a query, mean ± deviation; votes: a triplet"
    return "\n".join([*lines, note, "", *_campaign_lines(stats["campaign"])])


def _cells(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        name,
        f"{row['queries']:,}",
        *(_plus_minus(row[key]) for key in PER_QUERY),
        f"{row['triplets']:,}",
        _percent(row["answerable_share"]),
        "-" if row["votes_per_triplet"] is None else f"{row['votes_per_triplet']:.2f}",
    )


def _plus_minus(spread: Mapping[str, float | None]) -> str:
    return "-" if spread["mean"] is None else f"{spread['mean']:.1f} ± {spread['std']:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)])


def _campaign_lines(campaign: Mapping[str, Any]) -> list[str]:
    first_two, work = campaign["first_two_votes"], campaign["assignments"]
    kappa = "undefined" if first_two["kappa"] is None else f"{first_two['kappa']:.2f}"
    return [
        f"first two votes agree on {_percent(first_two['agreement'])} of the triplets"
        f" (Cohen's kappa {kappa}), {campaign['ties_broken']:,} ties broken,"
        f" {campaign['unresolved']:,} triplets unresolved",
        f"{campaign['workers']:,} workers, {campaign['excluded_workers']:,} excluded;"
        f" assignments: {work['approved']:,} approved, {work['rejected']:,} rejected,"
        f" {work['paid_but_discarded']:,} paid but discarded; cost"
        f" ${campaign['cost_cents'] / 100:,.2f}",
        _label_error(campaign),
    ]


def _label_error(campaign: Mapping[str, Any]) -> str:
    if campaign["label_error"] is None:
        return f"label error unknown: {campaign['label_error_reason']}"
    low, high = campaign["label_error_interval"]
    return (
        f"label error {_percent(campaign['label_error'])} (95 % interval {_percent(low)} to"
        f" {_percent(high)}) of {campaign['label_error_triplets']:,} triplets with gold"
    )
