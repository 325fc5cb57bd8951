"""The words in which two questions differ, for a reader who compares them.

Texts that share less than two thirds of their words get no marks at all: a paraphrase differs in
nearly every word, and a wall of marks says less than the bare texts. Case and punctuation are no
difference, the order of the words is.
"""

import unicodedata
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise

LONGEST = 3_000  # characters of a text; beyond it nobody compares by eye
MOST_CELLS = 40_000  # of the table of two times 200 words, which takes some 10 ms
LEAST_SHARED = Fraction(2, 3)  # of the words, wherever they stand
LEAST_KEPT = Fraction(2, 5)  # of the words, in the same order

# Scripts that put no spaces between words: each of their characters counts as a word.
_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x3FFFF),
)
_APOSTROPHES = "'\u2019\u02bc"
_IN_NUMBERS = ".,:/"
_SIGNS = "-\u2212+"  # \u2212: the minus of typesetters
_SPEAKING = "#%‰&@"  # punctuation by its category, a word by its meaning: C#, 5 %
_ACCENTS = "^`\u00b4\u00a8\u00af\u00b8\u02d9\u02da\u02db"  # standing alone


@dataclass(frozen=True)
class Part:
    """A stretch of a text; the parts of a text, joined, are the text."""

    text: str
    differs: bool


@dataclass(frozen=True)
class _Word:
    start: int
    end: int
    norm: str


def as_judged(query: str, question: str, *, marked: bool) -> tuple[list[Part], list[Part]]:
    """As people who judge them see them; `marked`: the policy's `mark_differences`."""
    return mark_differences(query, question) if marked else (_plain(query), _plain(question))


def mark_differences(query: str, question: str) -> tuple[list[Part], list[Part]]:
    if max(len(query), len(question)) > LONGEST:
        return _plain(query), _plain(question)
    ours, theirs = _words(query), _words(question)
    kept = _kept([word.norm for word in ours], [word.norm for word in theirs])
    shared = (Counter(word.norm for word in ours) & Counter(word.norm for word in theirs)).total()
    total = len(ours) + len(theirs)
    if kept is None or 2 * shared < LEAST_SHARED * total or 2 * len(kept) < LEAST_KEPT * total:
        return _plain(query), _plain(question)
    own, other = _differing(ours, theirs, kept)
    return _parts(query, ours, own), _parts(question, theirs, other)


def _plain(text: str) -> list[Part]:
    return [Part(text, differs=False)] if text else []


def _words(text: str) -> list[_Word]:
    kinds = [_kind(text, place) for place in range(len(text))]
    for place in range(1, len(text)):  # marks and joiners belong to what stands before them
        if kinds[place] == "joined":
            kinds[place] = kinds[place - 1]
    words: list[_Word] = []
    start = 0
    for kind, run in groupby(kinds):
        end = start + sum(1 for _ in run)
        if kind == "each":
            words += _characters(text, start, end)
        elif kind in ("word", "symbol"):
            words.append(_Word(start, end, _norm(text[start:end])))
        start = end
    return [word for word in words if word.norm]


def _kind(text: str, place: int) -> str:
    character = text[place]
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Cf" or "\U0001f3fb" <= character <= "\U0001f3ff":
        return "joined" if place else "gap"
    if category[0] in "LN":
        return "each" if _is_spaceless(character) else "word"
    if _is_within_word(text, place):
        return "word"
    if category[0] == "S" and character not in _ACCENTS:
        return "symbol"
    return "symbol" if character in _SPEAKING else "gap"


def _is_spaceless(character: str) -> bool:
    code = ord(character)
    return code >= _SPACELESS[0][0] and any(low <= code <= high for low, high in _SPACELESS)


