"""A comparison in words: two tables, as text or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.text.markdown import escape, table
from exports.evaluation.pair_metrics import PAIRWISE
from retrieval.ranking.metrics import METRICS

NONE = "\u2013"
Row = Sequence[str]


def text(result: Mapping[str, Any]) -> str:
    blocks = [
        "\n".join([_title(result), _counted(result)]),
        "\n".join(_aligned(*_figures(result))),
        "\n".join(_aligned(*_certainty(result))),
        "\n".join([*_reading(result), *result["notes"]]),
    ]
    return "\n\n".join(blocks)


def markdown(result: Mapping[str, Any]) -> str:
    blocks = [
        f"{escape(_title(result))}. {escape(_counted(result))}.",
        table(*_figures(result)),
        table(*_certainty(result)),
        *map(escape, [*_reading(result), *result["notes"]]),
    ]
    return "\n\n".join(blocks)


def _title(result: Mapping[str, Any]) -> str:
    return f"{result['split']} of {result['release']}"


def _counted(result: Mapping[str, Any]) -> str:
    queries = result["queries"]
    return f"{result['way']}: {queries['counted']:,} queries, {queries['dropped']:,} dropped"


def _figures(result: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    """Ours, then those of papers."""
    ours: list[Row] = [
        (one["name"], str(len(one["runs"])), *_cells(_known(one))) for one in result["systems"]
    ]
    theirs: list[Row] = [
        (f"{one['name']} ({one['source']})", "", *_cells(one["figures"], known=True))
        for one in (result["papers"] or {"systems": []})["systems"]
    ]
    return ("system", "runs", *METRICS, *PAIRWISE), [*ours, *theirs]


def _cells(figures: Mapping[str, Any], *, known: bool = False) -> Iterator[str]:
    """`known`: a paper's, with what it prints."""
    for name in (*METRICS, *PAIRWISE):
        figure = figures.get(name)
        if figure is None:
            yield ""
        elif figure["value"] is None:
            yield NONE
        elif not known:
            yield f"{_percent(figure['value'])} ± {_percent(figure['deviation'])}"
        else:
            yield " ± ".join(_as_printed(part) for part in figure.values() if part is not None)


def _certainty(result: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    rows: list[Row] = [
        (one["name"], *map(_interval, _known(one).values())) for one in result["systems"]
    ]
    return ("system", *METRICS, *PAIRWISE), rows


def _known(system: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: system["metrics"][name] for name in METRICS} | {
        name: system["pairs"][name] for name in PAIRWISE
    }


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["low"] is None:
        return NONE
    ends = f"{_percent(figure['low'])} to {_percent(figure['high'])}"
    return ends if figure["p"] is None else f"{ends}, p {figure['p']:.4f}"


def _reading(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"In percent: the mean over a system's runs ± their sample deviation, {NONE} of a single "
        f"run. {', '.join(PAIRWISE)}: over all judged pairs of {result['split']}, whichever way "
        f"queries are counted; {NONE} where undefined."
    )
    yield (
        f"In the second table: {result['level']:.0%} bootstrap intervals over the queries; p: a "
        f"two-sided paired randomization test of {result['flips']:,} flips against "
        f"{result['against']}, of each query's mean over the runs, each system and each metric by "
        f"itself. Of {', '.join(PAIRWISE)}, p is by the same draws of queries for both systems."
    )
    if result["papers"]:
        yield result["papers"]["note"]


def _aligned(header: Row, rows: Sequence[Row]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _as_printed(share: float) -> str:
    """Papers give one decimal or two."""
    return f"{100 * share:.2f}".removesuffix("0")


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}"
