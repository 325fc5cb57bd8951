"""Q/a pairs as a user's file has them: each row read, checked and cleaned."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from core.errors import UserError
from core.files.rows import Row, RowFault, number_field, optional_field, text_field
from core.progress import Progress
from core.text.clean import clean_text, is_utf8, pair_key, question_key
from retrieval.corpus.sources.formats import read_source
from retrieval.corpus.sources.top_share import Selection, TopShare, selection

MAX_QUESTION = 10_000
MAX_ANSWER = 50_000
MAX_SOURCE = 100
MAX_ID = 200
MAX_LICENSE = 300
BATCH = 2_000
MOST_REFUSED = 100_000  # rows in a row: the others are not read
QUESTION = ("question",)
ANSWER = ("answer",)
NO_WORDS = question_key("")


class Pair(NamedTuple):
    """A row of QaPair's table; the fields are its columns."""

    source: str
    source_id: str
    question: str
    answer: str
    license: str
    question_key: str
    pair_key: str


@dataclass
class Reading:
    """A file with what its rows are read as."""

    path: Path
    source: str
    license: str
    format: str | None
    best: TopShare | None
    _refused: int = field(default=0, init=False)  # rows in a row

    def batches(self, progress: Progress) -> Iterator[list[Row]]:
        return batched(read_source(self.path, self.format, progress), BATCH)

    def usable(
        self, batch: Sequence[Row], refuse: Callable[[Row, str], object]
    ) -> list[tuple[Row, Pair]]:
        pairs = []
        for row in batch:
            try:
                if not row.skip:
                    pairs.append((row, self._pair(row)))
            except RowFault as fault:
                refuse(row, str(fault))
                self._require_hope(row, str(fault))
            else:
                self._refused = 0
        return pairs

    def _require_hope(self, row: Row, reason: str) -> None:
        self._refused += 1
        if self._refused == MOST_REFUSED:
            raise UserError(
                f"{MOST_REFUSED:,} rows of {self.path} in a row cannot be used, the last of them "
                f"line {row.line:,}: {reason}. Nothing was added: correct the file."
            )

    def _pair(self, row: Row) -> Pair:
        if row.fault:
            raise RowFault(row.fault)
        question = text_field(row, QUESTION, limit=MAX_QUESTION)
        answer = text_field(row, ANSWER, limit=MAX_ANSWER)
        same_question = question_key(question)
        if same_question == NO_WORDS:
            raise RowFault("the question has only punctuation")
        if self.best and self.best.field:
            number_field(row, self.best.field)
        key = pair_key(question, answer)
        return Pair(
            source=self.source,
            # Where the source gives none, the content is the id: the same file twice adds nothing.
            source_id=optional_field(row, "id", limit=MAX_ID) or key,
            question=question,
            answer=answer,
            license=optional_field(row, "license", limit=MAX_LICENSE) or self.license,
            question_key=same_question,
            pair_key=key,
        )

    @contextmanager
    def selection(self, progress: Progress) -> Iterator[Selection | None]:
        if self.best is None:
            yield None
            return
        folder = Path(settings.DATA_DIR)
        scored = self._scored(self.best, progress)
        with selection(scored, path=self.path, share=self.best.share, folder=folder) as chosen:
            yield chosen

    def _scored(
        self, best: TopShare, progress: Progress
    ) -> Iterator[tuple[Sequence[float], Sequence[str]]]:
        none = True
        faults: Counter[str] = Counter()

        def refuse(row: Row, reason: str) -> None:
            if faults.total() < BATCH:  # all are told in the second reading
                faults[reason] += 1

        for batch in self.batches(progress):
            usable = self.usable(batch, refuse)
            none = none and not usable
            if best.scorer:
                texts = [(pair.question, pair.answer) for _, pair in usable]
                scores: Sequence[float] = best.scorer.scores(texts).tolist() if texts else []
            else:
                scores = [number_field(row, best.field) for row, _ in usable]
            yield scores, [pair.pair_key for _, pair in usable]
        if none:
            reasons = [reason for reason, _ in faults.most_common(1)] or ["there is no pair in it"]
            raise UserError(
                f"Nothing was added: no row of {self.path} can be used and has a score; most "
                f"often: {reasons[0]}."
            )


def batched(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, size)):
        yield batch


def check_license(license: str) -> str:
    """Cleaned; UserError where it cannot be stored."""
    if len(license) > MAX_LICENSE or not is_utf8(license):
        raise UserError(f"The license must have at most {MAX_LICENSE} characters, in UTF-8.")
    return clean_text(license)


def check_source(source: str) -> str:
    """Cleaned; UserError where it cannot be stored."""
    name = clean_text(source)
    if not name or len(name) > MAX_SOURCE or not is_utf8(name):
        raise UserError(
            f"The source needs a name of 1 to {MAX_SOURCE} characters in UTF-8, not {name!r}."
        )
    return name
