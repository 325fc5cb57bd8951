from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from exports.card import plots
from exports.card.canvas import Plot, Theme, render
from tests.exports.support.storage import lie_at


@pytest.fixture(autouse=True)
def releases(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Path:
    """The folder in which the test's releases lie."""
    folder = tmp_path_factory.mktemp("releases")
    lie_at(str(folder), settings)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _plots_once() -> Iterator[None]:
    """Plots of the same figures are drawn once: three quarters of a small release's build, and of
    its verification."""
    drawn: dict[tuple[str, ...], bytes] = {}

    def once(plot: Plot, theme: Theme) -> bytes:
        figures = (repr(cell.cell_contents) for cell in plot.draw.__closure__ or ())
        key = (plot.name, plot.title, plot.subtitle, plot.words, theme.suffix, *figures)
        if key not in drawn:
            drawn[key] = render(plot, theme)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "render", once)
        yield
