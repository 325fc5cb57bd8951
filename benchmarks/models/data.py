"""The datasets of `make bench-models`, read from ../shared/data.

`answers`, `duplicates`: see `crowd`. Quora's users gave no answers: NO_ANSWER stands there,
and no system of `duplicates` reads it.
`wikiqa`, `trecqa`: answer sentence selection, the clean way. A sentence stands as the question and
as the answer: a retriever of the form QQ reads it, and a selector of the form QA.
`selqa`: the same of SelQA, whose dev is parted into train and dev, since its train is not here.
`SelQA`: what a model may learn before the other two.
`qbert`: see there.
`quora`: pairs of questions, judged by Quora's users. Those of the training that are also in the
test are left out.
"""

import csv
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import folders
from benchmarks.control_leak.corpora import BANKING
from benchmarks.models.crowd import NO_ANSWER, judged_by_crowd
from benchmarks.models.splits import Asked, Judged, Size, Splits, write_splits
from benchmarks.quality.tasks import DUPLICATES, SEED
from core.text.clean import normalise_question, question_key

WIKIQA = tuple(
    Path("ranking") / "wikiqa" / name
    for name in ("wikiqa_train_tokenised.tsv.gz", "wikiqa_dev_test.tsv.gz")
)
TRECQA = Path("ranking") / "trecqa" / "trecqa.tsv.gz"
SELQA = Path("ranking") / "selqa" / "selqa_dev_test.jsonl.gz"
CLINC = Path("pairs") / "clinc150" / "clinc150.tsv.gz"
STSB = Path("pairs") / "stsb_en" / "stsb_en.tsv.gz"
# The tasks of benchmarks.quality.
CROWD = {"answers": "answers", "duplicates": "quora", "students": "quora"}
NEEDED: Mapping[str, Sequence[Path]] = {
    "answers": (folders.PAIRS, *DUPLICATES),
    "duplicates": (folders.PAIRS, *DUPLICATES),
    "students": (folders.PAIRS, *DUPLICATES),
    "wikiqa": (*WIKIQA, SELQA),
    "trecqa": (TRECQA, SELQA),
    "selqa": (SELQA,),
    "quora": DUPLICATES,
    "qbert": (BANKING, CLINC, STSB, *DUPLICATES, *WIKIQA),
    "speed": (folders.PAIRS, *DUPLICATES),
}
SELQA_DEV = 5  # each fifth question of its dev stays there
TREC_SPLITS = {"train": "train", "clean-dev": "dev", "clean-test": "test"}

T = TypeVar("T")
Row = Mapping[str, str]
Pair = tuple[str, str, int]  # of questions, and whether they are duplicates


def missing(part: str) -> list[Path]:
    return folders.missing(NEEDED[part])


def write_dataset(part: str, size: Size, folder: Path, device: str) -> dict[str, dict[str, int]]:
    """train.jsonl, dev.jsonl and test.jsonl in the folder; what they hold."""
    if part in CROWD:
        made = judged_by_crowd(CROWD[part], size, device)
    else:
        of = {"wikiqa": _wikiqa, "trecqa": _trecqa, "selqa": _selqa, "quora": _quora}
        made = of[part](size)
    return write_splits(part, made, folder)


def write_pairs(size: Size, path: Path) -> None:
    """Duplicate questions to be learned first; none is among the pairs of `quora`'s test."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(("question1", "question2", "is_duplicate"))
        writer.writerows(some(pairs_to_learn(), size.pairs))


def write_corpus(most: int, path: Path) -> None:
    """The first of the real pairs, at most so many."""
    with gzip.open(folders.DATA / folders.PAIRS, "rb") as file:
        path.write_bytes(b"".join(islice(file, most)))


def write_sentences(size: Size, path: Path) -> None:
    """SelQA's questions with their sentences, to be learned before a release of sentences."""
    learned = some(_selqa_questions(), size.transferred)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(("question", "sentence", "label"))
        for one in learned:
            writer.writerows((one["question"], *sentence) for sentence in _labelled(one))


def _selqa_questions() -> list[dict[str, Any]]:
    with gzip.open(folders.DATA / SELQA, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _labelled(asked: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for number, sentence in enumerate(asked["candidates"]):
        if sentence.strip():
            yield sentence, int(number in asked["positives"])


def pairs_to_learn() -> Iterator[Pair]:
    tested = {_keys(row) for row in read(DUPLICATES[0])}
    for row in read(DUPLICATES[1]):
        if _keys(row) not in tested:
            yield _pair(row, "is_duplicate")


def _wikiqa(size: Size) -> Splits:
    train, others = (list(read(path)) for path in WIKIQA)
    named = [*(("train", row) for row in train), *((row["split"], row) for row in others)]
    return _sentences(named, size)


def _trecqa(size: Size) -> Splits:
    named = [
        (TREC_SPLITS[row["split"]], row) for row in read(TRECQA) if row["split"] in TREC_SPLITS
    ]
    return _sentences(named, size)


def _selqa(size: Size) -> Splits:
    named = []
    for number, one in enumerate(_selqa_questions()):
        learned = one["split"] == "dev" and number % SELQA_DEV
        for sentence, label in _labelled(one):
            row = {"question": one["question"], "sentence": sentence, "label": str(label)}
            named.append(("train" if learned else one["split"], row))
    return _sentences(named, size)


def _sentences(rows: Iterable[tuple[str, Row]], size: Size) -> Splits:
    """Questions whose sentences are all right or all wrong are left out, in train too."""
    found: dict[str, dict[str, list[Judged]]] = {
        split: defaultdict(list) for split in ("train", "dev", "test")
    }
    for split, row in rows:
        sentence, label = row["sentence"], int(row["label"])
        found[split][row["question"]].append(Judged(sentence, sentence, label, label))
    asked = {
        split: [Asked(query, sentences) for query, sentences in of.items()]
        for split, of in found.items()
    }
    questions, depth = size.sentences
    asked["train"] = [one.first(depth) for one in asked["train"]]
    clean = {split: [one for one in of if one.is_clean] for split, of in asked.items()}
    return clean | {"train": some(clean["train"], questions)}


def _quora(size: Size) -> Splits:
    judged = list(read(DUPLICATES[0]))
    test, dev = (
        [_pair(row, "label") for row in judged if row["split"] == split]
        for split in ("test", "dev")
    )
    return {
        "test": _grouped(some(test, size.measured)),
        "dev": _grouped(some(dev, size.measured // 5)),
        "train": _grouped(some(pairs_to_learn(), size.pairs)),
    }


def _grouped(pairs: Iterable[Pair]) -> list[Asked]:
    """A release has a query once, with all that was judged beside it."""
    candidates: dict[str, list[Judged]] = defaultdict(list)
    for first, second, label in pairs:
        if normalise_question(first):  # one of Quora's questions is a full stop
            candidates[first].append(Judged(second, NO_ANSWER, label, label))
    return [Asked(query, found) for query, found in candidates.items()]


def some(rows: Iterable[T], most: int) -> list[T]:
    known = list(rows)
    return random.Random(SEED).sample(known, min(most, len(known)))


def _pair(row: Row, label: str) -> Pair:
    return row["question1"], row["question2"], int(row[label])


def _keys(row: Row) -> frozenset[str]:
    return frozenset((question_key(row["question1"]), question_key(row["question2"])))


def read(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(folders.DATA / path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")