def _is_within_word(text: str, place: int) -> bool:
    """An apostrophe between letters, a point or colon between digits, the sign of a number."""
    character = text[place]
    before = text[place - 1] if place else " "
    after = text[place + 1] if place + 1 < len(text) else " "
    if character in _APOSTROPHES:
        return before.isalpha() and after.isalpha()
    if character in _IN_NUMBERS:
        return before.isdigit() and after.isdigit()
    return character in _SIGNS and before.isspace() and after.isdigit()


def _characters(text: str, start: int, end: int) -> list[_Word]:
    """A word for each character with the marks that it bears."""
    starts = [
        place
        for place in range(start, end)
        if place == start or unicodedata.category(text[place])[0] in "LN"
    ]
    return [_Word(low, high, _norm(text[low:high])) for low, high in pairwise([*starts, end])]


def _norm(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).casefold()
    return "".join(
        character
        for character in folded
        if character not in _APOSTROPHES and unicodedata.category(character) != "Cf"
    )


def _kept(ours: list[str], theirs: list[str]) -> list[tuple[int, int]] | None:
    """Places of a longest common subsequence; None where to find one would take too long."""
    head = 0
    while head < min(len(ours), len(theirs)) and ours[head] == theirs[head]:
        head += 1
    tail = 0
    room = min(len(ours), len(theirs)) - head
    while tail < room and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    middle = _middle(ours[head : len(ours) - tail], theirs[head : len(theirs) - tail])
    if middle is None:
        return None
    return [
        *((place, place) for place in range(head)),
        *((head + own, head + other) for own, other in middle),
        *((len(ours) - left, len(theirs) - left) for left in range(tail, 0, -1)),
    ]


def _middle(ours: list[str], theirs: list[str]) -> list[tuple[int, int]] | None:
    if len(ours) * len(theirs) > MOST_CELLS:
        return None
    # lengths[i][j]: of the longest common subsequence of what stands from i and from j on
    lengths = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for own in range(len(ours) - 1, -1, -1):
        row, below = lengths[own], lengths[own + 1]
        for other in range(len(theirs) - 1, -1, -1):
            if ours[own] == theirs[other]:
                row[other] = below[other + 1] + 1
            else:
                row[other] = max(below[other], row[other + 1])
    return _walk(ours, theirs, lengths)


def _walk(ours: list[str], theirs: list[str], lengths: list[list[int]]) -> list[tuple[int, int]]:
    pieces = []
    own = other = 0
    while own < len(ours) and other < len(theirs):
        if ours[own] == theirs[other]:
            pieces.append((own, other))
            own, other = own + 1, other + 1
        elif lengths[own + 1][other] >= lengths[own][other + 1]:
            own += 1
        else:
            other += 1
    return pieces


def _differing(
    ours: list[_Word], theirs: list[_Word], kept: list[tuple[int, int]]
) -> tuple[set[int], set[int]]:
    """Places of the words that have no partner on the other side."""
    own: set[int] = set()
    other: set[int] = set()
    for (left, right), (left_end, right_end) in pairwise(
        [(-1, -1), *kept, (len(ours), len(theirs))]
    ):
        between = range(left + 1, left_end), range(right + 1, right_end)
        # Written together or apart, with a hyphen or without: the same word.
        if "".join(ours[i].norm for i in between[0]) != "".join(theirs[i].norm for i in between[1]):
            own.update(between[0])
            other.update(between[1])
    return own, other


def _parts(text: str, words: list[_Word], differing: set[int]) -> list[Part]:
    """Neighbours that differ make one part, with the space between them."""
    cuts = [0]
    for place in sorted(differing):
        word = words[place]
        bridged = place - 1 in differing and text[words[place - 1].end : word.start].isspace()
        touching = place - 1 in differing and words[place - 1].end == word.start
        if bridged or touching:
            cuts[-1] = word.end
        else:
            cuts += [word.start, word.end]
    cuts.append(len(text))
    parts = [
        Part(text[start:end], differs=bool(number % 2))
        for number, (start, end) in enumerate(pairwise(cuts))
    ]
    return [part for part in parts if part.text]
