"""Labelled sets as they are published, a labelled candidate at a time and in constant memory.

    wikiqa       WikiQA-train.tsv: QuestionID, Question, ..., Sentence, Label
    trecqa       pseudo-XML of TREC-QA (Yao et al. 2013): <QApairs id='1.1'>, <question>, <positive>
    asnq         train.tsv: question, sentence, label from 1 to 4, of which 4 is right; no header
    selqa        selqa-ass-train.json: question, candidates, answers (their places); or its .tsv
    insuranceqa  version 2: domain, question, right answers, pool; with its answers and vocabulary
    quora-match  question1, question2, is_duplicate, and maybe answer2
    qrc          query, question, answer, label; or query and its candidates, as in a release
    sentences    question, sentence (or answer), label

A candidate lacks its question where the set has answers alone, and its answer where it has
questions alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError
from core.files.open import check_is_file
from core.files.rows import (
    Column,
    Row,
    RowFault,
    not_empty,
    optional_field,
    read_lines,
    text_field,
)
from core.progress import Progress, no_progress
from core.text.clean import clean_text, in_utf8, question_key
from retrieval.corpus.pair_reader import MAX_ANSWER, MAX_QUESTION
from retrieval.corpus.sources.communities import unquoted_rows, wikiqa_rows
from retrieval.corpus.sources.formats import read_plain, table_format
from retrieval.corpus.sources.records import (
    Extract,
    Extracted,
    Record,
    a_list,
    an_object,
    extracted_rows,
    records_of,
)

ASNQ_LABELS = {"1": 0, "2": 0, "3": 0, "4": 1}
COLUMNS = ("question", "sentence", "label")  # of tables without a header
POOLED = ("domain", "question", "right", "pool")
TREC_BEGIN = re.compile(r"<QApairs id=['\"]([^'\"]+)['\"]>")
TREC_TEXTS = {"<question>": "question", "<positive>": 1, "<negative>": 0}


class LabelledText(NamedTuple):
    key: str  # of its query: the publisher's id, or what its words make
    query: str
    question: str
    answer: str
    label: int
    line: int  # of the file

    @property
    def is_empty(self) -> bool:
        return not (self.question or self.answer)


@dataclass(frozen=True)
class Companions:
    """Files of InsuranceQA that its questions refer to, read once."""

    answers: Path | None = None
    vocabulary: Path | None = None
    _read: dict[Path, dict[str, str]] = field(default_factory=dict)

    def words(self) -> Mapping[str, str]:
        return self._table(self.vocabulary, "vocabulary")

    def texts(self) -> Mapping[str, str]:
        return self._table(self.answers, "answers")

    def _table(self, path: Path | None, what: str) -> Mapping[str, str]:
        if path is None:
            raise UserError(f"InsuranceQA's questions refer to its {what}: name them by --{what}.")
        if path not in self._read:
            rows = unquoted_rows(enumerate(read_lines(path), 1), ("name", "text"))
            self._read[path] = {
                str(row.fields["name"]): str(row.fields["text"]) for row in _sound(path, rows)
            }
        return self._read[path]


NO_COMPANIONS = Companions()
Read = Callable[[Path, Progress, Companions], Iterator[Row]]


@dataclass(frozen=True)
class Table:
    """A plain file, which users write as well as publishers."""

    needs: Sequence[Column]
    extract: Extract
    maybe: Column = ()  # columns that are read where they are there

    def reads(self, column: str) -> bool:
        return column in chain(self.maybe, *self.needs)


def unread_columns(path: Path, format: str) -> list[str]:
    """Of a plain file's first row; a publisher's own files have columns that nobody needs."""
    if (table := TABLES.get(format)) is None:
        return []
    first = next(read_plain(path, no_progress, table.needs))
    return [in_utf8(name) for name in first.fields if name and not table.reads(name)]


def read_published(
    path: Path,
    format: str,
    *,
    companions: Companions = NO_COMPANIONS,
    progress: Progress = no_progress,
) -> Iterator[LabelledText]:
    """In the file's order. `format`: one of FORMATS. UserError names the first line that is wrong:
    a set with holes would be measured on in silence. `progress` counts bytes of the file."""
    check_is_file(path)
    for row in _sound(path, not_empty(path, FORMATS[format](path, progress, companions))):
        try:
            yield _labelled(row)
        except RowFault as fault:
            raise wrong_line(path, row.line, str(fault)) from fault


def _sound(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    for row in rows:
        if row.fault:
            raise wrong_line(path, row.line, row.fault)
        yield row


def wrong_line(path: Path, line: int, fault: str) -> UserError:
    return UserError(f"Line {line:,} of {path}: {fault}.")


def _labelled(row: Row) -> LabelledText:
    query = text_field(row, ("query",), limit=MAX_QUESTION)
    label = str(row.fields.get("label")).strip().removesuffix(".0")
    if label not in ("0", "1"):
        raise RowFault(f"the label is {label[:40]!r}, and must be 0 or 1")
    return LabelledText(
        optional_field(row, "id", limit=MAX_QUESTION) or question_key(query),
        query,
        optional_field(row, "question", limit=MAX_QUESTION),
        optional_field(row, "answer", limit=MAX_ANSWER),
        int(label),
        row.line,
    )


def _wikiqa(record: Record) -> Iterator[Extracted]:
    names = {"id": "QuestionID", "query": "Question", "answer": "Sentence", "label": "Label"}
    yield {ours: record[theirs] for ours, theirs in names.items()}


def _asnq(record: Record) -> Iterator[Extracted]:
    label = str(record["label"]).strip()
    if label not in ASNQ_LABELS:
        raise RowFault(f"the label is {label[:40]!r}, and must be 1, 2, 3 or 4")
    yield from _sentence({**record, "label": ASNQ_LABELS[label]})


def _sentence(record: Record) -> Iterator[Extracted]:
    answer = record.get("sentence", record.get("answer"))
    yield {"query": record.get("question"), "answer": answer, "label": record.get("label")}


def _selqa(record: Record) -> Iterator[Extracted]:
    candidates, right = a_list(record, "candidates"), a_list(record, "answers")
    if wrong := [one for one in right if type(one) is not int or not 0 <= one < len(candidates)]:
        raise RowFault(
            f"of its answers, {str(wrong[0])[:40]} is none of the {len(candidates)} candidates"
        )
    for place, text in enumerate(candidates):
        yield {"query": record.get("question"), "answer": text, "label": int(place in right)}


def _quora_match(record: Record) -> Iterator[Extracted]:
    yield {
        "query": record.get("question1"),
        "question": record.get("question2"),
        "answer": record.get("answer", record.get("answer2")),
        "label": record.get("is_duplicate", record.get("label")),
    }


def _qrc(record: Record) -> Iterator[Extracted]:
    if "candidates" not in record:
        yield record
        return
    for candidate in a_list(record, "candidates"):
        own = an_object(candidate, "candidate")
        yield {**own, "id": record.get("id"), "query": record["query"]}


def _insuranceqa(record: Record, companions: Companions) -> Iterator[Extracted]:
    """As it is ranked: the pool, whether a right answer is in it or not."""
    words, texts = companions.words(), companions.texts()

    def decoded(text: object, where: str) -> str:
        tokens = str(text).split()
        if unknown := [token for token in tokens if token not in words]:
            raise RowFault(f"{where} has {unknown[0][:40]!r}, which the vocabulary lacks")
        return " ".join(words[token] for token in tokens)

    right = str(record["right"]).split()
    for name in str(record["pool"]).split():
        if name not in texts:
            raise RowFault(f"the pool names the answer {name[:40]!r}, which the answers lack")
        yield {
            "query": decoded(record["question"], "the question"),
            "answer": decoded(texts[name], f"the answer {name[:40]}"),
            "label": int(name in right),
        }


def _trecqa_rows(path: Path, progress: Progress) -> Iterator[Row]:
    """Of a text only the first line are its words, tabs between them; parse trees follow."""
    query: dict[str, str] = {}
    role: object = None
    for number, line in enumerate(read_lines(path, progress), 1):
        text = line.strip()
        if begin := TREC_BEGIN.fullmatch(text):
            query = {"id": begin[1]}
        elif text in TREC_TEXTS:
            role = TREC_TEXTS[text]
            if not query:
                yield Row(number, {}, f"{text} comes before the first <QApairs id='...'>")
        elif role == "question":
            query["query"], role = clean_text(line), None
        elif role is not None:
            yield Row(number, {**query, "answer": line, "label": role})
            role = None
        elif number == 1:
            yield Row(
                number, {}, "it does not begin with <QApairs id='...'>, as TREC-QA's files do"
            )


def _alone(read: Callable[[Path, Progress], Iterator[Row]]) -> Read:
    return lambda path, progress, _: read(path, progress)


def _without_header(path: Path, progress: Progress, columns: Sequence[str]) -> Iterator[Row]:
    return unquoted_rows(enumerate(read_lines(path, progress), 1), columns)


def _asnq_rows(path: Path, progress: Progress) -> Iterator[Row]:
    return extracted_rows(_without_header(path, progress, COLUMNS), _asnq)


def _selqa_rows(path: Path, progress: Progress) -> Iterator[Row]:
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        return extracted_rows(_without_header(path, progress, COLUMNS), _sentence)
    return extracted_rows(records_of(path, progress), _selqa)


def _insuranceqa_rows(path: Path, progress: Progress, companions: Companions) -> Iterator[Row]:
    rows = _without_header(path, progress, POOLED)
    return extracted_rows(rows, partial(_insuranceqa, companions=companions))


TABLES: Mapping[str, Table] = {
    "qrc": Table((("query",), ("candidates", "label")), _qrc, maybe=("id", "question", "answer")),
    "quora-match": Table(
        (("question1",), ("question2",), ("is_duplicate", "label")),
        _quora_match,
        maybe=("answer", "answer2"),
    ),
    "sentences": Table((("question",), ("sentence", "answer"), ("label",)), _sentence),
}
FORMATS: Mapping[str, Read] = {
    "asnq": _alone(_asnq_rows),
    "insuranceqa": _insuranceqa_rows,
    "selqa": _alone(_selqa_rows),
    "trecqa": _alone(_trecqa_rows),
    "wikiqa": _alone(lambda path, progress: extracted_rows(wikiqa_rows(path, progress), _wikiqa)),
    **{
        name: _alone(table_format(name, table.needs, table.extract))
        for name, table in TABLES.items()
    },
}
