"""The code that the downloads page shows runs as it stands; every file is in one group."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from exports.evaluation.baselines import write_runs
from exports.formats.loading_code import groups, snippets
from exports.formats.write import write_formats
from exports.layout import files as layout
from exports.layout.archive import write_archive
from exports.splits.splits import SPLITS
from retrieval.ranking.records import QueryRecord, read
from tests.exports.formats.releases import hostile_split, rows, write_release
from tests.exports.support.extracts import random_extract, spread

NAME = "demo-1"
CODE = {snippet.key: snippet for snippet in snippets(NAME)}
Queries = dict[str, list[QueryRecord]]
Run = Callable[..., str]


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where somebody unpacked a release, and its archive beside it."""
    parent = tmp_path_factory.mktemp("downloads")
    folder = spread(random_extract(5, queries=40, candidates=9), parent / NAME)
    write_formats(folder)
    write_runs(folder)
    write_archive(folder, parent / f"{NAME}.tar.zst", name=NAME)
    return parent


@pytest.fixture(scope="module")
def queries(downloads: Path) -> Queries:
    return {split: list(read(downloads / NAME / f"{split}.jsonl")) for split in SPLITS}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """What a snippet, with `more` behind it, prints in a folder without a network."""
    own = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}

    def run(key: str, folder: Path, more: str = "") -> str:
        program = {"python": [sys.executable, "-c"], "bash": ["bash", "-ec"]}[CODE[key].language]
        report = subprocess.run(
            [*program, CODE[key].code + more],
            cwd=folder,
            env=os.environ | own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert report.returncode == 0, report.stderr
        return report.stdout

    return run


def labels(queries: list[QueryRecord]) -> list[int]:
    return [one.label for query in queries for one in query.candidates]


def test_the_archive_unpacks_to_the_folder(downloads: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / f"{NAME}.tar.zst").write_bytes((downloads / f"{NAME}.tar.zst").read_bytes())
    listed = run("tar", tmp_path).split()
    assert listed == sorted(listed, key=str.casefold)
    assert set(listed) == {path.name for path in (downloads / NAME).iterdir()}


def test_json_counts_queries_candidates_and_positives(
    downloads: Path, queries: Queries, run: Run
) -> None:
    train = labels(queries["train"])
    assert run("json", downloads) == (
        f"{len(queries['train'])} queries, {len(train)} candidates, {sum(train)} positives\n"
    )


def test_datasets_loads_every_split_of_triplets_and_of_queries(
    downloads: Path, queries: Queries, run: Run
) -> None:
    triplets = {split: len(labels(found)) for split, found in queries.items()}
    assert ast.literal_eval(run("datasets", downloads)) == triplets
    counts = {split: len(found) for split, found in queries.items()}
    assert ast.literal_eval(run("datasets-jsonl", downloads)) == counts


@pytest.mark.parametrize("key", ["pandas", "tsv"])
def test_pandas_counts_the_labels(downloads: Path, queries: Queries, run: Run, key: str) -> None:
    train = labels(queries["train"])
    printed = re.findall(r"^([01]) +(\d+)$", run(key, downloads), flags=re.MULTILINE)
    assert printed == [(f"{label}", f"{train.count(label)}") for label in (0, 1)]


@pytest.mark.parametrize("key", ["pandas", "tsv"])
def test_pandas_reads_every_text_as_it_is(tmp_path: Path, run: Run, key: str) -> None:
    folder = write_release(tmp_path / NAME, hostile_split())
    shown = run(key, tmp_path, more="print(train.to_json(orient='records'))").splitlines()[-1]
    assert json.loads(shown) == rows(folder)


@pytest.mark.parametrize(
    ("key", "name"),
    [("ir_measures", "P@1"), pytest.param("ranx", "precision@1", marks=pytest.mark.slow)],
)
def test_measures_are_those_of_the_retrievers_first_candidates(
    downloads: Path, queries: Queries, run: Run, key: str, name: str
) -> None:
    firsts = [query.candidates[0].label for query in queries["test"]]
    found = re.search(rf"\b{name}'?: (?:np\.float64\()?([\d.]+)", run(key, downloads))
    assert found
    assert 0 < float(found[1]) == pytest.approx(sum(firsts) / len(firsts))


def test_sentence_transformers_gets_each_layout_with_its_columns(downloads: Path, run: Run) -> None:
    folder = downloads / NAME / "sentence-transformers"
    lines = [line.split(" ", 2) for line in run("sentence-transformers", downloads).splitlines()]
    assert {layout: int(rows) for layout, rows, _ in lines} == {
        layout.name: (layout / "train.jsonl").read_bytes().count(b"\n")
        for layout in folder.iterdir()
    }
    negatives = [f"negative_{number}" for number in range(1, 6)]
    assert {layout: ast.literal_eval(columns) for layout, _, columns in lines} == {
        "pair": ["anchor", "positive"],
        "triplet": ["anchor", "positive", "negative"],
        "n-tuple": ["anchor", "positive", *negatives],
    }


def test_a_release_with_empty_splits_and_layouts_loads_too(tmp_path: Path, run: Run) -> None:
    """Three candidates a query: no five negatives."""
    folder = spread(random_extract(6, candidates=3), tmp_path / NAME)
    (folder / "dev.jsonl").write_bytes(b"")
    write_formats(folder)
    assert ast.literal_eval(run("datasets", tmp_path)).keys() == {"train", "test"}
    assert ast.literal_eval(run("datasets-jsonl", tmp_path)).keys() == {"train", "test"}
    lines = run("sentence-transformers", tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["pair", "triplet"]


def test_every_snippet_is_run_by_a_test_and_names_the_folder() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for key, snippet in CODE.items():
        assert f'"{key}"' in source
        assert NAME in snippet.code
        assert "$" not in snippet.code
        assert snippet.title
    assert len(CODE) == len(snippets(NAME)) == 9


EXPECTED = {
    "train.jsonl": "jsonl",
    "test.jsonl": "jsonl",
    "parquet/dev.parquet": "parquet",
    "tsv/train.tsv": "tsv",
    "trec/test.qrels": "trec",
    "trec/test.topics.tsv": "trec",
    "trec/dev.bm25.run": "trec",
    "sentence-transformers/n-tuple/train.jsonl": "sentence-transformers",
    "judgments.parquet": "annotators",
    "assignments.parquet": "annotators",
    "controls.parquet": "annotators",
    "gold.jsonl": "annotators",
    "README.md": "card",
    "changes.jsonl": "card",
    "placements.jsonl": "card",
    "plots/hit-at-k-dark.svg": "card",
    "instructions/1.md": "card",
    "demo-1.tar.zst": "archive",
}


def grouped(paths: list[str]) -> dict[str, list[str]]:
    return {group.key: group.paths for group in groups(paths)}


@pytest.mark.parametrize(("path", "key"), EXPECTED.items())
def test_a_file_is_in_the_group_of_its_format(path: str, key: str) -> None:
    assert grouped([path]) == {key: [path]}


def test_every_file_of_a_release_is_in_one_group(downloads: Path) -> None:
    folder = downloads / NAME
    of_disk = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    named = [value for key, value in vars(layout).items() if key.isupper()]
    of_layout = {
        path
        for value in named
        for path in (value if isinstance(value, tuple) else (value,))
        if isinstance(path, str) and "." in path
    }
    paths = sorted({*of_disk, *of_layout, *EXPECTED})
    assert sorted(chain.from_iterable(grouped(paths).values())) == paths
    assert len(paths) > 40


def test_groups_come_in_one_order_with_the_files_in_theirs() -> None:
    paths = ["demo-1.tar.zst", "tsv/train.tsv", "train.jsonl", "tsv/dev.tsv"]
    found = groups(paths)
    assert [group.key for group in found] == ["jsonl", "tsv", "archive"]
    assert found[1].paths == ["tsv/train.tsv", "tsv/dev.tsv"]
    assert all(group.title and group.words.endswith(".") for group in found)
