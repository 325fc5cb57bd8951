import errno
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from core.errors import UserError
from core.files import whole
from exports.card.canvas import THEMES, Plot, Theme, render
from exports.comparison.hit_plot import COLOURS, hit_plot, plot_path, write_hit_plot
from exports.comparison.intervals_plot import Column, Estimate, intervals_plot
from exports.comparison.published_results import published_results
from tests.exports.card.test_plots import SVG, contrast, texts

FLAT = [0.4, 0.5, 0.6]


def result(*names: str, paper: bool = False, seeds: int = 1) -> dict[str, Any]:
    lowest = [share - 0.1 * (seeds > 1) for share in FLAT]
    shares = {"value": FLAT, "lowest": lowest, "highest": FLAT}
    systems = [{"name": name, "runs": ["x.run"] * seeds, "hit_at": shares} for name in names]
    return {"split": "test", "systems": systems, "papers": published_results() if paper else None}


def drawn(of: dict[str, Any], theme: Theme = THEMES[0]) -> bytes:
    return render(hit_plot(of), theme)


def test_each_system_has_a_line_that_the_legend_names() -> None:
    names = ["bm25", "retriever", "tuned, 3 seeds", "$5 & <b>"]
    svg = drawn(result(*names))
    assert set(names) <= set(texts(svg))
    lines = {path.get("d") for path in etree.fromstring(svg).iter(f"{SVG}path")}
    assert len(lines) > 1


def test_several_runs_have_a_band_and_one_run_has_none() -> None:
    assert b"FillBetween" in drawn(result("mine", seeds=3))
    assert b"FillBetween" not in drawn(result("mine"))
    assert "bands: lowest to highest run" in " ".join(texts(drawn(result("mine", seeds=3))))


def test_the_papers_points_are_marked_as_the_papers() -> None:
    shown = texts(drawn(result("mine", paper=True)))
    assert "retriever (QUADRo, Figure 1; other data)" in shown
    assert "retriever and selector (QUADRo, Figure 1; other data)" in shown
    assert "30" in shown
    assert not [text for text in texts(drawn(result("mine"))) if "QUADRo" in text]


def test_the_plot_says_in_words_what_it_shows() -> None:
    assert hit_plot(result("mine")).words == "mine: Hit@1 40.0%."
    svg = etree.fromstring(drawn(result("mine")))
    assert svg.findtext(f"{SVG}title") == "Hit@k. mine: Hit@1 40.0%."


def test_many_systems_are_told_apart() -> None:
    names = [f"system {number}" for number in range(14)]
    assert set(names) <= set(texts(drawn(result(*names, paper=True))))


def test_the_same_figures_make_the_same_bytes_light_and_dark(tmp_path: Path) -> None:
    written = write_hit_plot(tmp_path / "hit.svg", result("mine", seeds=2))
    assert [path.name for path in written] == ["hit.svg", "hit-dark.svg"]
    for path, theme in zip(written, THEMES, strict=True):
        assert path.read_bytes() == drawn(result("mine", seeds=2), theme)


def test_a_plot_may_be_drawn_again_over_one_of_ours_and_over_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "hit.svg"
    write_hit_plot(path, result("mine"))
    assert plot_path(path) == path
    write_hit_plot(path, result("other"))
    assert b"other" in path.read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["hit-dark.svg", "hit.svg"]
    for name in ("hit-dark.svg", "hit.svg"):
        (tmp_path / name).write_text("<svg>drawn by hand</svg>")
        with pytest.raises(UserError, match=rf"{name} is no plot of `compare`: name a new file"):
            plot_path(path)


def test_a_releases_own_plot_is_not_one_of_ours(tmp_path: Path) -> None:
    about = Plot("hit-at-k", "Hit@k of the retriever", "", "", lambda figure, theme: None)
    (tmp_path / "hit-at-k.svg").write_bytes(render(about, THEMES[0]))
    (tmp_path / "folder.svg").mkdir()
    for name in ("hit-at-k.svg", "folder.svg"):
        with pytest.raises(UserError, match="is no plot of `compare`"):
            plot_path(tmp_path / name)


def test_a_disk_without_room_leaves_the_plot_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hit.svg"
    write_hit_plot(path, result("mine"))
    before = path.read_bytes()

    def full(written: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(written))

    monkeypatch.setattr(whole, "sync", full)
    with pytest.raises(OSError, match="No space left"):
        write_hit_plot(path, result("other"))
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.suffix or "light")
def test_every_line_can_be_seen_on_the_background(theme: Theme) -> None:
    assert min(contrast(colour, theme.background) for colour in COLOURS[theme]) >= 4.5


def test_figures_have_intervals_and_the_papers_are_marks_beside_them() -> None:
    ours = {"mine": Estimate(0.5, 0.4, 0.6), "$5 & <b>": Estimate(0.7, 0.71, 0.8)}  # of few rows
    columns = [Column("STS: Pearson, or none", ours, {"mine": 0.55}), Column("MAP", {}, {})]
    plot = intervals_plot(columns, "Bars")
    shown = texts(render(plot, THEMES[0]))
    assert {*ours, "the paper, other data", "STS", "Pearson,", "or none", "MAP"} <= set(shown)
    assert plot.words.startswith("STS: Pearson, or none: mine 50.0% (40.0% to 60.0%), $5 & <b> 70")
    bare = intervals_plot([Column("MAP", ours, {})], "Bars")
    assert "the paper, other data" not in texts(render(bare, THEMES[0]))
