"""A release as somebody reads it who knows nothing but its files."""

import json
from pathlib import Path
from typing import Any

SPLITS = ("train", "dev", "test")
FILES = {"train.jsonl", "dev.jsonl", "test.jsonl", "stats.json", "manifest.json"}


def contents(release: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in release.iterdir()}


def queries(release: Path, split: str) -> list[dict[str, Any]]:
    text = (release / f"{split}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def all_queries(release: Path) -> dict[str, dict[str, Any]]:
    return {query["id"]: query for split in SPLITS for query in queries(release, split)}


def document(release: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release / name).read_bytes())
    return found
