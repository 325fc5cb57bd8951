"""The growth benchmark's figures as one plot: seconds of a question by pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

COLOURS = {"exact": "#0072b2", "hnsw": "#d55e00", "ivf": "#009e73"}
GREY = "#606060"
PAPER = 6_300_000, 77  # pairs, and milliseconds a query on an A100


def draw(measured: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Beside each other: one question alone, and what each costs among many."""
    matplotlib.rcParams["svg.hashsalt"] = "growth"  # the same figures, the same file
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for kind, colour in COLOURS.items():
        rows = [row for row in measured if row["kind"] == kind]
        pairs = [row["pairs"] for row in rows]
        alone = [row["one_query_ms"] for row in rows]
        bulk = [1000 / row["bulk_queries_a_second"] for row in rows]
        for axis, values in zip(axes, (alone, bulk), strict=True):
            axis.plot(pairs, values, marker="o", color=colour, label=kind)
    for axis, title in zip(axes, ("one question alone", "many questions at once"), strict=True):
        axis.plot(*PAPER, marker="*", color=GREY, linestyle="", markersize=11, label="the paper's")
        axis.set(xscale="log", yscale="log", xlabel="pairs", title=title)
        axis.grid(color=GREY, alpha=0.25)
    axes[0].set_ylabel("milliseconds a question")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    # Without a date: the same figures make the same file.
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)
