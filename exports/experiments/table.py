"""An experiment's table in words: that of the comparison, and one for each other set; and the
columns of its plot. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.text.markdown import escape
from core.text.markdown import table as markdown_table
from exports.comparison import report
from exports.comparison.intervals_plot import Column, Estimate
from exports.comparison.report import NONE, Table, aligned, as_printed, differences, percent
from exports.experiments.experiment import COUNTED, Figures, System

NOTE = "Figures of the paper are of its own data and models, shown for orientation."

BARS = "Bars: 95% bootstrap intervals; where there is none, lowest to highest run"
RANKED = ("P@1", "MAP", "MRR")
ENDS = ("low", "high")
# Before its columns' names; our figures by systems; the paper's; what is shown if it has none.
Part = tuple[str, Mapping[str, Mapping[str, Any]], Sequence[Mapping[str, Any]], Sequence[str]]
Row = Sequence[str]


def text(result: Mapping[str, Any]) -> str:
    if "answers" in result:
        answers = "\n".join(aligned(*_answers(result)))
        return "\n\n".join([answers, *result["notes"]])
    counts = ["\n".join(aligned(*_counts(result)))] if result["counts"] else []
    sets = (
        "\n".join(lines)
        for one in result["sets"]
        for lines in (
            [_head(one), *aligned(*_table(one))],
            *(aligned(*of) for of in _differences(one, result)),
        )
    )
    models = "\n".join(aligned(*_models(result)))
    return "\n\n".join([*counts, report.text(result), *sets, models])


def markdown(result: Mapping[str, Any]) -> str:
    title = f"# {escape(result['title'])}"
    if "answers" in result:
        notes = map(escape, result["notes"])
        return "\n\n".join([title, markdown_table(*_answers(result)), *notes]) + "\n"
    counts = [markdown_table(*_counts(result))] if result["counts"] else []
    sets = (
        part
        for one in result["sets"]
        for part in (
            f"## {escape(_head(one))}",
            markdown_table(*_table(one)),
            *(markdown_table(*of, left=2) for of in _differences(one, result)),
        )
    )
    models = ["## Systems", markdown_table(*_models(result), left=4)]
    return "\n\n".join([title, *counts, report.markdown(result), *sets, *models]) + "\n"


def columns(result: Mapping[str, Any]) -> list[Column]:
    """Of the plot: what the paper prints; of what it prints nothing of, what says most."""
    if "answers" in result:
        return [
            _column(
                name,
                {system: one["accuracy"] for system, one in of["systems"].items()},
                {one["name"]: one["figures"].get(name) for one in result["papers"]},
            )
            for name, of in result["answers"].items()
        ]
    systems = result["systems"]
    papers = result["papers"]["systems"] if result["papers"] else []
    own = {one["name"]: {**one["metrics"], **one["pairs"]} for one in systems}
    of_release: list[Part] = [("", own, papers, RANKED)]
    if result["sets"] and not _named(papers):
        of_release = []
    of_sets: list[Part] = [
        (
            f"{of['name']}: ",
            {one["name"]: one["figures"] for one in of["systems"]},
            of["papers"],
            (),
        )
        for of in result["sets"]
    ]
    return [
        _column(
            where + name,
            {system: figures.get(name) for system, figures in ours.items()},
            {one["name"]: one["figures"].get(name) for one in theirs},
        )
        for where, ours, theirs, usual in [*of_release, *of_sets]
        for name in _named(theirs) or usual or list(next(iter(ours.values())))[:1]
    ]


def _named(papers: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for one in papers for name in one["figures"]))


def _column(
    name: str,
    ours: Mapping[str, Mapping[str, Any] | None],
    papers: Mapping[str, Mapping[str, Any] | None],
) -> Column:
    known = {
        system: Estimate(
            one["value"], *(one["value"] if one[end] is None else one[end] for end in ENDS)
        )
        for system, one in ours.items()
        if one and one["value"] is not None
    }
    return Column(name, known, {system: one["value"] for system, one in papers.items() if one})


def _answers(result: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    """A column for each file of questions; ours, then the paper's."""
    columns = result["answers"]
    ours = [
        (name, *(_answered(column["systems"][name]) for column in columns.values()))
        for name in next(iter(columns.values()))["systems"]
    ]
    theirs = [
        (
            f"{one['name']} ({one['source']})",
            *(_printed_accuracy(one["figures"].get(name)) for name in columns),
        )
        for one in result["papers"]
    ]
    return ("system", *columns), [*ours, *theirs]


def _answered(of: Mapping[str, Any]) -> str:
    accuracy, less = of["accuracy"], of["difference"]
    ends = f"{percent(accuracy['low'])} to {percent(accuracy['high'])}"
    return f"{percent(accuracy['value'])} ({ends})" + (f", p {less['p']:.4f}" if less else "")


def _printed_accuracy(figure: Mapping[str, Any] | None) -> str:
    return "" if figure is None else as_printed(figure["value"])


def _counts(result: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    rows: list[Row] = [
        (
            split,
            *(f"{of[name]:,}" if name in of else "" for of in both.values() for name in COUNTED),
        )
        for split, both in result["counts"].items()
    ]
    return ("split", *COUNTED, *(f"the paper's {name}" for name in COUNTED)), rows


def _models(result: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    rows: list[Row] = [
        (
            one["name"],
            f"{one['kind']} {one['form']} from {one['base']}",
            "; then ".join(map(", ".join, one["learned"])) or "nothing",
            ", ".join(f"{name} {value}" for name, value in one["chosen"].items()) or NONE,
        )
        for one in result["models"]
    ]
    return ("system", "model", "learned", "chosen on dev"), rows


def _head(of: Mapping[str, Any]) -> str:
    return f"{of['name']}: {of['rows']:,} {of['kind']}"


def _table(of: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    """Ours, then the paper's."""
    every = [*of["systems"], *of["papers"]]
    names = list(dict.fromkeys(name for one in every for name in one["figures"]))
    ours = [
        (one["name"], str(one["runs"]), *(_ours(one["figures"].get(name)) for name in names))
        for one in of["systems"]
    ]
    theirs = [
        (f"{one['name']} ({one['source']})", "", *(_theirs(one["figures"], names)))
        for one in of["papers"]
    ]
    return ("system", "runs", *names), [*ours, *theirs]


def _differences(of: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[Table]:
    return differences({one["name"]: one["figures"] for one in of["systems"]}, result["against"])


def _ours(figure: Mapping[str, Any] | None) -> str:
    if figure is None or figure["value"] is None:
        return NONE
    return f"{percent(figure['value'])} ± {percent(figure['deviation'])}"


def _theirs(figures: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        parts = figures[name].values() if name in figures else ()
        yield " ± ".join(as_printed(part) for part in parts if part is not None)


def printed(system: System, source: str, figures: Figures) -> dict[str, Any]:
    return {
        "name": system.name,
        "source": f"{source}; not run here: {system.lacks}" if system.lacks else source,
        "figures": {
            metric: {
                "value": value / 100,
                "deviation": None if deviation is None else deviation / 100,
            }
            for metric, (value, deviation) in figures.items()
        },
    }
