"""What people asked and answered on the web: ELI5, WikiAnswers, Quora, WQA and WikiQA."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from core.errors import UserError
from core.files.rows import EXCERPT, Row, RowFault, not_empty, read_lines
from core.progress import Progress
from retrieval.corpus.sources.records import (
    LONGEST_RECORD,
    NO_ANSWER,
    Extracted,
    Record,
    Skip,
    a_list,
    an_object,
    check_names,
    extracted_rows,
    numbered,
    pairs_of,
)

REMOVED = "the answer was removed by its writer or a moderator"
REMOVED_TEXTS = ("", "[deleted]", "[removed]")
# Stands between a post's title and its text in the files that ELI5's scripts end with.
TITLE_END = " --T-- "
WIKIQA_COLUMNS = (("QuestionID",), ("Question",), ("SentenceID",), ("Sentence",), ("Label",))
NOT_RIGHT = "labelled 0: not a right answer"


def eli5(record: Record) -> Iterator[Extracted]:
    """Of ELI5's scripts, before and after they choose documents, or of the `datasets` library."""
    if "title" not in record:
        return _finished(record)
    if "comments" in record:
        comments = [an_object(one, "comment") for one in a_list(record, "comments")]
        texts, scores = [c.get("body") for c in comments], [c.get("score") for c in comments]
    else:
        columns = an_object(record.get("answers"), "answers")
        texts, scores = a_list(columns, "text"), a_list(columns, "score")
    title, first = _text(record["title"]), record.get("q_id", record.get("id"))
    answers = list(itertools.zip_longest(map(_text, texts), scores[: len(texts)]))
    return _answered(title, first, answers)


def _finished(record: Record) -> Iterator[Extracted]:
    """The question is title and text together, and of the answers only the best one is left."""
    question, answer = record.get("question"), record.get("answer")
    if isinstance(question, str):
        question = question.split(TITLE_END)[0]
    if answer in REMOVED_TEXTS:
        return iter([Skip(REMOVED)])
    return pairs_of(record, question=question, answers=[answer])


def _answered(
    title: object, first: object, answers: list[tuple[object, object]]
) -> Iterator[Extracted]:
    if not answers:
        yield Skip(NO_ANSWER)
    for number, (text, score) in enumerate(answers, 1):
        if text in REMOVED_TEXTS:
            yield Skip(REMOVED)
        else:
            row = {"question": title, "answer": text, "id": numbered(first, number)}
            yield row | {"score": score}


def _text(value: object) -> object:
    """The scripts keep a text as [text, addresses in it]."""
    return value[0] if isinstance(value, list) and value else value


def read_wikianswers(path: Path, progress: Progress) -> Iterator[Row]:
    """A cluster a line: its first question with each of its answers."""
    lines = enumerate(read_lines(path, progress, longest=LONGEST_RECORD), 1)
    clusters = (
        Row(number, {"items": _items(path, number, line)}, excerpt=line[:EXCERPT])
        for number, line in lines
        if line.strip()
    )
    return not_empty(path, extracted_rows(clusters, _wikianswers))


def _items(path: Path, number: int, line: str) -> list[str]:
    items = [item for item in line.rstrip("\r\n").split("\t") if item.strip()]
    if number == 1 and not items[0].startswith(("q:", "a:")):
        raise UserError(
            f"{path} is not in the format wikianswers: its lines are clusters of q: and a: items "
            f"with tabs between them, but the first one begins with {items[0][:40]!r}."
        )
    return items


def _wikianswers(record: Record) -> Iterator[Extracted]:
    items = [str(item) for item in a_list(record, "items")]
    if any(not item.startswith(("q:", "a:")) for item in items):
        raise RowFault("an item begins with neither q: nor a:")
    questions = [item[2:] for item in items if item.startswith("q:")]
    answers = [item[2:] for item in items if item.startswith("a:") and item[2:].strip()]
    if not questions:
        raise RowFault("the cluster has no question")
    if not answers:
        return iter([Skip("the cluster has no answer")])
    return pairs_of({}, question=questions[0], answers=answers)


def read_wikiqa(path: Path, progress: Progress) -> Iterator[Row]:
    return extracted_rows(wikiqa_rows(path, progress), _wikiqa)


def wikiqa_rows(path: Path, progress: Progress) -> Iterator[Row]:
    lines = read_lines(path, progress)
    header = next(lines, "").rstrip("\r\n").split("\t")
    check_names(path, dict.fromkeys(header), format="wikiqa", needs=WIKIQA_COLUMNS)
    return not_empty(path, unquoted_rows(enumerate(lines, 2), header))


def unquoted_rows(lines: Iterable[tuple[int, str]], columns: Sequence[str]) -> Iterator[Row]:
    """Quotes mean nothing in these files: a line is a row, a tab ends a column."""
    for number, line in lines:
        values, excerpt = line.rstrip("\r\n").split("\t"), line[:EXCERPT]
        if len(values) == len(columns):
            yield Row(number, dict(zip(columns, values, strict=True)), excerpt=excerpt)
        else:
            fault = f"the row has {len(values)} columns, the header {len(columns)}"
            yield Row(number, {}, fault, excerpt)


def _wikiqa(record: Record) -> Iterator[Extracted]:
    # A sentence may be a candidate of two questions.
    both = f"{record['QuestionID']}/{record['SentenceID']}"
    return labelled(
        {
            "question": record["Question"],
            "answer": record["Sentence"],
            "label": record["Label"],
            "id": both,
        }
    )


def labelled(record: Record) -> Iterator[Extracted]:
    """Candidates of which those labelled 1 are right."""
    label = record.get("label")
    if str(label).strip() not in ("0", "1", "0.0", "1.0"):
        raise RowFault(f"the label is neither 0 nor 1 but {str(label)[:40]!r}")
    yield Skip(NOT_RIGHT) if str(label).strip().startswith("0") else record


def quora_pairs(record: Record) -> Iterator[Extracted]:
    """Each of the two questions with the answer that was joined to it, `answer1` and `answer2`."""
    for side in ("1", "2"):
        if f"answer{side}" not in record:
            continue
        own = {name[:-1]: value for name, value in record.items() if name.endswith(side)}
        if not str(own["answer"] or "").strip():
            yield Skip(NO_ANSWER)
        else:
            yield own | {"id": own.get("qid")}


def quora_match(record: Record) -> Iterator[Extracted]:
    """The answers are those to the second question."""
    answer = record.get("answer", record.get("answer2"))
    if not str(answer or "").strip():
        yield Skip(NO_ANSWER)
    else:
        yield {**record, "question": record.get("question2"), "answer": answer}
