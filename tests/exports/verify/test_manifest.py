"""Folders that are damaged, or made to do harm."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from annotation.protocol.policy.policy import Policy
from demo.processes import ROOT
from exports.layout.files import (
    CAMPAIGN,
    JUDGMENTS,
    MANIFEST,
    PLACEMENTS,
    RELEASE,
    STATS,
    annotators_tables,
)
from exports.layout.manifest import checksums_code
from exports.layout.schemas import TABLES
from exports.verify import schemas
from exports.verify.verify import verify
from tests.exports.support.built_releases import sealed
from tests.exports.verify.tampering import (
    change_object,
    found,
)


def test_files_that_are_missing_or_too_many_are_named(release: Path) -> None:
    (release / "tsv" / "dev.tsv").unlink()
    (release / "extra").mkdir()
    (release / "extra" / "file.txt").write_text("x")
    named = found(release)
    assert "tsv/dev.tsv: missing" in named
    assert f"extra/file.txt: not in {MANIFEST}" in named
    sealed(release)
    named = found(release)
    assert "tsv/dev.tsv: missing, the other files make it" in named
    assert "extra/file.txt: no file of a release" in named


def test_links_and_special_files_are_named_and_not_followed(release: Path, tmp_path: Path) -> None:
    for name in ("train.jsonl", "tsv"):
        (release / name).rename(tmp_path / name)
        (release / name).symlink_to(tmp_path / name)
    (release / STATS).unlink()
    os.mkfifo(release / STATS)
    named = found(release)
    assert "train.jsonl: a link, not a plain file" in named
    assert "tsv: a link, not a plain file" in named
    assert f"{STATS}: something special, not a plain file" in named


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "a/../../b", "", ".", "a//b", "a\x00"]
)
def test_a_path_that_leads_out_of_the_folder_is_named(path: str, release: Path) -> None:
    (release.parent / "secret").write_text("x")
    entry = {"bytes": 1, "sha256": "2d" * 32}
    change_object(release / MANIFEST, lambda manifest: manifest["files"].update({path: entry}))
    assert "is no path inside the release" in found(release)


@pytest.mark.parametrize("entry", [None, 5, [], {}, {"bytes": "1", "sha256": 2}, {"bytes": -1}])
def test_a_damaged_entry_of_the_manifest_is_named(entry: object, release: Path) -> None:
    change_object(release / MANIFEST, lambda manifest: manifest["files"].update({STATS: entry}))
    assert f"{MANIFEST}: of {STATS}, " in found(release)


HOSTILE = [
    b"",
    b"\x00\xff",
    b"{",
    b"[]\n",
    b"null\n",
    b"5\n",
    b'{"id": 5}\n',
    b"[" * 100_000,
    b'{"id": "q", "query": "x", "candidates": [{"rank": 1e999}]}\n',
    b'{"id": "\\ud800"}\n',
    b'"' + b"x" * 300 + b'"\n',
]


@pytest.mark.parametrize("content", HOSTILE)
def test_a_file_of_anything_else_is_named(content: bytes, release: Path, whole: Path) -> None:
    """In the place of each file that others are made of, one after the other."""
    for name in ("train.jsonl", PLACEMENTS, "gold.jsonl", CAMPAIGN, RELEASE, STATS, JUDGMENTS):
        (release / name).write_bytes(content)
        if name != RELEASE:
            sealed(release)
        if content or name != "gold.jsonl":
            assert name in found(release), name
        shutil.copyfile(whole / name, release / name)


def test_a_huge_line_is_named_and_never_read(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "LONGEST", 40_000)
    with (release / "train.jsonl").open("ab") as file:
        file.write(b"x" * 100_000)
    sealed(release)
    assert re.search(r"train\.jsonl, line \d+: longer than any release's", found(release))


@pytest.mark.parametrize("name", annotators_tables(Policy()))
def test_a_table_of_other_columns_is_named(name: str, release: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), release / name)
    sealed(release)
    assert f"{name}: not the columns of a release's" in found(release)


def test_a_table_with_holes_is_named(release: Path) -> None:
    table = pq.read_table(release / JUDGMENTS)
    loose = pa.schema([field.with_nullable(True) for field in TABLES[JUDGMENTS]])
    holes = pc.if_else(pc.equal(table["position"], 1), None, table["value"])
    at = table.column_names.index("value")
    pq.write_table(table.cast(loose).set_column(at, "value", holes), release / JUDGMENTS)
    sealed(release)
    assert f"{JUDGMENTS}: " in found(release)


@pytest.mark.parametrize("seed", range(12))
def test_any_changed_byte_is_found_whoever_makes_the_checksums_right(
    seed: int, release: Path
) -> None:
    random = Random(seed)
    paths = sorted(path for path in release.rglob("*") if path.is_file() and path.stat().st_size)
    path = random.choice([path for path in paths if path.name not in (MANIFEST, RELEASE)])
    content = bytearray(path.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)
    sealed(release)
    found(release)


def test_what_a_hub_or_a_clone_puts_at_the_top_is_unchecked_and_no_difference(
    release: Path,
) -> None:
    (release / ".gitattributes").write_text("*.parquet filter=lfs\n")
    (release / ".git" / "refs").mkdir(parents=True)
    (release / ".git" / "config").write_text("x")
    (release / ".cache").symlink_to("/nowhere")
    report = verify(release)
    assert report.differences == []
    assert ".cache, .git, .gitattributes: not of the release, and not looked at." in (
        report.unchecked
    )


def test_a_dot_file_further_down_or_in_the_manifest_is_a_difference(release: Path) -> None:
    (release / "tsv" / ".hidden").write_text("x")
    assert f"tsv/.hidden: not in {MANIFEST}" in found(release)
    (release / "tsv" / ".hidden").rename(release / ".hidden")
    sealed(release)
    assert ".hidden: no file of a release" in found(release)


def test_an_empty_folder_is_a_difference(release: Path) -> None:
    (release / "extra" / "deep").mkdir(parents=True)
    assert found(release) == "extra/deep: an empty folder, no release has one"


def test_without_quorum_python_alone_names_the_file_that_differs(release: Path) -> None:
    code = [sys.executable, "-S", "-c", checksums_code(release.name)]
    run = partial(subprocess.run, code, cwd=release.parent, capture_output=True, text=True)
    assert run(check=False).returncode == 0
    with (release / "stats.json").open("ab") as file:
        file.write(b" ")
    assert run(check=False).stderr.endswith("AssertionError: stats.json\n")


def test_a_package_has_every_file_that_the_verifier_reads() -> None:
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    read = {
        str(path.relative_to(ROOT / "exports"))
        for path in (ROOT / "exports").rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"} and "static" not in path.parts
    }
    assert set(packed["package-data"]["exports"]) == read


def test_the_docs_name_every_library_that_the_verifier_loads() -> None:
    code = (
        "import sys, exports.verify.verify\n"
        "ours = ('annotation', 'core', 'exports', 'retrieval')\n"
        "files = [one.__file__ for name, one in sys.modules.items() if name.startswith(ours)]\n"
        "print(*filter(None, files), sep='\\n')"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = {name for path in run.stdout.split() for name in imports(Path(path))}
    libraries = loaded - sys.stdlib_module_names - {"annotation", "core", "exports", "retrieval"}
    named = {"yaml": "pyyaml", "ir_measures": "ir-measures"}
    docs = (ROOT / "docs" / "releases.md").read_text()
    (listed,) = re.findall(r"^    pip install ([a-z0-9 -]+)$", docs, re.MULTILINE)
    assert {named.get(one, one) for one in libraries} == set(listed.split())


def imports(path: Path) -> set[str]:
    """What a module takes when it is loaded."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}
