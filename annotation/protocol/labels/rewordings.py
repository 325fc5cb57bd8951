"""The same question in other words, by rules that keep the meaning of nearly any English question.

A rule applies only where the corpus talks like that: a rewording should sound like its questions.
`ANY_STYLE` lifts that, for questions of which it leaves too few: what comes back gives itself away
at once, odd words only by and by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
        "what is | what's",
        "what are | which are",
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
        "can you | is it possible to | is there a way to",
        "do i need to | do i have to | must i | am i required to",
        "do you have to | do you need to | must you | do i have to",
        "why do | how come | for what reason do",
        "when does | at what point does | at what time does",
        "when do | at what point do | at what time do",
        "when can | at what point can",
        "when should | at what point should",
        "when will | how soon will",
        "how expensive is | what is the price of | what is the cost of",
        "how many | what number of",
        "how often | how frequently",
        "what are some good | which are some good | what are good",
        "what are the best | which are the best | what are some of the best",
        "what is the best | which is the best | what's the best",
        "what are the symptoms of | what are the signs of",
        "is there any | is there some",
        "are there any | are there",
        "are there | are there any",
        "i need | i want",
        "why did | for what reason did",
        "what kind of | what type of | which kind of | which type of",
        "what type of | what kind of | which type of | which kind of",
    )
)
TARGETS_ONLY = ("the", "some", "how come")  # what follows may be a statement
# Whole words that mean the same in nearly any question.
WORDS = tuple(
    tuple(line.split(" | "))
    for line in (
        "to buy | to purchase",
        "i buy | i purchase",
        "you buy | you purchase",
        "buying | purchasing",
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
        "i'd | i would",
        "what's | what is",
        "cannot | can't | can not",
        "u.s. | usa | united states",
        "get rid of | remove",
        "lose weight | reduce weight",
        "make money | earn money",
        "quickly | fast",
        "different from | different than",
        "haven't | have not",
        "my card | the card | my bank card",
        "my account | the account | my bank account",
        "cash withdrawal | withdrawal of cash",
        "exchange rate | conversion rate",
        "currencies | kinds of currency",
        "charged | billed",
        "declined | refused | rejected",
        "verify | confirm",
        "identity | id",
        "passcode | pin code",
        "isn't | is not",
        "aren't | are not",
        "doesn't | does not",
        "don't | do not",
        "didn't | did not",
        "wasn't | was not",
        "won't | will not",
        "wouldn't | would not",
        "couldn't | could not",
        "hasn't | has not",
        "need to | have to",
        "want to | would like to",
        "way to | method to",
        "ways to | methods to",
        "tips | advice",
        "famous | well known",
        "rich | wealthy",
        "improve | enhance",
        "country | nation",
        "countries | nations",
        "people | persons",
        "phone number | telephone number",
        "phone | mobile | mobile phone",
        "nowadays | these days",
        "currently | right now | at the moment",
        "information about | information on | information regarding",
        "per day | each day | every day",
        "per month | each month | every month",
        "per year | each year | every year",
        "the main | the major",
        "expensive | costly",
        "affordable | cheap | inexpensive",
        "required | needed",
        "average | typical",
        "term life insurance | term insurance | term life",
        "whole life insurance | whole life",
        "life insurance | life insurance coverage | life insurance policy | life coverage",
        "health insurance | medical insurance | health insurance coverage | health coverage",
        "renters insurance | renter's insurance",
        "disability insurance | disability coverage",
        "insurance companies | insurers | insurance carriers",
        "insurance company | insurer | insurance carrier",
        "qualify for | be eligible for",
        "any fees | any charges",
        "fee for | charge for",
        "a refund | my money back",
        "atm | cash machine",
        "not working | not functioning",
        "lost my | misplaced my",
        "related to | associated with",
        "affected by | living with",
        "prevent | avoid",
    )
)
CONDITION_WORDS = ("if", "when", "after", "before", "without", "while", "during", "because")
LEAST_HEARD = 2  # questions of the corpus that have a word, or begin with an opening
LONGEST_OPENING = 7  # words
MOST_REWORDINGS = 16  # of one question
MOST_RULES = 2  # that make one rewording: each may make it odder
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
# Of "and" and "or", nobody can tell what they join; a second preposition may belong to either.
_PHRASE = r"(?:(?!(?:and|or|that|to|i|you|we|is|are|was|be|do|does)\b)[\w'-]+ ?){1,5}"
_PLACE = re.compile(
    r"((?:[\w'-]+ ){3,}[\w'-]+) "
    rf"((?:in|on|at|for|from|under|during|after) {_PHRASE})([?.!\s]*)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(rf"\s(?:{'|'.join(CONDITION_WORDS)}|that|which|who)\s", re.IGNORECASE)
_HAS = re.compile(
    r"((?:what|which) (?:is|are)) (?:the )?"
    r"(?!(?:ways?|kinds?|types?|sorts?|number|amount|some|all|rest|one|name|names)\b)(\w+) "
    r"(?:of|for) (?!\w+ing\b)"
    r"((?:(?!(?:and|or|that|to|of|i|you|we|is|are|was|be|do|does)\b)[\w'-]+ ?){1,7})([?.!\s]*)",
    re.IGNORECASE,
)
FRAMES = (
    "can you tell me",
    "could you tell me",
    "please tell me",
    "tell me",
    "i want to know",
    "i would like to know",
    "do you know",
    "does anyone know",
    "i need to know",
)
_WH = re.compile(r"(what|how|why|when|where|who|which)\b.*", re.IGNORECASE)
# Behind "tell me", English puts the verb last: "tell me how hot the water should be".
_INVERTED = re.compile(
    r"\w+(?:'s\b| (?:[\w'-]+ ){0,4}(?:is|are|was|were|do|does|did|can|could|will|would|shall"
    r"|should|may|might|must|has|have|had)\b)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"(what|how|why|when|where|who) ((?:is|are|was|were|does|do|did|can|will|should|to)\b.*)",
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


class _Everything(Counter[str]):
    def __missing__(self, key: str) -> int:
        return LEAST_HEARD


ANY_STYLE = Style(_Everything(), _Everything())  # as if the corpus said all there is


def rewordings(question: str, style: Style) -> list[str]:
    """What the rules make, those with the fewest words in common first."""
    worded = {question: 0}  # with how many rules made it
    for rule in (
        _other_opening,
        _other_words,
        _condition_first,
        _place_first,
        _whose,
        _framed,
        _exactly,
        _stated,
        _asked_briefly,
        _without_articles,
    ):
        made = {
            _as_written(text, question): rules + 1
            for one, rules in worded.items()
            if rules < MOST_RULES
            for text in rule(one, style)
        }
        worded = made | worded
    bare = _WORD.findall(question.casefold())
    others = {text for text in worded if _WORD.findall(text.casefold()) != bare}
    return _apart(question, sorted(others))


def _apart(question: str, texts: Sequence[str]) -> list[str]:
    """Each has as few words in common as may be with the question and with all before it.

    Rewordings that are like one another give each other away.
    """
    words = {text: _words_and_pairs(text) for text in (question, *texts)}
    nearest = dict.fromkeys(texts, 0.0)
    chosen = [question]
    while nearest and len(chosen) <= MOST_REWORDINGS:
        for text in nearest:
            nearest[text] = max(nearest[text], _in_common(words[text], words[chosen[-1]]))
        chosen.append(min(nearest, key=lambda text: nearest[text]))
        del nearest[chosen[-1]]
    return chosen[1:]


def _words_and_pairs(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {*words, *map(" ".join, pairwise(words))}


def _in_common(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


def _other_opening(question: str, style: Style) -> Iterator[str]:
    for line in OPENINGS:
        own = next((one for one in line if question.casefold().startswith(f"{one} ")), None)
        if own and own not in TARGETS_ONLY:
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
            before, after = question[: match.start()], question[match.end() :]
            yield from (_with_article(before, one) + one + after for one in others)


def _with_article(before: str, word: str) -> str:
    """ "a car" becomes "an auto"; of "u" nobody can tell by the letter."""
    article = "an" if word[0] in "aeio" else "a"
    return re.sub(r"\ban? $", f"{article} ", before, flags=re.IGNORECASE)


def _condition_first(question: str, style: Style) -> Iterator[str]:
    if match := _CONDITION.fullmatch(question):
        main, condition, end = match.groups()
        begin = main if re.match(r"I\b", main) else main[:1].lower() + main[1:]
        yield f"{condition}, {begin}{end}"


def _place_first(question: str, style: Style) -> Iterator[str]:
    match = _PLACE.fullmatch(question)
    if match and not _CLAUSE.search(match[1]):  # the place would be that of the whole
        main, place, end = match.groups()
        begin = main if re.match(r"I\b", main) else main[:1].lower() + main[1:]
        yield f"{place.strip()}, {begin}{end}"


def _whose(question: str, style: Style) -> Iterator[str]:
    """The symptoms of flu as flu's symptoms, and as the flu symptoms."""
    if match := _HAS.fullmatch(question):
        asked, what, owner, end = match.groups()
        yield f"{asked} {owner.strip()}'s {what}{end}"
        yield f"{asked} {owner.strip()} {what}{end}"


def _framed(question: str, style: Style) -> Iterator[str]:
    """Only by words with which the corpus asks such a question, in the order of its words."""
    match = _WH.fullmatch(question)
    if match and not (style is ANY_STYLE and _INVERTED.match(question)):
        asked = question[:1].lower() + question[1:]
        yield from (
            f"{frame} {asked}"
            for frame in FRAMES
            if style.openings[f"{frame} {match[1].casefold()}"] >= LEAST_HEARD
        )


def _exactly(question: str, style: Style) -> Iterator[str]:
    match = _ASKED.fullmatch(question)
    if match and "exactly" not in question.casefold():
        asked, rest = match.groups()
        if style.openings[f"{asked.casefold()} exactly"] >= LEAST_HEARD:
            yield f"{asked} exactly {rest}"


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
