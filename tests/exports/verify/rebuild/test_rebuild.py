"""One label, figure or line changed, in a release's own files or in those made of them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from exports.layout.files import (
    CARD,
    MANIFEST,
    RELEASE,
    STATS,
)
from exports.verify.verify import verify
from retrieval.ranking.records import document
from tests.exports.support.built_releases import sealed
from tests.exports.verify.tampering import (
    change_lines,
    change_table,
    first_query,
    found,
)


@pytest.mark.parametrize("resealed", [False, True])
def test_one_flipped_label_is_named(resealed: bool, release: Path) -> None:
    query = first_query(release)
    candidate = query["candidates"][0]

    def flip(rows: list[dict[str, Any]]) -> None:
        rows[0]["candidates"][0]["label"] = 1 - candidate["label"]

    change_lines(release / "train.jsonl", flip)
    if resealed:
        sealed(release)
    named = found(release)
    assert f"query '{query['id']}': candidate '{candidate['id']}': label" in named
    assert ("train.jsonl: sha256" in named) is not resealed
    assert f"{STATS}: splits.train.positives is" in named


def test_a_label_flipped_with_its_votes_is_named_by_the_judgments(release: Path) -> None:
    query = first_query(release)

    def flip(rows: list[dict[str, Any]]) -> None:
        candidate = rows[0]["candidates"][0]
        candidate["label"] = 1 - candidate["label"]
        votes = candidate["votes"]
        votes["yes"], votes["no"] = votes["no"], votes["yes"]

    change_lines(release / "train.jsonl", flip)
    sealed(release)
    candidate = query["candidates"][0]["id"]
    assert f"query '{query['id']}', candidate '{candidate}': votes" in found(release)


def flip_in_text(path: Path, pattern: str) -> None:
    text = path.read_text(encoding="utf-8")
    flipped = re.sub(pattern, lambda m: m[1] + str(1 - int(m[2])) + m[3], text, count=1, flags=re.M)
    assert flipped != text
    path.write_text(flipped, encoding="utf-8", newline="")


def test_a_label_flipped_in_another_format_is_named(release: Path) -> None:
    flip_in_text(release / "trec" / "dev.qrels", r"^(\S+ 0 \S+ )([01])($)")
    change_table(
        release / "parquet" / "train.parquet",
        lambda rows: rows[2].update(label=1 - rows[2]["label"]),
    )
    lines = (release / "tsv" / "test.tsv").read_bytes().split(b"\n")
    column = [name.strip(b'"') for name in lines[0].split(b"\t")].index(b"label")
    cells = lines[1].split(b"\t")
    at = len(cells) - len(lines[0].split(b"\t")) + column  # an answer may hold a tab
    cells[at] = b"0" if cells[at] == b"1" else b"1"
    (release / "tsv" / "test.tsv").write_bytes(
        b"\n".join([lines[0], b"\t".join(cells), *lines[2:]])
    )
    sealed(release)
    named = found(release)
    assert re.search(r"^trec/dev\.qrels: line \d+ is", named, re.M)
    assert re.search(r"^parquet/train\.parquet: row 3: label is [01], the other files", named, re.M)
    assert re.search(r"^tsv/test\.tsv: line 2 is", named, re.M)


def test_a_changed_run_is_named(release: Path) -> None:
    path = release / "trec" / "test.bm25.run"
    path.write_bytes(path.read_bytes().replace(b" 1 ", b" 2 ", 1))
    sealed(release)
    assert "trec/test.bm25.run: line 1 is" in found(release)


@pytest.mark.parametrize(
    "path",
    [
        ("splits", "test", "answerable_share"),
        ("campaign", "first_two_votes", "kappa"),
        ("agreement", "alpha"),
        ("similarity", "largest_cluster"),
        ("baselines", "replicates"),
    ],
)
def test_one_changed_figure_is_named_with_both_values(path: tuple[str, ...], release: Path) -> None:
    stated = json.loads((release / STATS).read_bytes())
    *sections, last = path
    section = stated
    for name in sections:
        section = section[name]
    true, section[last] = section[last], 0.1234
    (release / STATS).write_bytes(document(stated))
    sealed(release)
    wanted = f"{STATS}: {'.'.join(path)} is 0.1234, the files make {true}"
    # Croissant holds the checksum of the file that was.
    assert [each for each in verify(release).differences if "croissant" not in each] == [wanted]


def test_one_changed_number_of_the_card_is_named_by_its_line(release: Path) -> None:
    lines = (release / CARD).read_text(encoding="utf-8").split("\n")
    number = next(n for n, text in enumerate(lines) if re.search(r"\| .*\d", text))
    lines[number] = re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 10), lines[number], count=1)
    (release / CARD).write_text("\n".join(lines), encoding="utf-8")
    sealed(release)
    assert f"{CARD}: line {number + 1} is" in found(release)


# Made of the others, and each looked at for itself: some of them cut together are named all.
MADE = ("plots", "sentence-transformers", "trec", "tsv", "parquet")


def cut_in_half(whole: Path, to: Path, paths: Sequence[Path]) -> Path:
    copy = Path(shutil.copytree(whole, to / paths[0].as_posix().replace("/", "-")))
    for path in paths:
        content = (copy / path).read_bytes()
        (copy / path).write_bytes(content[: len(content) // 2])
    return copy


def some_at_once(paths: Sequence[Path]) -> list[Sequence[Path]]:
    return [paths[start : start + 7] for start in range(0, len(paths), 7)]


@pytest.mark.slow
def test_every_truncated_file_is_named(whole: Path, tmp_path: Path) -> None:
    """With its checksum made right again, too, so that it is read; empty ones cannot be cut."""
    paths = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    cut = [path for path in paths if (whole / path).stat().st_size and str(path) != MANIFEST]
    kinds = {(path.parent.name, path.suffix, path.stem.split(".")[0]) for path in cut}
    assert len(kinds) > 30
    for group in some_at_once(cut):
        differences = verify(cut_in_half(whole, tmp_path / "unsealed", group)).differences
        for path in group:
            assert any(str(path) in each and "bytes" in each for each in differences), path
    made = [path for path in cut if path.parts[0] in MADE]
    alone = [[path] for path in cut if path not in made and str(path) != RELEASE]
    for group in (*some_at_once(made), *alone):
        copy = cut_in_half(whole, tmp_path / "sealed", group)
        sealed(copy)
        named = found(copy)
        assert [path for path in group if str(path) not in named] == []
