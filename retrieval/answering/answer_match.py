"""Whether an answer is one of the known ones: a proxy for a judge, who reads. Pure.

Normalised as SQuAD normalises: lower case, without punctuation and articles, white space
collapsed; beyond ASCII, NFKC and Unicode's punctuation. An answer that says the same in other
words counts as wrong, and so does one in a longer sentence.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable

PROXY = "normalised answer or alias match: a proxy for a judge"
ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Of nothing but articles, as a vitamin's "A", the articles stay."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(sign for sign in folded if not _is_punctuation(sign))
    return " ".join(ARTICLES.sub(" ", bare).split()) or " ".join(bare.split())


def is_right(answer: str, known: Iterable[str]) -> bool:
    """`known`: the answer and its aliases; one without a letter or digit is no one's answer."""
    given = normalised(answer)
    return bool(given) and given in map(normalised, known)


def _is_punctuation(sign: str) -> bool:
    return sign in string.punctuation or unicodedata.category(sign)[0] == "P"
