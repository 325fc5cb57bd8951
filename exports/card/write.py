"""Everything of a release that describes it: plots, card, Croissant."""

from __future__ import annotations

from pathlib import Path

from exports.card.croissant import croissant
from exports.card.plots import write_plots
from exports.card.readme import card
from exports.layout.files import CARD, CROISSANT


def write_card(folder: Path) -> None:
    """After every file but the manifest: the card names them all, Croissant has their checksums."""
    write_plots(folder)
    (folder / CARD).write_bytes(card(folder))
    (folder / CROISSANT).write_bytes(croissant(folder))
