"""The same question in other words, by rules that keep the meaning of nearly any English question.

A rule applies only where the corpus talks like that: a rewording should sound like its questions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

HOW = (
    "how do i | how can i | how to | how do you | how can you | how do we | how can we | "
    "how does one | how can one"
)
BEST = (
    "what is the best way to | what's the best way to | best way to | what should i do to | "
    "what do i have to do to"
)
# The openings of a line ask for the same: any may come in the place of any other.
OPENINGS = tuple(
    tuple(line.split(" | "))
    for line in (
        " | ".join((HOW, BEST)),
        "what is | what's | tell me what is",
        "what are | which are | tell me what are",
        "what are the | the | which are the",
        "what is the | what's the | the",
        "what are some | which are some | some",
        "what causes | what is the cause of | what are the causes of | causes of | what can cause",
        "who is | who's",
        "where can i | where do i | where could i | where should i",
        "can i | is it possible to | am i able to | could i | is it possible for me to | may i",
        "is it possible to | is there a way to | is there any way to | can i",
        "is there a way to | is there any way to | is it possible to",
        "i need to | i want to | i would like to | i'd like to",
        "does anyone know | do you know",
        "what happens if | what will happen if | what would happen if",
        "should i | is it advisable to | would it be wise to",
        "how long does it take to | how much time does it take to | how long will it take to",
        "will | would",
        "what kind of | what type of | which kind of | which type of",
        "what type of | what kind of | which type of | which kind of",
    )
)
# Whole words that mean the same in nearly any question.
WORDS = tuple(
    tuple(line.split(" | "))
    for line in (
        "buy | purchase",
        "big | large",
        "begin | start",
        "kids | children",
        "auto insurance | car insurance | vehicle insurance",
        "homeowners insurance | home insurance",
        "fix | repair",
        "choose | select | pick",
        "change | modify",
        "decrease | reduce",
        "wrong | incorrect",
        "allowed | permitted",
        "top up | topup | top-up",
        "photo | picture",
        "usually | normally",
        "happens | occurs",
        "film | movie",
        "movies | films",
        "company | firm",
        "companies | firms",
        "inherited | hereditary",
        "genetic changes | gene mutations",
        "symptoms | signs and symptoms",
        "treatments | therapies",
        "cost | cost approximately",
        "people affected by | people with",
        "sign up for | enroll in",
        "annual | yearly",
        "im | i'm | i am",
        "i've | i have",
        "i'd | i would",
        "it's | it is",
        "what's | what is",
        "cannot | can't | can not",
        "u.s. | usa | united states | us",
        "get rid of | remove",
        "lose weight | reduce weight",
        "make money | earn money",
        "quickly | fast",
        "difference between | differences between",
        "different from | different than",
        "haven't | have not",
        "my card | the card | my bank card",
        "my account | the account | my bank account",
        "stolen | taken",
        "cash withdrawal | withdrawal of cash",
        "exchange rate | conversion rate",
        "currencies | kinds of currency",
        "charged | billed",
        "declined | refused | rejected",
        "verify | confirm",
        "identity | id",
        "passcode | pin code",
    )
)
CONDITION_WORDS = ("if", "when", "after", "before", "without", "while", "during", "because")
LEAST_HEARD = 2  # questions of the corpus that have a word, or begin with an opening
LONGEST_OPENING = 7  # words
MOST_TITLE = 0.7  # of the words begin with a capital letter: then all of them do

_WORD = re.compile(r"[\w'.-]*\w")
_CONDITION = re.compile(
    rf"([^.?!]{{12,}}?\w)\s+((?:{'|'.join(CONDITION_WORDS)})\s+[^,?.!]{{6,}}?)([?.!\s]*)",
    re.IGNORECASE,
)
_OF = re.compile(
    r"(?:what|which) (?:is|are) (?:the )?(\w+(?: \w+){0,2}) ((?:of|for|to) .+)", re.IGNORECASE
)
_PASSIVE = re.compile(
    r"(how|why|where|when) (is|are|was|were) (.+) "
    r"(\w+ed|built|done|found|known|made|seen|\w+ten)\b(.*)",
    re.IGNORECASE,
)
_SUBJECT = "i|you|we|it|he|she|they|there|this|that|one|my|your|any|anyone|some|a|an"
_ASKING = re.compile(rf"(?:do|does|is|are|can|will) (?!(?:{_SUBJECT})\b)(.+)", re.IGNORECASE)
_ARTICLE = re.compile(r"(?<=\s)(?:the|a|an)\s", re.IGNORECASE)


@dataclass(frozen=True)
class Style:
    """How the questions of a corpus sound: words, up to three in a row, and openings."""

    words: Counter[str]
    openings: Counter[str]

    @classmethod
    def of(cls, questions: Iterable[str]) -> Style:
        words, openings = Counter[str](), Counter[str]()
        for question in questions:
            own = _WORD.findall(question.casefold())
            words.update(chain(own, map(" ".join, pairwise(own)), _threes(own)))
            openings.update(" ".join(own[:size]) for size in range(1, LONGEST_OPENING + 1))
        return cls(words, openings)


def _threes(words: list[str]) -> Iterator[str]:
    return (" ".join(words[start : start + 3]) for start in range(len(words) - 2))


def rewordings(question: str, style: Style) -> list[str]:
    """All that the rules make, those with the fewest words in common first."""
    worded = {question}
    for rule in (
        _other_opening,
        _other_words,
        _condition_first,
        _stated,
        _asked_briefly,
        _without_articles,
    ):
        worded |= {_as_written(text, question) for one in worded for text in rule(one, style)}
    bare = _WORD.findall(question.casefold())
    others = {text for text in worded if _WORD.findall(text.casefold()) != bare}
    return sorted(others, key=lambda text: (_in_common(question, text), text))


def _in_common(one: str, other: str) -> float:
    ours, theirs = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return len(ours & theirs) / len(ours | theirs)


def _other_opening(question: str, style: Style) -> Iterator[str]:
    for line in OPENINGS:
        own = next((one for one in line if question.casefold().startswith(f"{one} ")), None)
        if own:
            rest = question[len(own) :]
            heard = (one for one in line if style.openings[one] >= LEAST_HEARD)
            yield from (other + rest for other in heard if other != own)


def _other_words(question: str, style: Style) -> Iterator[str]:
    for line in WORDS:
        # The longest first: "pin code" is no "pin".
        either = "|".join(map(re.escape, sorted(line, key=len, reverse=True)))
        match = re.search(rf"(?<![\w'-])(?:{either})(?![\w'-])", question, re.IGNORECASE)
        if match:
            heard = (one for one in line if style.words[one] >= LEAST_HEARD)
            others = (one for one in heard if one != match[0].casefold())
            yield from (question[: match.start()] + one + question[match.end() :] for one in others)


def _condition_first(question: str, style: Style) -> Iterator[str]:
    if match := _CONDITION.fullmatch(question):
        main, condition, end = match.groups()
        begin = main if re.match(r"I\b", main) else main[:1].lower() + main[1:]
        yield f"{condition}, {begin}{end}"


def _stated(question: str, style: Style) -> Iterator[str]:
    """In the order of a statement, as many learners of English ask."""
    if match := _PASSIVE.fullmatch(question):
        asked, is_, subject, verb, end = match.groups()
        yield f"{asked} {subject} {is_} {verb}{end}"


def _asked_briefly(question: str, style: Style) -> Iterator[str]:
    """As people type into a search box."""
    for asked in (_OF, _ASKING):
        if match := asked.fullmatch(question):
            yield " ".join(match.groups())


def _without_articles(question: str, style: Style) -> Iterator[str]:
    if _ARTICLE.search(question):
        yield _ARTICLE.sub("", question)


def _as_written(text: str, like: str) -> str:
    """In capitals where the other begins each word, or itself, with one."""
    words = like.split()
    if sum(word[:1].isupper() for word in words) > MOST_TITLE * len(words):
        return " ".join(word[:1].upper() + word[1:] for word in text.split())
    if like[:1].isupper():
        text = re.sub(r"\bi\b", "I", text)
        return text[:1].upper() + text[1:]
    return text
