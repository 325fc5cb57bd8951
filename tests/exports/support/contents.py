"""A release as somebody reads it who knows nothing but its files."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

SPLITS = ("train", "dev", "test")
OF_A_SPLIT = (
    "{}.jsonl",
    "parquet/{}.parquet",
    "tsv/{}.tsv",
    "trec/{}.qrels",
    "trec/{}.topics.tsv",
    "trec/{}.retriever.run",
    "trec/{}.bm25.run",
    "sentence-transformers/pair/{}.jsonl",
    "sentence-transformers/triplet/{}.jsonl",
    "sentence-transformers/n-tuple/{}.jsonl",
)
# agreement-by-worker is drawn where somebody has cast some votes.
PLOTS = ("positives-by-rank", "hit-at-k", "split-similarity")
TABLES = {"judgments.parquet", "assignments.parquet", "controls.parquet"}
FILES = {
    "README.md",
    "campaign.json",
    "changes.json",
    "changes.jsonl",
    "croissant.json",
    "gold.jsonl",
    "instructions/1.md",
    "manifest.json",
    "placements.jsonl",
    "release.json",
    "stats.json",
    *TABLES,
    *(name.format(split) for name in OF_A_SPLIT for split in SPLITS),
    *(f"plots/{plot}{dark}.svg" for plot in PLOTS for dark in ("", "-dark")),
}


def contents(release: Path) -> dict[str, bytes]:
    files = (path for path in release.rglob("*") if path.is_file())
    return {path.relative_to(release).as_posix(): path.read_bytes() for path in files}


def lines(release: Path, name: str) -> list[dict[str, Any]]:
    text = (release / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def queries(release: Path, split: str) -> list[dict[str, Any]]:
    return lines(release, f"{split}.jsonl")


def all_queries(release: Path) -> dict[str, dict[str, Any]]:
    return {query["id"]: query for split in SPLITS for query in queries(release, split)}


def placements(release: Path) -> dict[str, str | None]:
    """Query -> its split."""
    return {row["id"]: row["split"] for row in lines(release, "placements.jsonl")}


def table(release: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(release / name).to_pylist()
    return rows


def document(release: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release / name).read_bytes())
    return found
