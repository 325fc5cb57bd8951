"""Controls proposed from a campaign's own queries and corpus: a person has the last word on each.

A positive is the query with a question that asks the same: a near copy (another question of the
corpus with the query's own answer, word for word), or a rewording of the query.

A negative is the query with a question of ranks far below its candidates: of the same topic, yet
another question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from annotation.protocol.labels.control_candidates import (
    LONGEST_QUESTION,
    MOST_SHARED,
    shared,
    words_of,
)
from annotation.protocol.labels.rewordings import ANY_STYLE, Style, rewordings

# Of ranks as many times the candidates': a question there that asks the same is rare.
FIRST_NEGATIVE, LAST_NEGATIVE = 6, 8
MOST_OF_ONE_ANSWER = 5  # questions; an answer that more of them share says little of each
OF_EACH_KIND = 8  # drafts for one query

Kind = Literal["positive", "negative"]
Origin = Literal["copy", "rewording", "rank"]


@dataclass(frozen=True, slots=True)
class Pair:
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Draft:
    kind: Kind
    origin: Origin
    question: str
    answer: str


@dataclass(frozen=True)
class Ranked:
    """What is known of a query: its own answer, if the corpus has it, and what search ranks."""

    query: str
    answer: str
    candidates: Sequence[Pair]
    below: Sequence[Pair]  # the ranks that follow the candidates


def draft(ranked: Ranked, style: Style, answers: Mapping[str, int]) -> list[Draft]:
    """`answers`: how many questions of the corpus have each. The best drafts first."""
    return [*_positives(ranked, style, answers), *_negatives(ranked, answers)]


def _positives(ranked: Ranked, style: Style, answers: Mapping[str, int]) -> list[Draft]:
    own = ranked.answer
    if not own.strip():
        return []
    copies = [pair.question for pair in ranked.below if pair.answer == own]
    made = rewordings(ranked.query, style)
    if len(made) < OF_EACH_KIND:
        made += [text for text in rewordings(ranked.query, ANY_STYLE) if text not in made]
    drafts = [
        *(Draft("positive", "copy", question, own) for question in copies if _tells(own, answers)),
        *(Draft("positive", "rewording", question, own) for question in made),
    ]
    return _fitting(drafts, ranked.candidates)


def _negatives(ranked: Ranked, answers: Mapping[str, int]) -> list[Draft]:
    depth = len(ranked.candidates)
    # Of a small corpus, the last quarter.
    first = min((FIRST_NEGATIVE - 1) * depth, 3 * len(ranked.below) // 4)
    far = ranked.below[first : (LAST_NEGATIVE - 1) * depth]
    said = {ranked.answer, *(pair.answer for pair in ranked.candidates)}
    words = words_of(ranked.query)
    drafts = [
        Draft("negative", "rank", pair.question, pair.answer)
        for pair in far
        if shared(words, words_of(pair.question)) <= MOST_SHARED
        and not (pair.answer in said and _tells(pair.answer, answers))
    ]
    return _fitting(drafts, ranked.candidates)


def _tells(answer: str, answers: Mapping[str, int]) -> bool:
    return answers.get(answer, 0) <= MOST_OF_ONE_ANSWER


def _fitting(drafts: Iterable[Draft], candidates: Iterable[Pair]) -> list[Draft]:
    """Short ones that no candidate shows, each question once."""
    seen = {normalised(pair.question) for pair in candidates}
    fitting = []
    for one in drafts:
        question = normalised(one.question)
        if question not in seen and len(one.question) <= LONGEST_QUESTION and one.answer.strip():
            seen.add(question)
            fitting.append(one)
    return fitting[:OF_EACH_KIND]


def normalised(text: str) -> str:
    return " ".join(words_of(text))
