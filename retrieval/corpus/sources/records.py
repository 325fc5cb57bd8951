"""Pairs out of published records: one object of a jsonl, JSON or Parquet file each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.files.rows import EXCERPT, Column, Row, RowFault, json_rows, json_type, not_empty
from core.progress import Progress
from retrieval.corpus.sources.json_stream import elements, first_sign
from retrieval.corpus.sources.lazy import parquet_rows

# Records of Natural Questions hold a whole page of Wikipedia each.
LONGEST_RECORD = 100_000_000
NO_ANSWER = "the question has no answer"
# Of a record's numbers these are no scores.
RESERVED = ("id", "license", "question", "answer")

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing is wrong with it, but it is no pair."""

    reason: str


Extracted = Record | Skip
Extract = Callable[[Record], Iterator[Extracted]]


def read_records(
    path: Path,
    progress: Progress,
    *,
    format: str,
    needs: Sequence[Column],
    extract: Extract,
) -> Iterator[Row]:
    """`needs`: of each, the first record that can be read has one of the names."""
    records = _recognised(path, records_of(path, progress), format, needs)
    return extracted_rows(not_empty(path, records), extract)


def records_of(path: Path, progress: Progress) -> Iterator[Row]:
    """Of a Parquet file by its name, of a JSON list by its first character, else of lines."""
    if path.name.lower().endswith(".parquet"):
        return parquet_rows(path, progress)
    if first_sign(path) == "[":
        return (_element_row(number, one) for number, one in enumerate(elements(path, progress), 1))
    return json_rows(path, progress, longest=LONGEST_RECORD)


def _element_row(number: int, value: object) -> Row:
    excerpt = str(value)[:EXCERPT]
    match value:
        # ELI5's scripts keep posts as pairs of id and post.
        case dict(record) | [str(), dict(record)]:
            return Row(number, record, excerpt=excerpt)
    return Row(number, {}, f"the entry is not an object but {json_type(value)}", excerpt)


def extracted_rows(records: Iterator[Row], extract: Extract) -> Iterator[Row]:
    for row in records:
        if row.fault:
            yield row
            continue
        try:
            for extracted in extract(row.fields):
                if isinstance(extracted, Skip):
                    yield Row(row.line, {}, skip=extracted.reason)
                else:
                    yield Row(row.line, extracted, excerpt=row.excerpt)
        except RowFault as fault:
            yield Row(row.line, {}, str(fault), row.excerpt)


def _recognised(
    path: Path, records: Iterator[Row], format: str, needs: Sequence[Column]
) -> Iterator[Row]:
    unknown = True
    for row in records:
        if unknown and not row.fault:
            check_names(path, row.fields, format=format, needs=needs)
            unknown = False
        yield row


def check_names(path: Path, record: Record, *, format: str, needs: Sequence[Column]) -> None:
    if missing := [" or ".join(names) for names in needs if not any(n in record for n in names)]:
        expected = ", ".join(" or ".join(names) for names in needs)
        lack = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing here"
        if len(missing) == len(needs):
            lack = "none of these is here"
        names = ", ".join(map(str, record))[:EXCERPT] or "nothing"
        raise UserError(
            f"{path} is not in the format {format}: its rows have {expected}, but {lack} (found: "
            f"{names})."
        )


def pairs_of(record: Record, *, question: object, answers: Sequence[object]) -> Iterator[Extracted]:
    """One pair for each answer; the record's id stands for the first one."""
    scores = {
        name: value
        for name, value in record.items()
        if isinstance(value, int | float) and name not in RESERVED
    }
    first = record.get("id")
    for number, answer in enumerate(answers, 1):
        yield scores | {"question": question, "answer": answer, "id": numbered(first, number)}
    if not answers:
        yield Skip(NO_ANSWER)


def numbered(first: object, number: int) -> object:
    """The id of a question's further answers: 7, 7#2, 7#3. None stays None: the content is one."""
    if number == 1 or not isinstance(first, int | str):
        return first
    return f"{first}#{number}"


def a_list(record: Record, name: str) -> list[object]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RowFault(f"the {name} is not a list but {json_type(value)}")
    return value


def an_object(value: object, name: str) -> Record:
    if not isinstance(value, Mapping):
        raise RowFault(f"the {name} is not an object but {json_type(value)}")
    return value
