"""How a release's plots look, light and dark: the same figures make the same bytes anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

INCHES = (7.6, 4.0)
LEFT, RIGHT, BOTTOM, TOP = 0.085, 0.97, 0.15, 0.78
TITLE, TEXT, SMALL = 12.0, 9.0, 8.5


@dataclass(frozen=True)
class Theme:
    """The site's own colours; the background is painted, so any page can show either."""

    suffix: str
    background: str
    ink: str
    quiet: str
    line: str
    accent: str
    other: str


LIGHT = Theme("", "#ffffff", "#1b2430", "#566273", "#d9dee6", "#1f5fa8", "#b45309")
DARK = Theme("-dark", "#1b222c", "#e6ebf2", "#a0acbc", "#323c4a", "#86b8f0", "#f2a97e")
THEMES = (LIGHT, DARK)


@dataclass(frozen=True)
class Plot:
    name: str
    title: str
    subtitle: str
    words: str  # what the plot shows, for who cannot see it
    draw: Callable[[Figure, Theme], None]

    def path(self, theme: Theme) -> str:
        """Inside the release's folder."""
        return f"plots/{self.name}{theme.suffix}.svg"


def render(plot: Plot, theme: Theme) -> bytes:
    """As SVG, whatever the machine's own settings of matplotlib are."""
    with mpl.rc_context():
        _set_style()
        figure = Figure(figsize=INCHES, facecolor=theme.background)
        figure.text(LEFT, 0.93, plot.title, color=theme.ink, fontsize=TITLE, fontweight="bold")
        figure.text(LEFT, 0.862, plot.subtitle, color=theme.quiet, fontsize=TEXT)
        plot.draw(figure, theme)
        written = BytesIO()
        about = {"Title": f"{plot.title}. {plot.words}", "Date": None, "Creator": None}
        figure.savefig(written, format="svg", metadata=about)
    return written.getvalue()


def _set_style() -> None:
    """Texts stay texts, measured by the font that matplotlib carries, not by the machine's."""
    mpl.rcdefaults()
    mpl.rcParams.update(
        {
            "svg.hashsalt": "quorum",
            "svg.fonttype": "none",
            "font.family": ["DejaVu Sans", "sans-serif"],
            "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
            "text.parse_math": False,
        }
    )


def axes(
    figure: Figure, theme: Theme, *, left: float = LEFT, right: float = RIGHT, x: str, y: str
) -> Axes:
    """Quiet axes: light lines across, no frame, both labelled."""
    made = figure.add_axes((left, BOTTOM, right - left, TOP - BOTTOM), facecolor="none")
    for side in ("left", "right", "top"):
        made.spines[side].set_visible(False)
    made.spines["bottom"].set_color(theme.quiet)
    made.grid(axis="y", color=theme.line, linewidth=0.8)
    made.set_axisbelow(True)
    made.tick_params(colors=theme.quiet, labelsize=SMALL, length=0, pad=5)
    made.set_xlabel(x, color=theme.ink, fontsize=TEXT, labelpad=6)
    made.set_ylabel(y, color=theme.ink, fontsize=TEXT, labelpad=6)
    return made


def in_percent(made: Axes, highest: float) -> None:
    """The y axis holds shares from 0 to above `highest`, room for a label included."""
    made.set_ylim(0, min(1.08, highest * 1.15) or 1)
    made.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    made.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{round(100 * share, 2):g}%"))


def whole_numbers(made: Axes, highest: int) -> None:
    """The y axis counts from 0 to above `highest`."""
    made.set_ylim(0, highest * 1.15 or 1)
    made.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    made.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
