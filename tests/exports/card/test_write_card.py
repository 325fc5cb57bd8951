"""The same folder makes the same card, on any machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from exports.building.assemble import build
from exports.building.options import Options
from exports.card.readme import write_card
from exports.layout.files import CARD, CROISSANT, MANIFEST
from tests.exports.card.releases import ready
from tests.exports.support.extracts import random_extract

WRITE = "import sys, pathlib, exports.card.readme as w; w.write_card(pathlib.Path(sys.argv[1]))"


def written(folder: Path) -> dict[str, bytes]:
    paths = [folder / CARD, folder / CROISSANT, *(folder / "plots").iterdir()]
    return {path.name: path.read_bytes() for path in paths}


def test_the_card_comes_with_plots_and_croissant(tmp_path: Path) -> None:
    folder = ready(tmp_path / "demo-1")
    write_card(folder)
    assert set(written(folder)) > {CARD, CROISSANT, "hit-at-k.svg", "hit-at-k-dark.svg"}


def test_writing_again_changes_nothing_even_beside_the_manifest(tmp_path: Path) -> None:
    folder = ready(tmp_path / "demo-1")
    write_card(folder)
    once = written(folder)
    (folder / MANIFEST).write_text("{}")
    write_card(folder)
    assert written(folder) == once


@pytest.mark.parametrize("seed", ["0", "42"])
def test_neither_locale_nor_settings_of_the_machine_change_a_byte(
    tmp_path: Path, seed: str
) -> None:
    folder = ready(tmp_path / "demo-1")
    other = Path(shutil.copytree(folder, tmp_path / "other" / "demo-1"))
    write_card(folder)
    (tmp_path / "matplotlibrc").write_text("axes.grid: True\nfont.size: 20\nsvg.fonttype: path\n")
    machine = {
        "PYTHONHASHSEED": seed,
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "Asia/Tokyo",
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "SOURCE_DATE_EPOCH": "86400",
    }
    subprocess.run(
        [sys.executable, "-c", WRITE, str(other)], env=os.environ | machine, check=True, timeout=120
    )
    assert written(other) == written(folder)


@pytest.mark.parametrize("judgments", [True, False], ids=["with judgments", "without"])
@pytest.mark.parametrize("split", ["clusters", "random"])
def test_the_card_takes_the_figures_as_they_are_computed(
    tmp_path: Path, judgments: bool, split: str
) -> None:
    extract = random_extract(8, queries=60).write(tmp_path / "extract")
    folder = tmp_path / "demo-1"
    build(extract, folder, options=Options(split=split, judgments=judgments), number=1)
    text = (folder / CARD).read_text(encoding="utf-8")
    assert "test, the retriever |" in text
    assert "Krippendorff's alpha |" in text
    assert "None" not in text
    assert ("The judgments are left out" in text) != judgments
    assert len(list((folder / "plots").iterdir())) == 8


def test_a_dataset_labelled_elsewhere_gets_its_card_without_a_vote(tmp_path: Path) -> None:
    made, queries = random_extract(8, queries=60), []
    unlike = {"yes": 0, "no": 0, "score": None, "label_source": "import"}
    for query in made.queries:
        unvoted = [replace(each, **unlike) for each in query.candidates]
        queries.append(replace(query, candidates=unvoted))
    made.queries = queries
    made.judgments, made.assignments, made.controls, made.gold = [], [], [], []
    made.campaign |= {"retriever": None, "excluded_workers": [], "instructions": []}
    made.campaign |= {"cost_cents": 0, "bonus_cents": 0, "crowd": "inhouse"}
    made.campaign["queries"]["origin"] = "import"
    folder = tmp_path / "demo-1"
    build(made.write(tmp_path / "extract"), folder, options=Options(), number=1)
    text = (folder / CARD).read_text(encoding="utf-8")
    assert "No votes are known" in text
    assert "Nobody judged here." in text
    trust = text.split("## Label quality")[1].split("## Splits")[0]
    assert "undefined" not in trust
    assert "Labels were imported" in text
    assert "config_name: judgments" not in text
    assert not (folder / "plots" / "agreement-by-worker.svg").exists()
