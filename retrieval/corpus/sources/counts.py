"""What the database holds of each source: the figures of the paper's Table 1."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, ExpressionWrapper, F, IntegerField, Sum, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Length, Replace

from retrieval.models import QaPair


@dataclass(frozen=True)
class Words:
    """Mean and standard deviation of a text's length."""

    mean: float
    sd: float


@dataclass(frozen=True)
class SourceCounts:
    source: str
    pairs: int
    # Distinct as questions are compared: without case, white space and end punctuation.
    questions: int
    question_words: Words
    answer_words: Words
    withdrawn: int
    # Pairs by their license; empty: none was given.
    licenses: dict[str, int]


def source_counts() -> tuple[list[SourceCounts], SourceCounts]:
    """Of each source, by its name, and of all together; the database does the counting."""
    licenses: dict[str, Counter[str]] = defaultdict(Counter)
    grouped = QaPair.objects.values("source", "license").annotate(pairs=Count("pk"))
    for group in grouped.order_by("source", "-pairs", "license"):
        licenses[group["source"]][group["license"]] = group["pairs"]
    pairs = QaPair.objects.annotate(q=_words("question"), a=_words("answer"))
    figures = pairs.values("source").annotate(**FIGURES).order_by("source")
    rows: list[dict[str, Any]] = [dict(row) for row in figures]
    total: Counter[str] = Counter()
    for row in rows:
        total.update({name: row[name] for name in FIGURES})
    # Two sources may have a question in common.
    total["questions"] = QaPair.objects.aggregate(n=Count("question_key", distinct=True))["n"]
    counts = [_counts(row, row["source"], licenses[row["source"]]) for row in rows]
    return counts, _counts(total, "total", sum(licenses.values(), Counter()))


def _words(text: str) -> "ExpressionWrapper[CombinedExpression]":
    """A stored text has one space between two words and none at its ends."""
    spaces = Length(text) - Length(Replace(text, Value(" "), Value("")))
    return ExpressionWrapper(spaces + 1, output_field=IntegerField())


FIGURES = {
    "pairs": Count("pk"),
    "questions": Count("question_key", distinct=True),
    "withdrawn": Count("withdrawn_at"),
    "question_sum": Sum("q"),
    "question_squares": Sum(F("q") * F("q")),
    "answer_sum": Sum("a"),
    "answer_squares": Sum(F("a") * F("a")),
}


def _counts(row: Mapping[str, int], source: str, licenses: Counter[str]) -> SourceCounts:
    return SourceCounts(
        source=source,
        pairs=row["pairs"],
        questions=row["questions"],
        question_words=_spread(row["pairs"], row["question_sum"], row["question_squares"]),
        answer_words=_spread(row["pairs"], row["answer_sum"], row["answer_squares"]),
        withdrawn=row["withdrawn"],
        licenses=dict(licenses.most_common()),
    )


def _spread(pairs: int, total: int, squares: int) -> Words:
    """Whole numbers up to the division, so nothing is lost however long the answers are."""
    if not pairs:
        return Words(0.0, 0.0)
    total, squares = int(total), int(squares)
    return Words(total / pairs, math.sqrt((pairs * squares - total * total) / pairs**2))
