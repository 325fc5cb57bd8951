"""What each loss reads, made of a release's records and of duplicate questions.

multiple-negatives-ranking: (query, positive, hard negatives); the other rows of a batch are its
negatives too. online-contrastive and a selector's: (query, candidate, label). Of a candidate, a
retriever reads a text (QQ) or a list of two (QQA), a selector a list of parts. Import it through
lazy.py: datasets takes seconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from datasets import Dataset

from core.errors import UserError
from retrieval.ranking.input_forms import parts
from retrieval.ranking.records import QueryRecord
from retrieval.training.data.duplicates import Duplicate
from retrieval.training.recipe import Recipe

Candidate = str | list[str]
ANCHOR, POSITIVE, NEGATIVE, LABEL = "anchor", "positive", "negative", "label"


@dataclass(frozen=True)
class Examples:
    rows: Dataset
    left_out: int  # queries that have nothing to learn from


def of_release(recipe: Recipe, records: Iterable[QueryRecord]) -> Examples:
    """In the order of the records; hard negatives are the retriever's first ones."""
    if recipe.in_batch_negatives:
        return _ranking(recipe, records)
    rows = [
        (record.query, _read(recipe, candidate.question, candidate.answer), candidate.label)
        for record in records
        for candidate in record.candidates
    ]
    return Examples(_labelled(rows), left_out=0)


def of_duplicates(recipe: Recipe, pairs: Sequence[Duplicate]) -> Examples:
    """Of the ranking loss, the duplicates alone: other questions of a batch are the negatives.

    UserError where a form without the question finds no answer: it would learn from nothing.
    """
    used = pairs if _reads_questions(recipe.form) else [pair for pair in pairs if pair.answer]
    if pairs and not used:
        raise UserError(
            f"The form {recipe.form} reads answers alone, and of the duplicate questions that are "
            "learned from, or of those that tell when to stop, none has an answer2: add answers to "
            "the file, or leave --pairs out."
        )
    rows = [(pair.query, _read(recipe, pair.question, pair.answer), pair.label) for pair in used]
    if not recipe.in_batch_negatives:
        return Examples(_labelled(rows), left_out=len(pairs) - len(rows))
    same = [(query, candidate) for query, candidate, label in rows if label]
    columns = {ANCHOR: [query for query, _ in same], POSITIVE: [one for _, one in same]}
    return Examples(Dataset.from_dict(columns), left_out=len(pairs) - len(same))


def _ranking(recipe: Recipe, records: Iterable[QueryRecord]) -> Examples:
    wanted = recipe.hard_negatives
    names = [ANCHOR, POSITIVE, *(f"{NEGATIVE}_{number}" for number in range(1, wanted + 1))]
    rows: list[tuple[Candidate, ...]] = []
    left_out = 0
    for record in records:
        of_record = list(_rows_of(recipe, record, wanted))
        left_out += not of_record
        rows += of_record
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return Examples(Dataset.from_dict(columns), left_out)


def _rows_of(recipe: Recipe, record: QueryRecord, wanted: int) -> Iterator[tuple[Candidate, ...]]:
    """A row for each positive, with the next of the query's negatives, the hardest first."""
    read: dict[int, list[Candidate]] = {0: [], 1: []}
    for candidate in record.candidates:
        read[candidate.label].append(_read(recipe, candidate.question, candidate.answer))
    if wanted and not read[0]:
        return
    negatives = cycle(read[0])
    for positive in read[1]:
        yield (record.query, positive, *islice(negatives, wanted))


def _reads_questions(form: str) -> bool:
    return "Q" in form[1:]


def _read(recipe: Recipe, question: str, answer: str) -> Candidate:
    """A column holds texts or lists, never both; an answer that is not known is empty."""
    texts = list(parts(recipe.form, question, answer))
    return texts[0] if (recipe.kind, recipe.form) == ("retriever", "QQ") else texts


def _labelled(rows: Sequence[tuple[str, Candidate, int]]) -> Dataset:
    return Dataset.from_dict(
        {
            "query": [query for query, _, _ in rows],
            "candidate": [candidate for _, candidate, _ in rows],
            LABEL: [float(label) for _, _, label in rows],
        }
    )
