"""How a release is loaded: its files by format, and code to copy for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from string import Template

from exports.layout.files import GOLD, OF_THE_ANNOTATORS, SPLIT_FILES

ARCHIVE_SUFFIX = ".tar.zst"
# Key, title and what a reader must know, in the order in which a page shows them.
GROUPS = (
    (
        "jsonl",
        "JSONL",
        "A query a line with its labelled candidates in the retriever's order: every other format "
        "is made of these.",
    ),
    (
        "parquet",
        "Parquet",
        "A labelled triplet (query, question, answer) a row, for pandas, datasets, Polars or "
        "DuckDB.",
    ),
    (
        "tsv",
        "TSV",
        "The columns of the Parquet files, tab-separated, texts in double quotes; an empty score "
        "is one that is not known.",
    ),
    (
        "trec",
        "TREC",
        "Judgments, topics, and the runs of the retriever and of BM25, for ir_measures, ranx and "
        "trec_eval.",
    ),
    (
        "sentence-transformers",
        "sentence-transformers",
        "Pairs, triplets and n-tuples of questions with hard negatives, in the columns that its "
        "losses take.",
    ),
    (
        "annotators",
        "What the annotators did",
        "Judgments, the work handed in and the answers to controls, unless they were left out, and "
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
OF_A_FOLDER = {"parquet", "tsv", "trec", "sentence-transformers"}


@dataclass(frozen=True)
class Snippet:
    key: str
    title: str
    language: str  # python or bash
    code: str  # runs where the release's folder lies


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
    if folder in OF_A_FOLDER:
        return folder
    if path in SPLIT_FILES:
        return "jsonl"
    if path == GOLD or path in OF_THE_ANNOTATORS:
        return "annotators"
    return "archive" if path.endswith(ARCHIVE_SUFFIX) else "card"


def snippets(folder_name: str) -> list[Snippet]:
    """For a release that was unpacked to the folder of this name."""
    return [
        Snippet(key, title, language, Template(code).substitute(folder=folder_name))
        for key, title, language, code in SNIPPETS
    ]


SNIPPETS = (
    (
        "tar",
        "Unpack",
        "bash",
        """\
tar --zstd -xf $folder.tar.zst
ls $folder
""",
    ),
    (
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
    (
        "datasets",
        "datasets",
        "python",
        """\
import pyarrow.parquet as pq
from datasets import load_dataset

files = {split: f"$folder/parquet/{split}.parquet" for split in ("train", "dev", "test")}
# datasets loads no split without rows.
files = {split: path for split, path in files.items() if pq.read_metadata(path).num_rows}
dataset = load_dataset("parquet", data_files=files)
print(dataset.num_rows)
""",
    ),
    (
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
    (
        "pandas",
        "pandas",
        "python",
        """\
import pandas as pd

train = pd.read_parquet("$folder/parquet/train.parquet")
print(train.groupby("label").size())
""",
    ),
    (
        "tsv",
        "TSV",
        "python",
        """\
import pandas as pd

texts = ["query_id", "query", "candidate_id", "question", "answer"]
train = pd.read_csv(
    "$folder/tsv/train.tsv",
    sep="\\t",
    dtype=dict.fromkeys(texts, "str"),
    keep_default_na=False,  # a text "NA" is a text
    na_values={"score": [""]},
)
print(train.groupby("label").size())
""",
    ),
    (
        "ir_measures",
        "ir_measures",
        "python",
        """\
import ir_measures
from ir_measures import AP, RR, P, Success

qrels = list(ir_measures.read_trec_qrels("$folder/trec/test.qrels"))
run = list(ir_measures.read_trec_run("$folder/trec/test.retriever.run"))
print(ir_measures.calc_aggregate([P @ 1, AP, RR, Success @ 5], qrels, run))
""",
    ),
    (
        "ranx",
        "ranx",
        "python",
        """\
from ranx import Qrels, Run, evaluate

qrels = Qrels.from_file("$folder/trec/test.qrels", kind="trec")
run = Run.from_file("$folder/trec/test.retriever.run", kind="trec")
print(evaluate(qrels, run, ["precision@1", "map", "mrr", "hit_rate@5"], make_comparable=True))
""",
    ),
    (
        "sentence-transformers",
        "sentence-transformers",
        "python",
        """\
import os

from datasets import load_dataset

# Each goes to SentenceTransformerTrainer as it is, with MultipleNegativesRankingLoss.
train = {}
for layout in ("pair", "triplet", "n-tuple"):
    path = f"$folder/sentence-transformers/{layout}/train.jsonl"
    if os.path.getsize(path):  # datasets loads no file without rows
        train[layout] = load_dataset("json", data_files=path, split="train")
        print(layout, train[layout].num_rows, train[layout].column_names)
""",
    ),
)
