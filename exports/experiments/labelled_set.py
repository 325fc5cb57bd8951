"""A published labelled set as a folder that models are trained and measured on.

    train.jsonl, dev.jsonl, test.jsonl   as a release has them (retrieval.ranking.records)
    trec/<split>.bm25.run                BM25's, as a release has it, unless the set is too large
    placements.jsonl                     each query's split, null where it was left out, and why
    manifest.json                        where all came from, counts, and a checksum of every file

It is no release: nobody voted, so that its labels cannot be verified. A query's id is its split and
its number there, the same in both ways. A candidate that a query has twice stands there twice, as
it does in the published figures; with both labels, only where the publisher's own file has it so.

The clean way leaves out of dev and test the queries without a right or without a wrong candidate;
train stays whole, as in the counts of the AS2 paper's Table 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import orjson

from core.errors import UserError
from core.files.work_folder import sync_folders, unfinished
from core.progress import Progress, no_progress
from core.text.clean import pair_key
from exports.evaluation.baselines import write_bm25_runs
from exports.layout.files import LABELLED_SET, MANIFEST, PLACEMENTS
from exports.layout.manifest import checksum, checksums
from exports.splits.splits import SPLITS
from retrieval.query_sets.published_sets import (
    NO_COMPANIONS,
    TABLES,
    Companions,
    LabelledText,
    read_published,
    unread_columns,
    wrong_line,
)
from retrieval.ranking.records import ID_LENGTH, CandidateRecord, QueryRecord, document, line

FORMAT_VERSION = 1
Way = Literal["raw", "clean"]
WAYS: tuple[Way, ...] = ("raw", "clean")
MOST_RANKED = 1_000_000  # candidates by BM25, which holds their words in memory
CLEANED = ("dev", "test")
COUNTED = (
    "queries",
    "candidates",
    "positive",
    "left_out",
    "repeated",
    "contradictory",
    "without_question",
    "without_answer",
)


class Text(NamedTuple):
    """A candidate of a query."""

    question: str
    answer: str
    label: int
    line: int
    file: int  # its number among the split's


Texts = Sequence[Text]


@dataclass(frozen=True)
class LabelledSet:
    format: str  # of its files
    files: Mapping[str, Sequence[Path]]  # by split
    way: Way
    companions: Companions = NO_COMPANIONS


def write_labelled_set(
    wanted: LabelledSet, out: Path, progress: Progress = no_progress
) -> dict[str, Any]:
    """What its manifest says. `progress` counts bytes of the files.

    UserError where a line is wrong or `out` is in use; nothing is left there then.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already: name a new folder by --out.")
    with unfinished(out, purpose="import to") as work:
        counts = {}
        with (work / PLACEMENTS).open("wb") as placements:
            for split in SPLITS:
                paths = wanted.files.get(split, ())
                with _Scattered(work / "rows") as rows, (work / f"{split}.jsonl").open("wb") as to:
                    for path in paths:
                        texts = read_published(
                            path, wanted.format, companions=wanted.companions, progress=progress
                        )
                        rows.add(path, texts)
                    counts[split] = _write(split, rows, to, placements, wanted)
        if sum(split["candidates"] for split in counts.values()) <= MOST_RANKED:
            write_bm25_runs(work)
        made = _manifest(wanted, work, counts)
        (work / MANIFEST).write_bytes(document(made))
        sync_folders(work)
        work.rename(out)
    return made


@dataclass
class _Scattered:
    """Candidates by their queries, on the disk: a query's rows may stand anywhere in a file."""

    path: Path
    empty: int = 0  # candidates without a text
    files: list[Path] = field(default_factory=list)
    _places: dict[str, list[int]] = field(default_factory=dict)
    _queries: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> _Scattered:
        self._file: BinaryIO = self.path.open("w+b")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.path.unlink()

    def add(self, path: Path, texts: Iterable[LabelledText]) -> None:
        self.files.append(path)
        for key, rows in groupby(texts, attrgetter("key")):
            together = list(rows)
            self._queries.setdefault(key, together[0].query)
            self._places.setdefault(key, []).append(self._file.tell())
            kept = [(*one[2:], len(self.files) - 1) for one in together if not one.is_empty]
            self.empty += len(together) - len(kept)
            self._file.write(orjson.dumps(kept) + b"\n")

    def __iter__(self) -> Iterator[tuple[str, Texts]]:
        """Each query with its candidates, in the order of the first row of each."""
        for key, places in self._places.items():
            candidates: list[Text] = []
            for place in places:
                self._file.seek(place)
                candidates += (Text(*one) for one in orjson.loads(self._file.readline()))
            yield self._queries[key], candidates


def _write(
    split: str, rows: _Scattered, to: BinaryIO, placements: BinaryIO, wanted: LabelledSet
) -> dict[str, int]:
    is_cleaned = wanted.way == "clean" and split in CLEANED
    counts = Counter(dict.fromkeys(COUNTED, 0))
    for number, (query, candidates) in enumerate(rows, 1):
        name = f"{split}-{number}"
        positive = sum(one.label for one in candidates)
        reason = None
        if not candidates:
            reason = "no candidate has a text"
        elif is_cleaned and not 0 < positive < len(candidates):
            reason = "all candidates are right" if positive else "no candidate is right"
        placement = {"id": name, "split": None if reason else split, "reason": reason}
        placements.write(orjson.dumps(placement) + b"\n")
        if reason:
            counts["left_out"] += 1
            continue
        to.write(line(QueryRecord(name, query, list(_candidates(candidates)))))
        contradictory = list(_contradictory(candidates))
        if contradictory and wanted.format in TABLES:
            raise _contradiction(*contradictory[0], rows.files)
        counts.update(
            queries=1,
            candidates=len(candidates),
            positive=positive,
            repeated=len(candidates) - len({one[:2] for one in candidates}),
            contradictory=len(contradictory),
            without_question=sum(not one.question for one in candidates),
            without_answer=sum(not one.answer for one in candidates),
        )
    return {**counts, "empty": rows.empty}


def _contradictory(texts: Texts) -> Iterator[tuple[Text, Text]]:
    """Each candidate with its first place, where it has the other label."""
    firsts: dict[tuple[str, str], Text] = {}
    for text in texts:
        first = firsts.setdefault(text[:2], text)
        if first.label != text.label:
            yield text, first


def _contradiction(later: Text, first: Text, files: Sequence[Path]) -> UserError:
    where = f"in line {first.line:,} of {files[first.file]}"
    fault = f"the candidate is labelled {later.label}, and {first.label} {where}"
    return wrong_line(files[later.file], later.line, fault)


def _candidates(texts: Texts) -> Iterator[CandidateRecord]:
    times: Counter[str] = Counter()
    for rank, (question, answer, label, *_) in enumerate(texts, 1):
        name = pair_key(question, answer)[:ID_LENGTH]
        times[name] += 1
        again = f"-{times[name]}" if times[name] > 1 else ""
        yield CandidateRecord(name + again, question, answer, rank, None, label, label, 1 - label)


def _manifest(
    wanted: LabelledSet, work: Path, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, Any]:
    return {
        "format": LABELLED_SET,
        "format_version": FORMAT_VERSION,
        "published_as": wanted.format,
        "way": wanted.way,
        "sources": {
            split: [
                {
                    "file": path.name,
                    **checksum(path),
                    "unread_columns": unread_columns(path, wanted.format),
                }
                for path in paths
            ]
            for split, paths in wanted.files.items()
        },
        "counts": counts,
        "files": checksums(work),
    }
