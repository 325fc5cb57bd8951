"""Q/a pairs as a user's file has them: each row read, checked and cleaned."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from core.errors import UserError
from core.files.read_apart import read_apart
from core.files.rows import Row, RowFault, number_field, optional_field, text_field
from core.progress import Progress
from core.text.clean import clean_text, is_utf8, pair_key, question_key
from retrieval.corpus.rejected_rows import Place
from retrieval.corpus.sources.formats import read_source
from retrieval.corpus.sources.top_share import Selection, TopShare, selection

MAX_QUESTION = 10_000
MAX_ANSWER = 50_000
MAX_SOURCE = 100
MAX_ID = 200
MAX_LICENSE = 300
BATCH = 1_000
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
class Batch:
    """Some rows, read."""

    rows: int = 0
    usable: list[tuple[Place, Pair]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # of these, where the file has them
    refused: list[tuple[Place, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass
class Reading:
    """A file with what its rows are read as."""

    path: Path
    source: str
    license: str
    format: str | None
    best: TopShare | None
    _refused: int = field(default=0, init=False)  # rows in a row

    def batches(self, progress: Progress) -> Iterator[Batch]:
        return read_apart(self.path, self._batches, progress)

    def _batches(self, progress: Progress) -> Iterator[Batch]:
        batch = Batch()
        for row in read_source(self.path, self.format, progress):
            self._read(row, batch)
            if batch.rows == BATCH:
                yield batch
                batch = Batch()
        if batch.rows:
            yield batch

    def _read(self, row: Row, batch: Batch) -> None:
        batch.rows += 1
        place = Place(row.line, row.excerpt)
        try:
            if row.skip:
                batch.skipped[row.skip] += 1
            else:
                batch.usable.append((place, self._pair(row)))
                if self.best and self.best.field:
                    batch.scores.append(number_field(row, self.best.field))
        except RowFault as fault:
            batch.refused.append((place, str(fault)))
            self._require_hope(row, str(fault))
        else:
            self._refused = 0

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
        for batch in self.batches(progress):
            none = none and not batch.usable
            if faults.total() < BATCH:  # all are told in the second reading
                faults.update(reason for _, reason in batch.refused)
            if best.scorer:
                texts = [(pair.question, pair.answer) for _, pair in batch.usable]
                batch.scores = best.scorer.scores(texts).tolist() if texts else []
            yield batch.scores, [pair.pair_key for _, pair in batch.usable]
        if none:
            reasons = [reason for reason, _ in faults.most_common(1)] or ["there is no pair in it"]
            raise UserError(
                f"Nothing was added: no row of {self.path} can be used and has a score; most "
                f"often: {reasons[0]}."
            )


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
