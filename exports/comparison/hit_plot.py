"""Hit@k of several systems in one plot: a line each, with a band from its lowest to highest run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.errors import UserError
from core.files.whole import write_whole
from exports.card.canvas import DARK, LIGHT, SMALL, THEMES, Plot, Theme, axes, in_percent, render

SUFFIX = ".svg"
TITLE = "Hit@k"
# Near the beginning of each of these plots, and of no other.
OURS = f"<title>{TITLE}. ".encode()
BEGINNING = 1_000  # bytes
# Told apart by who sees no red and green, too, together with the line's style.
COLOURS = {
    LIGHT: (LIGHT.accent, LIGHT.other, "#0f766e", "#7c3aed", "#be123c", "#4d7c0f"),
    DARK: (DARK.accent, DARK.other, "#5eead4", "#c4b5fd", "#fda4af", "#bef264"),
}
STYLES = ("-", "--", ":", "-.")
MARKERS = ("D", "s", "^", "v")
MANY = 6  # lines from which on the legend has two columns
SAID = (1, 5, 10, 30)


@dataclass(frozen=True)
class _Line:
    name: str
    value: Sequence[float]
    lowest: Sequence[float]
    highest: Sequence[float]


def plot_path(path: Path) -> Path:
    """Checked before anything is computed; UserError where no plot can be written to it."""
    if path.suffix != SUFFIX:
        raise UserError(f"{path} is no name for a plot: it is an SVG, so end it in {SUFFIX}.")
    if not path.parent.is_dir():
        raise UserError(f"There is no folder {path.parent}: make it, or name another file.")
    for target in _targets(path):
        if target.exists() and not _is_ours(target):
            raise UserError(
                f"{target} is no plot of `compare`: name a new file, nothing else is overwritten."
            )
    return path


def write_hit_plot(path: Path, result: Mapping[str, Any]) -> list[Path]:
    """As FILE.svg and FILE-dark.svg, each whole or as it was before."""
    plot = hit_plot(result)
    written = _targets(path)
    for target, theme in zip(written, THEMES, strict=True):
        write_whole(target, [render(plot, theme)])
    return written


def _targets(path: Path) -> list[Path]:
    return [path.with_name(f"{path.stem}{theme.suffix}{SUFFIX}") for theme in THEMES]


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return OURS in file.read(BEGINNING)


def hit_plot(result: Mapping[str, Any]) -> Plot:
    lines = [_Line(one["name"], **one["hit_at"]) for one in result["systems"]]
    points = result["papers"]["hit_at"] if result["papers"] else []

    def draw(figure: Figure, theme: Theme) -> None:
        made = axes(figure, theme, x="k, first candidates looked at", y="Queries with a positive")
        for number, line in enumerate(lines):
            _draw_line(made, theme, number, line)
        _draw_points(made, theme, points)
        tops = [max(line.highest) for line in lines]
        in_percent(made, max([*tops, *(point["value"] for point in points)]))
        last = max([len(lines[0].value), *(point["k"] for point in points)])
        made.set_xlim(0, last * 1.03)
        made.set_xticks([1, *range(5, last + 1, 5)] if last > 5 else range(1, last + 1))
        made.legend(
            loc="lower right",
            ncols=1 if len(lines) < MANY else 2,
            fontsize=SMALL,
            labelcolor=theme.ink,
            facecolor=theme.background,
            edgecolor="none",
        )

    ways = "lowest to highest run" if any(len(one["runs"]) > 1 for one in result["systems"]) else ""
    return Plot(
        "hit-at-k",
        TITLE,
        f"Share of the queries of {result['split']} with a positive among the first k candidates"
        + (f"; bands: {ways}" if ways else ""),
        " ".join(map(_in_words, lines)),
        draw,
    )


def _draw_line(made: Axes, theme: Theme, number: int, line: _Line) -> None:
    colours = COLOURS[theme]
    colour = colours[number % len(colours)]
    style = STYLES[number // len(colours) % len(STYLES)]
    ks = range(1, len(line.value) + 1)
    if line.lowest != line.highest:
        made.fill_between(ks, line.lowest, line.highest, color=colour, alpha=0.2, linewidth=0)
    # The first one is what it is about, and equal lines lie on each other: it comes to the top.
    made.plot(
        ks,
        line.value,
        color=colour,
        linestyle=style,
        linewidth=2,
        label=line.name,
        zorder=3 - number / 100,
    )


def _draw_points(made: Axes, theme: Theme, points: Sequence[Mapping[str, Any]]) -> None:
    """Of papers: marks without a line between, as nobody knows what lies there."""
    names = list(dict.fromkeys(point["name"] for point in points))
    for name, marker in zip(names, MARKERS, strict=False):
        own = [point for point in points if point["name"] == name]
        made.plot(
            [point["k"] for point in own],
            [point["value"] for point in own],
            color=theme.quiet,
            linestyle="none",
            marker=marker,
            markerfacecolor="none",
            label=f"{name} ({own[0]['source']}; other data)",
        )


def _in_words(line: _Line) -> str:
    shares = [f"Hit@{k} {line.value[k - 1]:.1%}" for k in SAID if k <= len(line.value)]
    return f"{line.name}: {', '.join(shares)}."
