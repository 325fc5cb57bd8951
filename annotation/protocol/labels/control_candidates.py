"""Which judged triplets would make good controls: clear, simple, and beyond dispute.

A control fails workers who answer otherwise, so nothing is left to taste here:

1. All valid votes say the same: three at least, or two of workers who are known to be steady, or
   two and an expert. No expert says otherwise.
2. The texts are short, and there is an answer.
3. Of a positive, query and question are not the same text, which would tell the control at a
   glance, yet share at least half of the words of the shorter one: plain wording, not a lucky
   guess. Of a negative, they share some words, for the topic is the same, and not most of them.

A person has the last word: nothing that is proposed is shown to a worker before.
"""

from __future__ import annotations

import re
from collections.abc import Collection

VOTES = 3  # that agree are enough, of any workers
STEADY_VOTES = 2  # are enough of steady workers, or with an expert's Yes
STEADY_SHARE = 0.9  # of a steady worker's votes are as the label
STEADY_JUDGED = 20  # labelled triplets, before a worker can be called steady
LONGEST_QUESTION = 200  # characters
LONGEST_ANSWER = 600
LEAST_SHARED = 0.5  # of the words of the shorter text, in a positive
MOST_SHARED = 0.7  # in a negative

_WORD = re.compile(r"\w+")


def is_steady(judged: int, agreed: int) -> bool:
    return judged >= STEADY_JUDGED and agreed >= STEADY_SHARE * judged


def is_beyond_dispute(*, votes: int, positive: int, is_confirmed: bool) -> bool:
    """`is_confirmed`: by steady workers alone, or by an expert."""
    return positive in (0, votes) and votes >= (STEADY_VOTES if is_confirmed else VOTES)


def is_short(query: str, question: str, answer: str, *, label: int = 1) -> bool:
    """Where people judge the answer, agreement says all else: no words need be shared."""
    longest = max(len(query), len(question))
    return longest <= LONGEST_QUESTION and len(answer.strip()) > 0 and len(answer) <= LONGEST_ANSWER


def is_clear(query: str, question: str, answer: str, *, label: int = 1) -> bool:
    if not is_short(query, question, answer):
        return False
    ours, theirs = words_of(query), words_of(question)
    if ours == theirs:
        return False
    share = shared(ours, theirs)
    return share >= LEAST_SHARED if label else 0 < share <= MOST_SHARED


def shared(ours: Collection[str], theirs: Collection[str]) -> float:
    """The share of the shorter text's different words that the other one has, too."""
    one, other = set(ours), set(theirs)
    shorter = min(len(one), len(other))
    return len(one & other) / shorter if shorter else 0.0


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
