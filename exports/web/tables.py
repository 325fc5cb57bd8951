"""A release's figures in words; what is unknown or left out is a dash or not there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.protocol.estimates.split_sizes import LEAST_QUERIES
from annotation.protocol.policy.policy import currency_of
from core.text.money import money
from core.text.words import DASH, percent, plural

SPLITS = {"train": "Train", "dev": "Dev", "test": "Test", "all": "All"}
CHANGES = (
    ("label", "labels", ("added", "changed", "withdrawn")),
    ("query", "queries", ("added", "withdrawn", "moved")),
)
SYSTEMS = {"retriever": "Retriever", "bm25": "BM25"}


@dataclass(frozen=True)
class Cell:
    text: str
    more: str = ""  # in small letters, such as an interval


@dataclass(frozen=True)
class Row:
    name: str
    cells: Sequence[Cell]
    more: str = ""


@dataclass(frozen=True)
class Table:
    key: str
    caption: str
    headings: Sequence[str]  # of the columns after the first one
    rows: Sequence[Row]


def at(values: object, *keys: str) -> Any:
    """None where any step is missing: older releases lack some figures, partial ones others."""
    for key in keys:
        if not isinstance(values, Mapping):
            return None
        values = values.get(key)
    return values


def count(number: object) -> str:
    return f"{number:,}" if isinstance(number, int) else DASH


def share(number: object, digits: int = 1) -> str:
    return percent(number if isinstance(number, int | float) else None, digits)


def decimal(number: object, digits: int = 2) -> str:
    return f"{number:.{digits}f}" if isinstance(number, int | float) else DASH


def interval(ends: object, *, shares: bool) -> str:
    if not isinstance(ends, Sequence) or len(ends) != 2 or None in ends:
        return ""
    low, high = (share(end) if shares else decimal(end, 3) for end in ends)
    return f"{low} to {high}"


def key_figures(stats: object) -> list[tuple[str, str, str]]:
    """What, how much, and a word more."""
    everything, campaign = at(stats, "splits", "all"), at(stats, "campaign")
    parts = [
        f"{count(at(stats, 'splits', name, 'queries'))} {name}" for name in ("train", "dev", "test")
    ]
    first_two = at(campaign, "first_two_votes")
    figures = [
        ("Queries", count(at(everything, "queries")), " · ".join(parts)),
        (
            "Triplets",
            count(at(everything, "triplets")),
            f"{decimal(at(everything, 'votes_per_triplet'))} votes each",
        ),
        (
            "Answerable",
            share(at(everything, "answerable_share")),
            "of the queries have a positive",
        ),
    ]
    if at(first_two, "agreement") is not None:
        kappa = f"kappa {decimal(at(first_two, 'kappa'))}"
        figures.append(("First two votes agree", share(first_two["agreement"]), kappa))
    if at(campaign, "label_error") is not None:
        of = f"of {count(at(campaign, 'label_error_triplets'))} with gold"
        figures.append(("Label error", share(campaign["label_error"]), of))
    if cents := at(campaign, "cost_cents"):
        figures.append(("Cost", money(cents, currency=currency_of(campaign)), "fees included"))
    return figures


def split_table(stats: object) -> Table:
    """DESIGN's table of statistics, a column a split: on a phone it fits."""
    rows = at(stats, "splits")
    known = [name for name in SPLITS if at(rows, name) is not None]
    return Table(
        "splits",
        "The splits",
        [SPLITS[name] for name in known],
        [
            Row(heading, [cell(at(rows, name, key)) for name in known])
            for heading, key, cell in MEASURES
        ],
    )


def _spread(values: object) -> Cell:
    mean = at(values, "mean")
    if mean is None:
        return Cell(DASH)
    return Cell(decimal(mean, 1), f"± {decimal(at(values, 'std'), 1)}")


def baseline_tables(stats: object, *, retrieved: bool) -> list[Table]:
    """A table a split, a column a system, a row a metric."""
    systems = SYSTEMS if retrieved else SYSTEMS | {"retriever": "Imported order"}
    splits = at(stats, "baselines", "splits")
    queries = queries_of(stats)
    return [
        _baseline_table(
            split, at(splits, split), systems, with_ends=queries[split] >= LEAST_QUERIES
        )
        for split in SPLITS
        if at(splits, split)
    ]


def queries_of(stats: object) -> dict[str, int]:
    return {split: at(stats, "splits", split, "queries") or 0 for split in SPLITS}


def _baseline_table(
    split: str, scored: object, systems: Mapping[str, str], *, with_ends: bool
) -> Table:
    known = [name for name in systems if at(scored, name)]
    metrics = dict.fromkeys(metric for name in known for metric in at(scored, name))
    return Table(
        f"baselines-{split}",
        SPLITS[split],
        [systems[name] for name in known],
        [
            Row(metric, [_score(at(scored, name, metric), with_ends=with_ends) for name in known])
            for metric in metrics
        ],
    )


def _score(score: object, *, with_ends: bool) -> Cell:
    ends = (at(score, "low"), at(score, "high")) if with_ends else None
    return Cell(decimal(at(score, "value"), 3), interval(ends, shares=False))


def changes_in_words(changes: object) -> str:
    """Against the release before."""
    if at(changes, "previous") is None:
        return "The campaign's first release."
    parts = [
        f"{plural(number, one, many)} {what}"
        for one, many, kinds in CHANGES
        for what in kinds
        if (number := at(changes, many, what))
    ]
    return f"{', '.join(parts)}." if parts else "No label differs."


# A row of the table of statistics: its name, its key, and how a split's figure is told.
MEASURES: Sequence[tuple[str, str, Callable[[object], Cell]]] = (
    ("Queries", "queries", lambda number: Cell(count(number))),
    ("Triplets", "triplets", lambda number: Cell(count(number))),
    ("Candidates a query", "candidates_per_query", _spread),
    ("Positives a query", "positives_per_query", _spread),
    ("Negatives a query", "negatives_per_query", _spread),
    ("Answerable", "answerable_share", lambda number: Cell(share(number))),
    ("Votes a triplet", "votes_per_triplet", lambda number: Cell(decimal(number))),
)
