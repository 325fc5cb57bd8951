"""How a release is loaded: its files by format, and code to copy for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from string import Template

from exports.formats.format import Snippet
from exports.formats.registry import FORMATS
from exports.layout.files import ARCHIVE_SUFFIX, GOLD, OF_THE_ANNOTATORS, SPLIT_FILES

# Key, title and what a reader must know, in the order in which a page shows them.
GROUPS = (
    (
        "jsonl",
        "JSONL",
        "A query per line with its labelled candidates in the retriever's order: every other "
        "format is made from these.",
    ),
    *((each.key, each.title, each.description) for each in FORMATS),
    (
        "annotators",
        "What the annotators did",
        "Judgments, assignments and the answers to controls, unless they were left out, and "
        "the experts' labels; people as salted hashes.",
    ),
    (
        "card",
        "Card and checks",
        "The dataset card with its figures and plots, the instructions in force, what changed, "
        "and the checksums of all files.",
    ),
    ("archive", "One archive", "The whole folder as one file."),
)


@dataclass(frozen=True)
class Group:
    key: str
    title: str
    words: str  # a sentence
    paths: list[str]


def groups(paths: Iterable[str]) -> list[Group]:
    """Each path in one group, in the order given; no group is empty."""
    sorted_out: dict[str, list[str]] = {key: [] for key, _, _ in GROUPS}
    for path in paths:
        sorted_out[_key(path)].append(path)
    return [
        Group(key, title, words, sorted_out[key]) for key, title, words in GROUPS if sorted_out[key]
    ]


def _key(path: str) -> str:
    folder, _, _ = path.partition("/")
    if any(folder == each.key for each in FORMATS):
        return folder
    if path in SPLIT_FILES:
        return "jsonl"
    if path == GOLD or path in OF_THE_ANNOTATORS:
        return "annotators"
    return "archive" if path.endswith(ARCHIVE_SUFFIX) else "card"


def snippets(folder_name: str) -> list[Snippet]:
    """For a release that was unpacked to the folder of this name."""
    own = [snippet for each in FORMATS for snippet in each.snippets]
    return [
        replace(each, code=Template(each.code).substitute(folder=folder_name))
        for each in (*SNIPPETS, *own)
    ]


SNIPPETS = (
    Snippet(
        "tar",
        "Unpack",
        "bash",
        """\
tar --zstd -xf $folder.tar.zst
ls $folder
""",
    ),
    Snippet(
        "json",
        "JSONL",
        "python",
        """\
import json

with open("$folder/train.jsonl", encoding="utf-8") as file:
    queries = [json.loads(line) for line in file]
candidates = [candidate for query in queries for candidate in query["candidates"]]
positives = sum(candidate["label"] for candidate in candidates)
print(len(queries), "queries,", len(candidates), "candidates,", positives, "positives")
""",
    ),
    Snippet(
        "datasets-jsonl",
        "datasets, a query a row",
        "python",
        """\
import os

from datasets import load_dataset

files = {split: f"$folder/{split}.jsonl" for split in ("train", "dev", "test")}
# datasets loads no split without rows.
files = {split: path for split, path in files.items() if os.path.getsize(path)}
dataset = load_dataset("json", data_files=files)
print(dataset.num_rows)
""",
    ),
)
