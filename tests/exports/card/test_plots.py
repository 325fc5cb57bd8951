"""The plots say what the statistics say, look alike everywhere, and leave out what is unknown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from exports.card.canvas import DARK, LIGHT, THEMES, Theme, render
from exports.card.plots import plots, write_plots
from exports.layout.files import STATS
from retrieval.ranking.records import document
from tests.exports.card.figures import COMPLETE, RETRIEVER, SIMILARITY, WORKERS

NAMES = ["positives-by-rank", "hit-at-k", "agreement-by-worker", "split-similarity"]
NOTHING = {"counts": [0], "mean": None, "max": None}
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in etree.fromstring(svg).iter(f"{SVG}text")]


def drawn(name: str, stats: dict[str, Any], theme: Theme = LIGHT) -> bytes:
    [plot] = [plot for plot in plots(stats) if plot.name == name]
    return render(plot, theme)


def test_each_plot_is_written_light_and_dark(tmp_path: Path) -> None:
    (tmp_path / STATS).write_bytes(document(COMPLETE))
    write_plots(tmp_path)
    written = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert written == sorted(f"{name}{suffix}.svg" for name in NAMES for suffix in ("", "-dark"))


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_is_small_and_says_in_words_what_it_shows(name: str) -> None:
    [plot] = [plot for plot in plots(COMPLETE) if plot.name == name]
    for theme in THEMES:
        svg = render(plot, theme)
        assert len(svg) < 40_000
        assert etree.fromstring(svg).findtext(f"{SVG}title") == f"{plot.title}. {plot.words}"
        assert {plot.title, plot.subtitle} <= set(texts(svg))


def test_no_plot_calls_the_order_of_an_import_a_retriever() -> None:
    svgs = [render(plot, LIGHT) for plot in plots(COMPLETE, retrieved=False)]
    said = [text for svg in svgs for text in texts(svg)]
    assert {"Hit@k of the imported order", "Rank as imported"} <= set(said)
    assert not any("retriever" in text for text in said)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_figures_make_the_same_bytes(name: str) -> None:
    assert drawn(name, COMPLETE) == drawn(name, COMPLETE)
    assert b"<dc:date" not in drawn(name, COMPLETE)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.suffix or "light")
def test_every_text_can_be_read_on_the_background(theme: Theme) -> None:
    for colour in (theme.ink, theme.quiet, theme.accent, theme.other):
        assert contrast(colour, theme.background) >= 4.5, colour


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Of WCAG 2.2."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_no_text_leaves_the_picture() -> None:
    """Texts are placed, not measured again: the browser's fonts are at most as wide as ours."""
    for plot in plots(COMPLETE):
        for text in etree.fromstring(render(plot, LIGHT)).iter(f"{SVG}text"):
            words = "".join(text.itertext())
            size = float(re.search(r"font-size: ([\d.]+)px", text.get("style")).group(1))
            anchor = re.search(r"text-anchor: (\w+)", text.get("style"))
            if "rotate(-90" in text.get("transform", "") or text.get("x") is None:
                continue
            width, x = len(words) * size * 0.55, float(text.get("x"))
            left = {"middle": x - width / 2, "end": x - width}.get(anchor and anchor.group(1), x)
            assert left >= 0, words
            assert left + width <= 548, words


def test_light_and_dark_differ_in_nothing_but_colours() -> None:
    for name in NAMES:
        light, dark = (
            re.sub(rb"#[0-9a-f]{6}", b"", drawn(name, COMPLETE, theme)) for theme in (LIGHT, DARK)
        )
        assert re.sub(rb'(id|href|url)="?\(?[^ ]*', b"", light) == re.sub(
            rb'(id|href|url)="?\(?[^ ]*', b"", dark
        )


def test_hit_at_k_shows_each_share_up_to_the_last_rank() -> None:
    shown = texts(drawn("hit-at-k", COMPLETE))
    assert {"42.6%", "60.8%", "67.7%", "75.4%", "30"} <= set(shown)
    few = RETRIEVER | {"candidates_by_rank": [9] * 5, "positives_by_rank": [3] * 5}
    shown = texts(drawn("hit-at-k", {"retriever": few}))
    assert "60.8%" in shown
    assert "67.7%" not in shown


