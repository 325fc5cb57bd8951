"""Figures of several systems in one plot: a point with its interval each, a paper's beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from core.files.whole import write_whole
from exports.card.canvas import SMALL, THEMES, Plot, Theme, axes, render
from exports.comparison.hit_plot import COLOURS, MARKERS

TITLE = "Figures"
RIGHT = 0.71  # the legend stands beside
ACROSS = 0.74  # of a column, that its systems share
MARGIN = 0.06  # of what the axis shows
SHORTEST = 12  # a figure's words, from which on they are broken


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Column:
    """A figure, of the systems that have it."""

    name: str
    ours: Mapping[str, Estimate]
    papers: Mapping[str, float]  # by our systems' names


def write_intervals_plot(path: Path, columns: Sequence[Column], subtitle: str) -> None:
    """As FILE.svg and FILE-dark.svg, each whole or as it was before."""
    plot = intervals_plot(columns, subtitle)
    for theme in THEMES:
        write_whole(path.with_name(f"{path.stem}{theme.suffix}.svg"), [render(plot, theme)])


def intervals_plot(columns: Sequence[Column], subtitle: str) -> Plot:
    systems = list(dict.fromkeys(name for column in columns for name in column.ours))

    def draw(figure: Figure, theme: Theme) -> None:
        made = axes(figure, theme, right=RIGHT, x="", y="")
        handles = []
        for number, name in enumerate(systems):
            colours = COLOURS[theme]
            look: dict[str, Any] = {"color": colours[number % len(colours)], "linestyle": "none"}
            marker = MARKERS[number // len(colours) % len(MARKERS)]
            beside = ACROSS * ((number + 0.5) / len(systems) - 0.5)
            for place, column in enumerate(columns):
                if one := column.ours.get(name):
                    at = place + beside
                    made.plot([at, at], [one.low, one.high], color=look["color"])
                    made.plot([at], [one.value], marker=marker, markersize=5, **look)
                    if (theirs := column.papers.get(name)) is not None:
                        made.plot([at], [theirs], marker="_", markersize=9, color=theme.quiet)
            handles.append(Line2D([], [], marker=marker, markersize=5, label=name, **look))
        if any(column.papers.keys() & column.ours.keys() for column in columns):
            look = {"color": theme.quiet, "linestyle": "none"}
            words = "the paper, other data"
            handles.append(Line2D([], [], marker="_", markersize=9, label=words, **look))
        made.margins(y=MARGIN)
        made.set_xlim(-0.5, len(columns) - 0.5)
        made.set_xticks(range(len(columns)), [_broken(column.name) for column in columns])
        made.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
        made.yaxis.set_major_formatter(FuncFormatter(lambda one, _: f"{round(100 * one, 2):g}%"))
        made.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.02),
            fontsize=SMALL,
            labelcolor=theme.ink,
            facecolor=theme.background,
            edgecolor="none",
        )

    return Plot("figures", TITLE, subtitle, " ".join(map(_in_words, columns)), draw)


def _broken(name: str) -> str:
    """In lines, at its first colon and at commas."""
    return name.replace(": ", "\n").replace(", ", ",\n") if len(name) > SHORTEST else name


def _in_words(column: Column) -> str:
    points = (
        f"{name} {one.value:.1%} ({one.low:.1%} to {one.high:.1%})"
        for name, one in column.ours.items()
    )
    return f"{column.name}: {', '.join(points)}."
