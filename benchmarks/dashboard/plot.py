"""The dashboard benchmark's figures as one plot: a bar for each page, in times the empty one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

WITHIN, BEYOND, GREY = "#0072b2", "#d55e00", "#606060"
SHOWN = 40  # the slowest pages
TARGET = 3


def draw(pages: Sequence[Mapping[str, Any]], path: Path) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "dashboard"  # the same figures, the same file
    slowest = sorted(pages, key=lambda page: page["ratio"])[-SHOWN:]
    ratios = [page["ratio"] for page in slowest]
    figure, axis = plt.subplots(figsize=(9, 10))
    colours = [BEYOND if ratio > TARGET else WITHIN for ratio in ratios]
    axis.barh([page["name"] for page in slowest], ratios, color=colours)
    axis.axvline(1, color=GREY, linewidth=1)
    axis.axvline(TARGET, color=GREY, linewidth=1, linestyle="--")
    axis.set_xlabel(f"times the empty page's first byte; the target is {TARGET}")
    axis.tick_params(axis="y", labelsize=8)
    axis.margins(y=0.01)
    figure.tight_layout()
    # Without a date: the same figures make the same file.
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)