def test_a_thousand_ranks_share_bars() -> None:
    many = {
        "candidates_by_rank": [100] * 1000,
        "positives_by_rank": [100] * 17 + [0] * 983,
        "hit_at": {},
    }
    svg = drawn("positives-by-rank", {"retriever": many})
    assert len(svg) < 40_000
    assert {"100%", "all ranks: 1.7%", "1", "1000"} <= set(texts(svg))


@pytest.mark.parametrize("ranks", [1, 2, 12, 13, 60, 61, 1201, 12_345])
def test_any_number_of_ranks_is_drawn_with_a_dozen_ticks(ranks: int) -> None:
    flat = {"candidates_by_rank": [4] * ranks, "positives_by_rank": [1] * ranks, "hit_at": {}}
    [plot] = plots({"retriever": flat})
    shown = texts(render(plot, LIGHT))
    ticks = [text for text in shown if text.isdigit()]
    assert "1" in ticks
    assert len(ticks) <= 13
    assert "all ranks: 25.0%" in shown


def test_bars_of_several_ranks_name_them_all() -> None:
    many = {"candidates_by_rank": [4] * 120, "positives_by_rank": [4, 2] + [0] * 118, "hit_at": {}}
    [plot] = plots({"retriever": many})
    assert plot.words == "75% of the candidates at ranks 1 to 2 are positive, 1.2% of all."


def test_ranks_without_a_candidate_are_drawn_as_nothing() -> None:
    gaps = {"candidates_by_rank": [4, 0, 4], "positives_by_rank": [2, 0, 0], "hit_at": {}}
    assert "50%" in texts(drawn("positives-by-rank", {"retriever": gaps}))


def test_workers_are_counted_above_their_bars() -> None:
    shown = texts(drawn("agreement-by-worker", COMPLETE))
    assert {"199", "102", "74"} <= set(shown)
    [plot] = [plot for plot in plots(COMPLETE) if plot.name == "agreement-by-worker"]
    assert plot.words == (
        "102 of 412 workers agree with the majority of the others on 90% or more of the votes that "
        "have one."
    )


def test_both_ways_to_split_stand_side_by_side() -> None:
    shown = texts(drawn("split-similarity", COMPLETE))
    assert "Split by clusters: mean 0.44, highest 0.87" in shown
    assert "Split at random: mean 0.48, highest 1.00" in shown


def test_the_labels_of_two_axes_side_by_side_stand_apart() -> None:
    """The first ends at 1.0 where the second begins at 0.0."""
    svg = etree.fromstring(drawn("split-similarity", COMPLETE))
    places: dict[str, list[float]] = {"0.0": [], "1.0": []}
    for text in svg.iter(f"{SVG}text"):
        words = "".join(text.itertext())
        if words in places and text.get("x"):
            places[words].append(float(text.get("x")))
    assert len(places["0.0"]) == len(places["1.0"]) == 2
    assert max(places["0.0"]) - min(places["1.0"]) > 30


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"workers": None}, ["positives-by-rank", "hit-at-k", "split-similarity"]),
        ({"retriever": None}, ["agreement-by-worker", "split-similarity"]),
        ({"similarity": None}, NAMES[:3]),
        ({"retriever": RETRIEVER | {"candidates_by_rank": []}}, NAMES[2:]),
        ({"retriever": RETRIEVER | {"hit_at": {"1": None}}}, [NAMES[0], *NAMES[2:]]),
        (
            {"workers": WORKERS | {"agreement_with_label": {"edges": [0, 1], "workers": [0]}}},
            [*NAMES[:2], NAMES[3]],
        ),
        ({"similarity": SIMILARITY | {"clusters": NOTHING, "random": NOTHING}}, NAMES[:3]),
    ],
)
def test_what_is_not_known_is_not_drawn(change: dict[str, Any], left: list[str]) -> None:
    assert [plot.name for plot in plots(COMPLETE | change)] == left


def test_absent_figures_are_not_drawn() -> None:
    assert plots({}) == []


def test_one_way_to_split_alone_is_drawn() -> None:
    stats = {"similarity": SIMILARITY | {"random": None}}
    shown = texts(drawn("split-similarity", stats))
    assert not any("at random" in text for text in shown)
    assert any("clusters" in text for text in shown)


def test_a_formula_in_a_text_is_no_formula() -> None:
    """What measures similarity is a text of ours, yet `$` would make matplotlib stop."""
    stats = {"similarity": SIMILARITY | {"measure": r"$\frac{ <b>&amp;"}}
    assert any(r"$\frac{ <b>&amp;" in text for text in texts(drawn("split-similarity", stats)))
