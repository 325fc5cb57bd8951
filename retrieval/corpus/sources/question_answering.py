"""Records of question answering: GooAQ, PAQ, Natural Questions, HotpotQA, SQuAD."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from core.files.rows import EXCERPT, Row, RowFault, not_empty
from core.progress import Progress
from retrieval.corpus.sources.json_stream import member_elements
from retrieval.corpus.sources.records import (
    Extracted,
    Record,
    Skip,
    a_list,
    an_object,
    extracted_rows,
    pairs_of,
)

# How GooAQ writes a list of steps: as Python prints a list of texts.
ITEM = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
PRINTED_LIST = re.compile(rf"\[(?:{ITEM})(?:, (?:{ITEM}))*\]")
PRINTED_ITEM = re.compile(ITEM)
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5}|0010[0-9a-f]{4})|(.))")
SPACES = {"n": "\n", "r": "\r", "t": "\t"}


def gooaq(record: Record) -> Iterator[Extracted]:
    answer = record.get("answer") or record.get("short_answer")
    if isinstance(answer, str) and PRINTED_LIST.fullmatch(answer):
        answer = " ".join(_unescaped(item[1:-1]) for item in PRINTED_ITEM.findall(answer))
    return pairs_of(record, question=record.get("question"), answers=[answer] if answer else [])


def _unescaped(item: str) -> str:
    def sign(match: re.Match[str]) -> str:
        if code := match[1] or match[2] or match[3]:
            return chr(int(code, 16))
        return SPACES.get(match[4], match[4])

    return ESCAPE.sub(sign, item)


def open_answers(record: Record) -> Iterator[Extracted]:
    """Of NQ-open and PAQ: equally right ones; PAQ's metadata has a single text instead."""
    answer = record.get("answer")
    if isinstance(answer, str) and "passage_score" in record:
        answers: list[object] = [answer]
    else:
        answers = a_list(record, "answer")
    return pairs_of(record, question=record.get("question"), answers=answers)


def hotpotqa(record: Record) -> Iterator[Extracted]:
    answer = record.get("answer")
    with_id = {**record, "id": record.get("_id", record.get("id"))}
    return pairs_of(with_id, question=record.get("question"), answers=[answer] if answer else [])


def natural_questions(record: Record) -> Iterator[Extracted]:
    """Of each annotation the short answer, else yes or no, else the long answer."""
    tokens = _tokens(record)
    annotations = (an_object(one, "annotation") for one in a_list(record, "annotations"))
    answers = [answer for one in annotations if (answer := _annotated(one, tokens))]
    with_id = {"id": record.get("example_id")}
    return pairs_of(with_id, question=record.get("question_text"), answers=answers)


def _tokens(record: Record) -> list[tuple[str, bool]]:
    """Each with whether it is a tag of HTML."""
    text = record.get("document_text")
    if isinstance(text, str):
        return [(word, word[:1] == "<" and word[-1:] == ">") for word in text.split(" ")]
    tokens = (an_object(one, "document_token") for one in a_list(record, "document_tokens"))
    return [(str(one.get("token", "")), bool(one.get("html_token"))) for one in tokens]


def _annotated(annotation: Record, tokens: list[tuple[str, bool]]) -> str:
    short = [
        _span(an_object(one, "short_answer"), tokens) for one in a_list(annotation, "short_answers")
    ]
    if any(short):
        return ", ".join(filter(None, short))
    if annotation.get("yes_no_answer") in ("YES", "NO"):
        return str(annotation["yes_no_answer"]).capitalize()
    return _span(an_object(annotation.get("long_answer"), "long_answer"), tokens)


def _span(span: Record, tokens: list[tuple[str, bool]]) -> str:
    start, end = span.get("start_token"), span.get("end_token")
    if not isinstance(start, int) or not isinstance(end, int):
        raise RowFault("an answer has no start_token and end_token")
    if start < 0:  # how the annotators' "none" is written
        return ""
    return " ".join(token for token, tag in tokens[start:end] if not tag)


def read_squad(path: Path, progress: Progress) -> Iterator[Row]:
    """SQuAD 1.1 and 2.0; a row's line is the number of its question in the document."""
    articles = member_elements(path, "data", 'a SQuAD document ({"data": [...]})', progress)
    questions = itertools.chain.from_iterable(map(_questions, articles))
    rows = (
        Row(number, record, fault, str(record.get("question", ""))[:EXCERPT])
        for number, (record, fault) in enumerate(questions, 1)
    )
    return not_empty(path, extracted_rows(rows, _squad))


def _questions(article: object) -> Iterator[tuple[Record, str]]:
    """What is wrong with a part stands in for the questions that follow in the article."""
    try:
        for paragraph in a_list(an_object(article, "article"), "paragraphs"):
            for one in a_list(an_object(paragraph, "paragraph"), "qas"):
                yield an_object(one, "question"), ""
    except RowFault as fault:
        yield {}, str(fault)


def _squad(record: Record) -> Iterator[Extracted]:
    if record.get("is_impossible"):
        return iter([Skip("the question is unanswerable")])
    answers = [an_object(one, "answer").get("text") for one in a_list(record, "answers")]
    return pairs_of({"id": record.get("id")}, question=record.get("question"), answers=answers)
