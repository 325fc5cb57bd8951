"""The quality benchmark's figures as a table and as a plot for light and for dark pages."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

PLOTTED = (1, 5)  # with deeper cuts the lines lie on each other
CUTS = (1, 5, 30)
# Told apart on white and on black, and by those who see fewer colours.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c8c00", "#56b4e9", "#e69f00")
GREY = "#808080"
HEADER = "| task | retriever | corpus | recall@1 | recall@5 | recall@30 | accuracy@1 | accuracy@5 |"
RULE = "| --- | --- | --- | --- | --- | --- | --- | --- |"

Measured = dict[str, Any]


def table(measured: Sequence[Measured]) -> str:
    """In Markdown; low and high ends of the intervals in brackets."""
    return "\n".join([HEADER, RULE, *map(line, measured)])


def line(one: Measured) -> str:
    figures = [one["recall"][cut] for cut in CUTS] + [one["accuracy"][cut] for cut in CUTS[:2]]
    cells = [f"{value:.3f} ({low:.3f}-{high:.3f})" for value, low, high in figures]
    name = f"{one['task']} | {one['retriever']} | {one['pairs']:,}"
    return f"| {name} | {' | '.join(cells)} |"


def draw(measured: Sequence[Measured], path: Path) -> None:
    """A column a task, a row a cut, a line a retriever."""
    tasks = list(dict.fromkeys(one["task"] for one in measured))
    names = list(dict.fromkeys(one["retriever"] for one in measured))
    colours = dict(zip(names, COLOURS[: len(names)], strict=True))
    matplotlib.rcParams["svg.hashsalt"] = "quality"  # the same figures, the same file
    shape = len(PLOTTED), len(tasks)
    figure, axes = plt.subplots(*shape, figsize=(5 * shape[1], 3.2 * shape[0]), squeeze=False)
    for row, cut in zip(axes, PLOTTED, strict=True):
        for axis, task in zip(row, tasks, strict=True):
            of_task = [one for one in measured if one["task"] == task]
            _draw_lines(axis, of_task, cut, colours)
            _dress(axis, f"{task}: accuracy@{cut}", [one["pairs"] for one in of_task])
    handles = {label: line for axis in axes.flat for line, label in _labelled(axis)}
    figure.legend(
        handles.values(),
        handles,
        loc="outside lower center",
        ncols=4,
        frameon=False,
        labelcolor=GREY,
    )
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(figure)


def _draw_lines(axis: Any, of_task: Sequence[Measured], cut: int, colours: dict[str, str]) -> None:
    for name, colour in colours.items():
        of_it = [one for one in of_task if one["retriever"] == name]
        if of_it:
            sizes = [one["pairs"] for one in of_it]
            values, lows, highs = zip(*(one["accuracy"][cut] for one in of_it), strict=True)
            axis.plot(sizes, values, marker="o", color=colour, label=name)
            axis.fill_between(sizes, lows, highs, color=colour, alpha=0.12, linewidth=0)


def _labelled(axis: Any) -> Iterable[tuple[Any, str]]:
    return zip(*axis.get_legend_handles_labels(), strict=True)


def _dress(axis: Any, title: str, sizes: Sequence[int]) -> None:
    """In a grey that is read on white and on black."""
    axis.set_xscale("log")
    axis.set_xticks(sorted(set(sizes)), [f"{size:,}" for size in sorted(set(sizes))], minor=False)
    axis.minorticks_off()
    axis.set_title(title, color=GREY)
    axis.set_xlabel("pairs in the corpus", color=GREY)
    axis.tick_params(colors=GREY)
    axis.grid(color=GREY, alpha=0.25)
    for side in axis.spines.values():
        side.set_color(GREY)
