"""A release that another version of the software wrote, in other words or with other drawings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from exports.card.croissant import croissant
from exports.layout.files import CARD, CROISSANT, RELEASE
from exports.layout.manifest import versions
from exports.verify.verify import verify
from tests.exports.support.built_releases import sealed
from tests.exports.verify.tampering import change_object, found


def made_by_another(folder: Path, library: str) -> None:
    """As that version would have written it: Croissant has the checksums of what lies there."""
    change_object(folder / RELEASE, lambda release: release["versions"].update({library: "0.0.1"}))
    resealed(folder)


def resealed(folder: Path) -> None:
    (folder / CROISSANT).write_bytes(croissant(folder))
    sealed(folder)


def reword(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="")


def a_plot(folder: Path) -> Path:
    return min((folder / "plots").iterdir())


def test_an_older_quorum_worded_its_card_its_croissant_and_its_plots_as_it_liked(
    release: Path,
) -> None:
    reword(release / CARD, "A question-ranking dataset", "In 2 words, a data set")
    reword(a_plot(release), "<dc:title>", "<dc:title>About ")
    made_by_another(release, "quorum")
    reword(release / CROISSANT, "A question-ranking dataset", "Questions")
    sealed(release)
    report = verify(release)
    assert report.differences == []
    (details,) = [each for each in report.unchecked if "worded by Quorum" in each]
    assert details.startswith(
        f"plots/{a_plot(release).name}, {CARD}, {CROISSANT}: worded by Quorum"
    )
    assert f"0.0.1 (here {versions()['quorum']})" in details


def test_the_installed_quorum_words_nothing_in_another_way(release: Path) -> None:
    reword(release / CARD, "A question-ranking dataset", "A data set")
    resealed(release)
    assert f"{CARD}: line " in found(release)


def test_a_number_in_a_table_of_an_older_card_is_checked_all_the_same(release: Path) -> None:
    made_by_another(release, "quorum")
    rows = [line for line in (release / CARD).read_text().splitlines() if line.startswith("|")]
    numbered = [row for row in rows if re.search(r"\d", row)]
    assert len(numbered) > 8
    for row in numbered[::4]:
        whole = (release / CARD).read_text()
        reword(release / CARD, row, re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 10), row))
        resealed(release)
        assert f"{CARD}: no table that the other files make has the numbers" in found(release)
        (release / CARD).write_text(whole)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "no JSON"),
        (b"[]", "it must be an object"),
        (b'{"distribution": [{"contentUrl": "x"}]}', "distribution 1.sha256 is missing"),
        (b'{"distribution": []}', f"not the sha256 of {CARD}"),
    ],
)
def test_an_older_croissant_that_does_not_list_the_files_is_named(
    content: bytes, words: str, release: Path
) -> None:
    made_by_another(release, "quorum")
    (release / CROISSANT).write_bytes(content)
    sealed(release)
    assert f"{CROISSANT}: {words}" in found(release)


def test_an_older_croissant_has_the_sha256_of_the_files(release: Path) -> None:
    made_by_another(release, "quorum")
    listed = json.loads((release / CROISSANT).read_bytes())["distribution"]
    digest = next(each["sha256"] for each in listed if each["name"] == "train.jsonl")
    reword(release / CROISSANT, digest, "0" * 64)
    sealed(release)
    assert found(release) == f"{CROISSANT}: not the sha256 of train.jsonl"


def test_a_plot_of_another_matplotlib_is_drawn_in_another_way_but_says_the_same(
    release: Path,
) -> None:
    plot = a_plot(release)
    reword(plot, "<path ", '<path class="other" ')
    made_by_another(release, "matplotlib")
    report = verify(release)
    assert report.differences == []
    assert any(f"{plot.name}: drawn by another version" in each for each in report.unchecked)
    text = re.findall(r"<text[^>]*>([^<]*\d[^<]*)</text>", plot.read_text())[-1]
    reword(plot, f">{text}</text>", ">77.7%</text>")
    resealed(release)
    assert f"plots/{plot.name}: says '77.7%', which the other files do not make" in found(release)
