"""The plots of a release, drawn of its statistics alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import orjson
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from annotation.protocol.policy.tasks import PAPER_TASK, TaskType
from core.text.words import plural
from exports.card.canvas import (
    LEFT,
    RIGHT,
    SMALL,
    THEMES,
    Plot,
    Theme,
    axes,
    in_percent,
    render,
    whole_numbers,
)
from exports.layout.files import STATS

MOST_BARS = 60  # more ranks than that share bars
APART = 0.035  # of the picture, from its middle: the two axes end in labels


def write_plots(folder: Path, task: TaskType = PAPER_TASK, *, retrieved: bool = True) -> None:
    """Only of what is known: a release without judgments has no plot of its workers."""
    (folder / "plots").mkdir(exist_ok=True)
    stats = orjson.loads((folder / STATS).read_bytes())
    for plot in plots(stats, task, retrieved=retrieved):
        for theme in THEMES:
            (folder / plot.path(theme)).write_bytes(render(plot, theme))


def plots(
    stats: Mapping[str, Any], task: TaskType = PAPER_TASK, *, retrieved: bool = True
) -> list[Plot]:
    """`retrieved`: a retriever ranked the candidates, they were not imported in some order."""
    drawn = [
        _positives_by_rank(stats.get("retriever"), task, retrieved=retrieved),
        _hit_at_k(stats.get("retriever"), retrieved=retrieved),
        _agreement_by_worker(stats.get("workers")),
        _split_similarity(stats.get("similarity")),
    ]
    return [plot for plot in drawn if plot is not None]


def _positives_by_rank(
    retriever: Mapping[str, Any] | None, task: TaskType, *, retrieved: bool
) -> Plot | None:
    if not retriever or not sum(retriever["candidates_by_rank"]):
        return None
    candidates, positives = retriever["candidates_by_rank"], retriever["positives_by_rank"]
    ranks, shares = _shares_by_rank(candidates, positives)
    first = "rank 1" if ranks[0] == 1 else f"ranks 1 to {2 * ranks[0] - 1:.0f}"
    average = sum(positives) / sum(candidates)

    def draw(figure: Figure, theme: Theme) -> None:
        rank = "Rank given by the retriever" if retrieved else "Rank as imported"
        made = axes(figure, theme, x=rank, y="Positive candidates at the rank")
        width = ranks[1] - ranks[0] if len(ranks) > 1 else 1
        made.bar(ranks, shares, width=width * 0.76, color=theme.accent, linewidth=0)
        in_percent(made, max(shares))
        made.set_xlim(ranks[0] - width * 0.7, ranks[-1] + width * 0.7)
        made.set_xticks(_rank_ticks(len(candidates)))
        made.axhline(average, color=theme.other, linewidth=1.2)
        _annotate(made, theme.ink, (ranks[0], shares[0]), f"{shares[0]:.0%}")
        note = f"all ranks: {average:.1%}"
        place = (ranks[-1] + width * 0.5, average)
        _annotate(made, theme.other, place, note, align="right")

    return Plot(
        "positives-by-rank",
        "Positives by rank",
        f"Share of the labelled candidates at each rank that {task.positives}",
        f"{shares[0]:.0%} of the candidates at {first} are positive, {average:.1%} of all.",
        draw,
    )


def _shares_by_rank(
    candidates: Sequence[int], positives: Sequence[int]
) -> tuple[list[float], list[float]]:
    """The middle of each bar's ranks, and the share of positives in them."""
    step = -(-len(candidates) // MOST_BARS)
    starts = range(0, len(candidates), step)
    sums = [sum(candidates[start : start + step]) for start in starts]
    good = [sum(positives[start : start + step]) for start in starts]
    middles = [start + (step + 1) / 2 for start in starts]
    return middles, [p / n if n else 0.0 for p, n in zip(good, sums, strict=True)]


def _rank_ticks(ranks: int) -> list[int]:
    """Rank 1 and round ones, a dozen or so."""
    steps = (step for power in count() for step in (10**power, 5 * 10**power))
    step = next(step for step in steps if ranks <= 12 * step)
    return [1, *range(step if step > 1 else 2, ranks + 1, step)]


def _hit_at_k(retriever: Mapping[str, Any] | None, *, retrieved: bool) -> Plot | None:
    hits = (retriever or {}).get("hit_at") or {}
    deepest = len((retriever or {}).get("candidates_by_rank") or [])
    ks = sorted(int(k) for k, share in hits.items() if share is not None)
    # Beyond the last rank the share only repeats itself.
    known = [(k, hits[str(k)]) for k in ks if k <= deepest]
    if not known:
        return None

    def draw(figure: Figure, theme: Theme) -> None:
        made = axes(figure, theme, x="k, first candidates looked at", y="Queries with a positive")
        made.plot(*zip(*known, strict=True), color=theme.accent, linewidth=2, marker="o")
        in_percent(made, max(share for _, share in known))
        made.set_xlim(0, known[-1][0] * 1.04)
        made.set_xticks([k for k, _ in known])
        for k, share in known:
            align = "right" if k == known[-1][0] else "left"
            _annotate(made, theme.ink, (k, share), f"{share:.1%}", align=align, below=True)

    first = "the retriever's first" if retrieved else "the first"
    said = ", ".join(f"Hit@{k} {share:.1%}" for k, share in known)
    return Plot(
        "hit-at-k",
        f"Hit@k of the {'retriever' if retrieved else 'imported order'}",
        f"Share of the queries with a positive among {first} k candidates",
        f"{said}.",
        draw,
    )


def _agreement_by_worker(workers: Mapping[str, Any] | None) -> Plot | None:
    histogram = (workers or {}).get("agreement_with_label") or {}
    counts = histogram.get("workers") or []
    if not sum(counts):
        return None
    edges = histogram["edges"]

    def draw(figure: Figure, theme: Theme) -> None:
        made = axes(
            figure, theme, x="Votes that agree with the majority of the others", y="Workers"
        )
        _bars(made, theme.accent, edges, counts)
        made.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        whole_numbers(made, max(counts))
        for (left, right), n in zip(pairwise(edges), counts, strict=True):
            if n:
                _annotate(made, theme.ink, ((left + right) / 2, n), f"{n:,}")

    best = sum(n for low, n in zip(edges, counts, strict=False) if low >= 0.9)
    alike = "agree with the majority of the others on 90% or more of the votes that have one"
    return Plot(
        "agreement-by-worker",
        "Agreement by worker",
        "Share of each worker's votes that the majority of the others agrees with, from "
        f"{histogram['least_votes']} votes on",
        f"{best:,} of {plural(sum(counts), 'worker')} {alike}.",
        draw,
    )


def _split_similarity(similarity: Mapping[str, Any] | None) -> Plot | None:
    ways = {
        way: (similarity or {}).get(way)
        for way in ("clusters", "random")
        if sum(((similarity or {}).get(way) or {}).get("counts") or [])
    }
    if not similarity or not ways:
        return None
    edges = similarity["edges"]
    shares = {way: _normed(histogram["counts"]) for way, histogram in ways.items() if histogram}

    def draw(figure: Figure, theme: Theme) -> None:
        middle = (LEFT + RIGHT) / 2
        sides = {"clusters": (LEFT, middle - APART), "random": (middle + APART, RIGHT)}
        colours = {"clusters": theme.accent, "random": theme.other}
        for way, (left, right) in sides.items():
            if way not in shares:
                continue
            y = "Queries of dev and test" if way == "clusters" else ""
            x = "Similarity to the nearest query of train"
            made = axes(figure, theme, left=left, right=right, x=x, y=y)
            _bars(made, colours[way], edges, shares[way])
            made.xaxis.set_major_formatter(lambda value, _: f"{value:.1f}")
            in_percent(made, max(max(each) for each in shares.values()))
            made.tick_params(labelleft=left == LEFT)
            _heading(made, colours[way], way, ways[way] or {})

    said = " ".join(f"Split {_WAYS[way]}: {_mean(ways[way] or {})}." for way in shares)
    return Plot(
        "split-similarity",
        "Similarity of dev and test to train",
        f"Nearest query of train to each query of dev and test, by {similarity['measure']}",
        said,
        draw,
    )


_WAYS = {"clusters": "by clusters", "random": "at random"}


def _heading(made: Axes, colour: str, way: str, similarity: Mapping[str, Any]) -> None:
    words = f"Split {_WAYS[way]}: {_mean(similarity)}"
    made.text(0, 1.02, words, color=colour, fontsize=SMALL, transform=made.transAxes)


def _mean(similarity: Mapping[str, Any]) -> str:
    if similarity.get("mean") is None:
        return "mean unknown"
    return f"mean {similarity['mean']:.2f}, highest {similarity['max']:.2f}"


def _normed(counts: Sequence[int]) -> list[float]:
    return [n / sum(counts) for n in counts]


def _bars(made: Axes, colour: str, edges: Sequence[float], heights: Sequence[float]) -> None:
    """A histogram's bars, a hair apart."""
    lefts = [left + (right - left) * 0.04 for left, right in pairwise(edges)]
    widths = [(right - left) * 0.92 for left, right in pairwise(edges)]
    made.bar(lefts, heights, width=widths, align="edge", color=colour, linewidth=0)
    made.set_xlim(edges[0], edges[-1])


def _annotate(
    made: Axes,
    colour: str,
    at: tuple[float, float],
    words: str,
    *,
    align: str = "center",
    below: bool = False,
) -> None:
    """A label at the point that it names; below it where a line would cross it."""
    away = {"left": 4, "center": 0, "right": 4}[align] if below else 0
    offset = (away, -14) if below else (0, 5)
    made.annotate(
        words, at, offset, textcoords="offset points", ha=align, color=colour, fontsize=SMALL
    )
