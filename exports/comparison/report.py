"""A comparison in words: three tables, as text or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.text.markdown import escape, table
from exports.evaluation.pair_metrics import PAIRWISE
from retrieval.ranking.metrics import METRICS

NONE = "\u2013"
UNCERTAIN = (
    "In this table: the mean, and the interval, of what the metrics would be if no label were "
    "wrong and every candidate judged, as far as the following says how likely that is; queries "
    "are resampled as well."
)
Row = Sequence[str]
Table = tuple[Row, list[Row]]


def text(result: Mapping[str, Any]) -> str:
    blocks = [
        "\n".join([_title(result), _counted(result)]),
        "\n".join(aligned(*_figures(result))),
        "\n".join(aligned(*_intervals(result))),
        *("\n".join(aligned(*one)) for one in _tested(result)),
        *uncertain_text(result),
        "\n".join([*_reading(result), *result["notes"]]),
    ]
    return "\n\n".join(blocks)


def markdown(result: Mapping[str, Any]) -> str:
    blocks = [
        f"{escape(_title(result))}. {escape(_counted(result))}.",
        table(*_figures(result)),
        table(*_intervals(result)),
        *(table(*one, left=2) for one in _tested(result)),
        *_uncertain_markdown(result),
        *map(escape, [*_reading(result), *result["notes"]]),
    ]
    return "\n\n".join(blocks)


def _title(result: Mapping[str, Any]) -> str:
    return f"{result['split']} of {result['release']}"


def _counted(result: Mapping[str, Any]) -> str:
    queries = result["queries"]
    return f"{result['way']}: {queries['counted']:,} queries, {queries['dropped']:,} dropped"


def _figures(result: Mapping[str, Any]) -> Table:
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
            yield f"{percent(figure['value'])} ± {percent(figure['deviation'])}"
        else:
            yield " ± ".join(as_printed(part) for part in figure.values() if part is not None)


def _intervals(result: Mapping[str, Any]) -> Table:
    rows: list[Row] = [
        (one["name"], *map(_interval, _known(one).values())) for one in result["systems"]
    ]
    return ("system", *METRICS, *PAIRWISE), rows


def _tested(result: Mapping[str, Any]) -> Iterator[Table]:
    return differences({one["name"]: _known(one) for one in result["systems"]}, result["against"])


def differences(systems: Mapping[str, Mapping[str, Any]], against: str) -> Iterator[Table]:
    """A table, a row each system's figure; none where a system stands alone."""
    rows: list[Row] = []
    for system, figures in systems.items():
        for name, figure in figures.items():
            if less := figure["difference"]:
                tests = (_p({**figure, **less}[p]) for p in ("p", "p_runs"))
                rows.append((system, name, percent(less["value"]), _interval(less), *tests))
    if rows:
        yield (f"less {against}", "figure", "difference", "interval", "p", "over runs"), rows


def uncertain_text(result: Mapping[str, Any]) -> Iterator[str]:
    """A table and how to read it, where the result has one."""
    if "uncertain" in result:
        yield "\n".join(aligned(*_uncertain(result["uncertain"])))
        yield "\n".join([UNCERTAIN, *result["uncertain"]["assumed"]])


def _uncertain_markdown(result: Mapping[str, Any]) -> Iterator[str]:
    if "uncertain" in result:
        yield table(*_uncertain(result["uncertain"]))
        yield from map(escape, [UNCERTAIN, *result["uncertain"]["assumed"]])


def _uncertain(drawn: Mapping[str, Any]) -> Table:
    """A row a system, and one for its difference from the system that it is tested against."""
    rows: list[Row] = []
    for one in drawn["systems"]:
        rows.append((one["name"], *map(_drawn, one["metrics"].values())))
        if one["difference"]:
            words = f"{one['name']} less {drawn['against']}"
            rows.append((words, *map(_drawn, one["difference"].values())))
    return ("labels drawn", *METRICS), rows


def _drawn(figure: Mapping[str, Any]) -> str:
    value, low, high = (percent(figure[name]) for name in ("value", "low", "high"))
    return NONE if figure["value"] is None else f"{value} ({low} to {high})"


def _known(system: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: system["metrics"][name] for name in METRICS} | {
        name: system["pairs"][name] for name in PAIRWISE
    }


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["low"] is None:
        return NONE
    return f"{percent(figure['low'])} to {percent(figure['high'])}"


def _p(number: float | None) -> str:
    return NONE if number is None else f"{number:.4f}"


def _reading(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"In percent: the mean over a system's runs ± their sample deviation, {NONE} of a single "
        f"run. {', '.join(PAIRWISE)}: over all judged pairs of {result['split']}, whichever way "
        f"queries are counted; {NONE} where undefined."
    )
    yield (
        f"In the second table: {result['level']:.0%} bootstrap intervals over the queries. In the "
        f"third: a system's mean less that of {result['against']}, with its interval, of each "
        "query's mean over the runs; p: a two-sided paired randomization test of "
        f"{result['flips']:,} flips, each system and each metric by itself. Of "
        f"{', '.join(PAIRWISE)}, interval and p are by the same draws of queries for both systems. "
        "Over runs: Welch's t-test of the runs' figures, of systems with several runs."
    )
    if result["papers"]:
        yield result["papers"]["note"]


def aligned(header: Row, rows: Sequence[Row]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def as_printed(share: float) -> str:
    """Papers give one decimal or two."""
    return f"{100 * share:.2f}".removesuffix("0")


def percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:z.1f}"
